//! Turns lines of the source into batches of the replica's store.

use super::Ended;
use super::lines::{Key, Line, Op, Row};
use super::record::Record;
use crate::http::from_hex;
use crate::rules::Rule;
use std::collections::HashMap;
use std::ops::Bound;
use terrane::keyspace::DEFAULT_KEYSPACE;
use terrane::{Db, Durability, FeedCursor, KeyRange, Keyspace, Operand, Result, WriteBatch};

/// Bytes of rows in a batch while a snapshot is loaded.
const LOAD_BYTES: usize = if cfg!(test) { 100 } else { 256 << 10 };

/// The operation that drops a keyspace. A batch has one at most.
const DROP_KEYSPACE: &str = "drop-keyspace";

/// Applies lines to a store.
pub(super) struct Apply {
    db: Db,
    record: Record,
    keyspaces: HashMap<String, Keyspace>,
    /// The keyspace of the rows of `batch`, which are not written yet.
    loading: String,
    batch: WriteBatch,
}

/// Removes everything in a store but what is reserved.
pub(super) fn empty(db: &Db) -> Result<()> {
    for name in db.keyspaces() {
        if name != DEFAULT_KEYSPACE {
            db.drop_keyspace(&name)?;
        }
    }
    db.default_keyspace().delete_range(.., Durability::Buffered).map(drop)
}

impl Apply {
    pub fn new(db: &Db, record: Record) -> Self {
        Apply {
            db: db.clone(),
            record,
            keyspaces: HashMap::new(),
            loading: DEFAULT_KEYSPACE.to_owned(),
            batch: WriteBatch::new(),
        }
    }

    /// Applies a batch of the source, with the cursor after it.
    pub fn batch(&mut self, cursor: FeedCursor, ops: &[Op]) -> std::result::Result<(), Ended> {
        let mut batch = WriteBatch::new();
        let dropped = ops.iter().find(|op| op.op == DROP_KEYSPACE).map(|op| op.keyspace.as_str());
        for op in ops.iter().filter(|op| Some(op.keyspace.as_str()) != dropped) {
            self.add(op, &mut batch)?;
        }
        if Rule::CursorWithBatch.holds() {
            self.record.put_cursor(&mut batch, cursor)?;
            self.write(batch, dropped)?;
        } else {
            self.write(batch, dropped)?;
            self.write_cursor(cursor)?;
        }
        Ok(())
    }

    /// Writes a batch, and drops a keyspace in the same step if the batch of the source does.
    fn write(&mut self, batch: WriteBatch, dropped: Option<&str>) -> Result<()> {
        if let Some(name) = dropped {
            self.keyspaces.remove(name);
            if self.db.drop_keyspace_with(name, &batch)? {
                return Ok(());
            }
        }
        self.db.write(batch, Durability::Buffered).map(drop)
    }

    /// Writes a cursor alone.
    fn write_cursor(&self, cursor: FeedCursor) -> Result<()> {
        let mut batch = WriteBatch::new();
        self.record.put_cursor(&mut batch, cursor)?;
        self.db.write(batch, Durability::Buffered).map(drop)
    }

    /// Loads a line of a snapshot that is at `cursor`; returns whether it was the last.
    pub fn row(&mut self, line: &Line, cursor: FeedCursor) -> std::result::Result<bool, Ended> {
        match line {
            Line::Keyspace { keyspace } => {
                self.loading.clone_from(keyspace);
                self.keyspace(keyspace)?;
            }
            Line::Row(Row { key, value, value_hex, expires }) => {
                let key = match key {
                    Key::Text { key } => key.clone().into_bytes(),
                    Key::Hex { key_hex } => hex(key_hex)?,
                };
                let value = bytes(value.as_ref(), value_hex.as_ref(), "a value")?;
                let keyspace = self.keyspace(&self.loading.clone())?;
                match expires {
                    Some(at) => self.batch.put_expiring_at(&keyspace, key, value, *at)?,
                    None => self.batch.put(&keyspace, key, value)?,
                }
                if self.batch.bytes().len() >= LOAD_BYTES {
                    let batch = std::mem::take(&mut self.batch);
                    self.db.write(batch, Durability::Buffered)?;
                    if !Rule::CursorLast.holds() {
                        self.write_cursor(cursor)?;
                    }
                }
            }
            Line::End { end: true } => {
                let mut batch = std::mem::take(&mut self.batch);
                self.record.put_cursor(&mut batch, cursor)?;
                self.db.write(batch, Durability::Sync)?;
                return Ok(true);
            }
            Line::Failed { error } => return Err(Ended::Source(error.detail.clone())),
            other => return Err(unexpected(other)),
        }
        Ok(false)
    }

    fn keyspace(&mut self, name: &str) -> Result<Keyspace> {
        if let Some(keyspace) = self.keyspaces.get(name) {
            return Ok(keyspace.clone());
        }
        let keyspace = self.db.create_keyspace(name)?;
        self.keyspaces.insert(name.to_owned(), keyspace.clone());
        Ok(keyspace)
    }

    /// Adds an operation to a batch.
    fn add(&mut self, op: &Op, batch: &mut WriteBatch) -> std::result::Result<(), Ended> {
        let keyspace = self.keyspace(&op.keyspace)?;
        let key = || bytes(op.key.as_ref(), op.key_hex.as_ref(), "a key");
        match op.op.as_str() {
            "put" => {
                let value = bytes(op.value.as_ref(), op.value_hex.as_ref(), "a value")?;
                match op.expires {
                    Some(at) => batch.put_expiring_at(&keyspace, key()?, value, at)?,
                    None => batch.put(&keyspace, key()?, value)?,
                }
            }
            "delete" => batch.delete(&keyspace, key()?)?,
            "delete-range" => {
                let from = bytes(op.gte.as_ref(), op.gte_hex.as_ref(), "a start")?;
                let to = match (&op.lt, &op.lt_hex) {
                    (None, None) => Bound::Unbounded,
                    (text, digits) => {
                        Bound::Excluded(bytes(text.as_ref(), digits.as_ref(), "an end")?)
                    }
                };
                let range = KeyRange { from: Bound::Included(from), to };
                batch.delete_range(&keyspace, range)?;
            }
            "merge" => {
                let custom;
                let operand = match (op.add, op.min, op.max) {
                    (Some(n), ..) => Operand::Add(n),
                    (_, Some(n), _) => Operand::Min(n),
                    (.., Some(n)) => Operand::Max(n),
                    _ => {
                        custom = bytes(op.operand.as_ref(), op.operand_hex.as_ref(), "an operand")?;
                        Operand::Custom(&custom)
                    }
                };
                batch.merge(&keyspace, key()?, operand)?;
            }
            other => return Err(Ended::Source(format!("expected an operation, found {other}"))),
        }
        Ok(())
    }
}

pub(super) fn unexpected(line: &Line) -> Ended {
    Ended::Source(format!("found a line out of place: {line:?}"))
}

fn hex(digits: &str) -> std::result::Result<Vec<u8>, Ended> {
    from_hex(digits.as_bytes()).ok_or_else(|| {
        Ended::Source("expected pairs of hexadecimal digits, found others".to_owned())
    })
}

/// Returns the bytes of a member that is given as text or as hexadecimal digits.
fn bytes(
    text: Option<&String>,
    digits: Option<&String>,
    what: &str,
) -> std::result::Result<Vec<u8>, Ended> {
    match (text, digits) {
        (Some(text), _) => Ok(text.clone().into_bytes()),
        (None, Some(digits)) => hex(digits),
        (None, None) => Err(Ended::Source(format!("expected {what}, found none"))),
    }
}
