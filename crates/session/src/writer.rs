//! The commits of all openings of a store, which their watches hear of.

use crate::codec;
use crate::watches::Watches;
use crate::written::Written;
use std::sync::Arc;
use terrane::vec_map::VecMap;
use terrane::{Condition, Db, Durability, Keyspace, Outcome, Result, TryWrite, WriteBatch};

/// A batch before its commit, with what it changes if there are watches.
pub(crate) struct Uncommitted {
    batch: WriteBatch,
    written: Option<Written>,
}

/// A store, and the watches of all its openings.
#[derive(Clone)]
pub(crate) struct Writer {
    db: Db,
    watches: Arc<Watches>,
}

impl Writer {
    pub(crate) fn new(db: Db) -> Self {
        Writer { db, watches: Arc::default() }
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    pub(crate) fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Decodes a batch with the caller's numbers of keyspaces.
    pub(crate) fn decode(
        &self,
        encoded: Vec<u8>,
        keyspaces: &VecMap<u32, Keyspace>,
    ) -> Result<Uncommitted> {
        let mut written = self.watches.segments().map(Written::new);
        let batch = codec::batch(encoded, keyspaces, written.as_mut())?;
        Ok(Uncommitted { batch, written })
    }

    /// Returns a batch with what it changes, if there are watches.
    pub(crate) fn uncommitted(&self, batch: WriteBatch) -> Uncommitted {
        let written = self.watches.segments().map(|segments| Written::by(&batch, segments));
        Uncommitted { batch, written }
    }

    /// Commits a batch; returns its sequence number.
    pub(crate) fn write(&self, write: Uncommitted, durability: Durability) -> Result<u64> {
        let Uncommitted { batch, written } = write;
        let sequence = self.db.write(batch, durability)?;
        self.report(written, sequence);
        Ok(sequence)
    }

    /// Commits a batch, buffered, if that waits for nothing. Returns its sequence number if it is committed.
    pub(crate) fn try_write(&self, write: Uncommitted) -> Result<Option<u64>> {
        let Uncommitted { batch, written } = write;
        let TryWrite::Written(sequence) = self.db.try_write(batch)? else { return Ok(None) };
        self.report(written, sequence);
        Ok(Some(sequence))
    }

    /// Commits a batch if conditions hold.
    pub(crate) fn write_if(
        &self,
        conditions: Vec<Condition<'_>>,
        write: Uncommitted,
        durability: Durability,
    ) -> Result<Outcome> {
        let Uncommitted { batch, written } = write;
        let outcome = self.db.write_if(conditions, batch, durability)?;
        if let Outcome::Written(sequence) = outcome {
            self.report(written, sequence);
        }
        Ok(outcome)
    }

    /// Reports a committed batch to the watches.
    fn report(&self, written: Option<Written>, sequence: u64) {
        match written {
            Some(written) => self.watches.wrote(written, sequence),
            // The first watch started after the batch was decoded, on another thread.
            None if self.watches.any() => self.watches.wrote_unknown(sequence),
            None => {}
        }
    }

    /// Drops a keyspace, which changes all of its keys.
    pub(crate) fn drop_keyspace(&self, name: &str) -> Result<bool> {
        let dropped = self.db.open_keyspace(name)?;
        let existed = self.db.drop_keyspace(name)?;
        if let Some(keyspace) = dropped.filter(|_| existed) {
            self.watches.dropped(keyspace.id(), self.db.latest_sequence());
        }
        Ok(existed)
    }
}
