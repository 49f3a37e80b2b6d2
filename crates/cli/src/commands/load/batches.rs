//! Rows gathered into batches.

use super::lines::Problem;
use super::{Row, Rows};
use crate::exit::{Exit, Failure};
use terrane::entry::check_limits;
use terrane::{Error, KeyspaceId, WriteBatch};

/// Bytes of keys and values at which a batch ends early: batches that wait are held in memory.
const BATCH_BYTES: u64 = 16 << 20;

/// Rows that are written together.
pub struct Batch {
    pub batch: WriteBatch,
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Bytes of the input up to the last row.
    pub input_bytes: u64,
}

/// Reads rows, a batch at a time. A malformed row fails in place of its batch.
pub struct Batches {
    rows: Box<dyn Rows>,
    /// The input's name, for messages.
    name: String,
    rows_max: u64,
    row: Row,
    /// The rows of the first batch, until their keyspace is known.
    first: Vec<Row>,
}

impl Batches {
    /// Batches of up to `rows_max` rows.
    pub fn new(rows: Box<dyn Rows>, name: String, rows_max: u32) -> Self {
        Batches { rows, name, rows_max: rows_max.into(), row: Row::default(), first: Vec::new() }
    }

    /// Reads the rows of the first batch, before a store is created for them.
    pub fn read_first(&mut self) -> Result<(), Failure> {
        let mut bytes = 0;
        while (self.first.len() as u64) < self.rows_max && bytes < BATCH_BYTES && self.read()? {
            check_limits(&self.row.key, &self.row.value).map_err(|e| self.refused(&e))?;
            bytes += self.row.bytes();
            self.first.push(std::mem::take(&mut self.row));
        }
        Ok(())
    }

    /// The next batch, for `keyspace`; none at the end.
    pub fn next(&mut self, keyspace: KeyspaceId) -> Result<Option<Batch>, Failure> {
        let (mut batch, mut rows, mut bytes) = (WriteBatch::new(), 0, 0);
        let first = std::mem::take(&mut self.first);
        for row in &first {
            batch.put(keyspace, &row.key, &row.value)?;
            rows += 1;
            bytes += row.bytes();
        }
        while first.is_empty() && rows < self.rows_max && bytes < BATCH_BYTES && self.read()? {
            let Row { key, value, .. } = &self.row;
            batch.put(keyspace, key, value).map_err(|e| self.refused(&e))?;
            rows += 1;
            bytes += self.row.bytes();
        }
        let input_bytes = self.rows.lines().bytes();
        Ok((rows > 0).then_some(Batch { batch, rows, bytes, input_bytes }))
    }

    fn read(&mut self) -> Result<bool, Failure> {
        self.rows.read(&mut self.row).map_err(|p| self.failure(p))
    }

    fn failure(&self, problem: Problem) -> Failure {
        match problem {
            Problem::Row { line, expected, found } => {
                let (name, example) = (&self.name, self.rows.example());
                let sentence = format!(
                    "{name}, line {line}: expected {expected}, found {found}; for example: {example}"
                );
                Failure::new(Exit::Input, sentence)
            }
            Problem::Io(e) => Failure::io(&format!("read {}", self.name), &e),
        }
    }

    /// A key or value that is over its limit.
    fn refused(&self, error: &Error) -> Failure {
        Failure::new(Exit::Input, format!("{}, line {}: {error}", self.name, self.row.line))
    }
}
