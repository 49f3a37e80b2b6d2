//! Rows gathered into batches.

use super::lines::Problem;
use super::{Row, Rows};
use crate::exit::{Exit, Failure};
use terrane::{Error, KeyspaceId, WriteBatch};

/// Bytes of keys and values at which a batch ends early: batches that wait are held in memory.
const BATCH_BYTES: u64 = 16 << 20;

/// Rows that are written as one.
pub struct Batch {
    pub batch: WriteBatch,
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Bytes of the input up to the last row.
    pub input_bytes: u64,
}

/// Reads rows, a batch at a time. The failure of a malformed row comes last, instead of the batch
/// that has the row.
pub struct Batches {
    rows: Box<dyn Rows>,
    /// The input's name, for messages.
    name: String,
    keyspace: KeyspaceId,
    rows_max: u64,
    row: Row,
    ended: bool,
}

impl Iterator for Batches {
    type Item = Result<Batch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let batch = self.gather();
        self.ended = !matches!(batch, Ok(Some(_)));
        batch.transpose()
    }
}

impl Batches {
    /// Batches of up to `rows_max` rows for `keyspace`.
    pub fn new(rows: Box<dyn Rows>, name: String, keyspace: KeyspaceId, rows_max: u32) -> Self {
        let rows_max = rows_max.into();
        Batches { rows, name, keyspace, rows_max, row: Row::default(), ended: false }
    }

    fn gather(&mut self) -> Result<Option<Batch>, Failure> {
        let (mut batch, mut rows, mut bytes) = (WriteBatch::new(), 0, 0);
        while rows < self.rows_max && bytes < BATCH_BYTES {
            if !self.rows.read(&mut self.row).map_err(|p| self.failure(p))? {
                break;
            }
            let Row { key, value, .. } = &self.row;
            batch.put(self.keyspace, key, value).map_err(|e| self.refused(&e))?;
            rows += 1;
            bytes += (key.len() + value.len()) as u64;
        }
        let input_bytes = self.rows.lines().bytes();
        Ok((rows > 0).then_some(Batch { batch, rows, bytes, input_bytes }))
    }

    fn failure(&self, problem: Problem) -> Failure {
        match problem {
            Problem::Row { line, expected, found } => Failure::new(
                Exit::Input,
                format!("{}, line {line}: expected {expected}, found {found}", self.name),
            ),
            Problem::Io(e) => Failure::io(&format!("read {}", self.name), &e),
        }
    }

    /// A key or value that is over its limit.
    fn refused(&self, error: &Error) -> Failure {
        Failure::new(Exit::Input, format!("{}, line {}: {error}", self.name, self.row.line))
    }
}
