//! Clearing of ranges, which counts what it deletes.
//!
//! The result is that of a clear at the moment of the call, whatever is written while the steps run.
//!
//! 1. Without a limit, one range delete is written at once. The steps count the keys that were there before.
//! 2. With a limit, a cursor walks the keys of a snapshot. Each step deletes some of them by a range delete, on the
//!    condition that nothing was written among them since the snapshot.
//! 3. Where the condition does not hold, the step deletes those keys that have not been written since, one by one.
//!
//! Each of these batches can record for the client how many keys are deleted with it. Without a limit the keys are then
//! counted first, since a count after the delete would be lost with the process.

use crate::codec::{self, range};
use crate::scan::Scan;
use crate::session::Session;
use crate::steps::{End, Steps};
use crate::writer::Writer;
use std::ops::Bound;
use terrane::vec_map::VecMap;
use terrane::{
    Condition, Cursor, Durability, KeyRange, Keyspace, Outcome, Result, Snapshot, WriteBatch,
};

/// Keys that a step counts.
const COUNTED: u32 = 20_000;
/// Keys that a step deletes, and the bytes of these keys.
const DELETED: usize = 1000;
const DELETED_BYTES: usize = 256 << 10;

impl Session {
    /// Starts to delete the first `limit` keys of an encoded range, or the last if `reverse`; makes that durable if
    /// `sync`. The last step returns their number. Each batch takes the operations of the encoded batch `record`, whose
    /// last eight bytes are a number, to which it adds the number of keys deleted by then.
    ///
    /// # Errors
    /// A closed store, a malformed record, an I/O error.
    pub fn clear(
        &self,
        keyspace: u32,
        within: &[u8],
        reverse: bool,
        limit: f64,
        sync: bool,
        record: Option<Vec<u8>>,
    ) -> Result<Steps> {
        let (keyspace, range) = (self.keyspace_of(keyspace)?.clone(), range(within)?);
        let writer = self.writer().clone();
        let record = Record { encoded: record, keyspaces: self.numbered().clone() };
        if limit.is_infinite() {
            return clear_all(&writer, &keyspace, range, sync, &record);
        }
        let snapshot = writer.db().snapshot();
        let rows = snapshot.cursor(&keyspace, range)?;
        let mut clear =
            Clear { writer, keyspace, snapshot, rows, reverse, left: limit, deleted: 0, record };
        Ok(Steps::new(move || {
            if clear.step()? {
                return Ok(None);
            }
            if sync {
                clear.writer.db().sync()?;
            }
            Ok(Some(End::Json(clear.deleted.to_string())))
        }))
    }
}

/// The record that a client keeps of a clear.
struct Record {
    encoded: Option<Vec<u8>>,
    keyspaces: VecMap<u32, Keyspace>,
}

impl Record {
    /// Returns a batch that records the number of keys that are deleted with it.
    fn batch(&self, deleted: u64) -> Result<WriteBatch> {
        let Some(mut encoded) = self.encoded.clone() else { return Ok(WriteBatch::new()) };
        if let Some(number) = encoded.last_chunk_mut() {
            *number = u64::from_le_bytes(*number).saturating_add(deleted).to_le_bytes();
        }
        codec::batch(encoded, &self.keyspaces, None)
    }
}

fn clear_all(
    writer: &Writer,
    keyspace: &Keyspace,
    range: KeyRange,
    sync: bool,
    record: &Record,
) -> Result<Steps> {
    let durability = if sync { Durability::Sync } else { Durability::Buffered };
    let mut rows = Scan::new(keyspace.cursor(range.clone())?, false, f64::INFINITY);
    let mut counted = u64::from(rows.count(1)?);
    while record.encoded.is_some() && !rows.done() {
        counted += u64::from(rows.count(COUNTED)?);
    }
    if counted > 0 {
        let mut batch = record.batch(counted)?;
        batch.delete_range(keyspace, range)?;
        writer.write(writer.uncommitted(batch), durability)?;
    }
    Ok(Steps::new(move || {
        counted += u64::from(rows.count(COUNTED)?);
        Ok(rows.done().then(|| End::Json(counted.to_string())))
    }))
}

/// A clear with a limit.
struct Clear {
    writer: Writer,
    keyspace: Keyspace,
    snapshot: Snapshot,
    rows: Cursor,
    reverse: bool,
    /// The remaining limit.
    left: f64,
    deleted: u64,
    record: Record,
}

impl Clear {
    /// Deletes the next keys; returns whether there are more.
    fn step(&mut self) -> Result<bool> {
        let mut keys = Vec::new();
        let mut bytes = 0;
        while self.left >= 1.0 && keys.len() < DELETED && bytes < DELETED_BYTES {
            let row = if self.reverse { self.rows.prev() } else { self.rows.next() };
            let Some((key, _)) = row? else {
                self.left = 0.0;
                break;
            };
            self.left -= 1.0;
            bytes += key.len();
            keys.push(key.to_vec());
        }
        if self.reverse {
            keys.reverse();
        }
        self.deleted += keys.len() as u64;
        self.delete(&keys)?;
        Ok(self.left >= 1.0)
    }

    fn delete(&self, keys: &[Vec<u8>]) -> Result<()> {
        let [first, .., last] = keys else { return self.delete_unwritten(keys) };
        let range =
            KeyRange { from: Bound::Included(first.clone()), to: Bound::Included(last.clone()) };
        let unchanged = self.snapshot.unchanged(&self.keyspace, range.clone());
        let mut batch = self.record.batch(self.deleted)?;
        batch.delete_range(&self.keyspace, range)?;
        let write = self.writer.uncommitted(batch);
        match self.writer.write_if(vec![unchanged], write, Durability::Buffered)? {
            Outcome::Written(_) => Ok(()),
            Outcome::Refused(_) => self.delete_unwritten(keys),
        }
    }

    /// Deletes the keys that have not been written since the snapshot.
    fn delete_unwritten(&self, keys: &[Vec<u8>]) -> Result<()> {
        loop {
            let mut batch = self.record.batch(self.deleted)?;
            let mut conditions = Vec::new();
            let mut lookup = self.keyspace.lookup(keys.len())?;
            for key in keys {
                let found = lookup.get_versioned(key)?;
                let Some(found) = found.filter(|found| found.seq <= self.snapshot.sequence())
                else {
                    continue;
                };
                batch.delete(&self.keyspace, key)?;
                conditions.push(Condition::version(&self.keyspace, key, found.seq));
            }
            drop(lookup);
            if conditions.is_empty() {
                return Ok(());
            }
            // Another thread may have written meanwhile.
            let write = self.writer.uncommitted(batch);
            let written = self.writer.write_if(conditions, write, Durability::Buffered)?;
            if matches!(written, Outcome::Written(_)) {
                return Ok(());
            }
        }
    }
}
