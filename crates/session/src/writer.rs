//! The commits of all openings of a store, which their watches hear of.

use crate::watches::Watches;
use std::sync::Arc;
use terrane::{Condition, Db, Durability, Outcome, Result, TryWrite, WriteBatch};

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

    /// Commits a batch; returns its sequence number.
    pub(crate) fn write(&self, batch: WriteBatch, durability: Durability) -> Result<u64> {
        if !self.watches.any() {
            return self.db.write(batch, durability);
        }
        let copy = batch.clone();
        let sequence = self.db.write(batch, durability)?;
        self.watches.wrote(&copy, sequence);
        Ok(sequence)
    }

    /// Commits a batch, buffered, if that waits for nothing. Returns its sequence number if it is committed.
    pub(crate) fn try_write(&self, batch: WriteBatch) -> Result<Option<u64>> {
        let copy = self.watches.any().then(|| batch.clone());
        let TryWrite::Written(sequence) = self.db.try_write(batch)? else { return Ok(None) };
        if let Some(copy) = copy {
            self.watches.wrote(&copy, sequence);
        }
        Ok(Some(sequence))
    }

    /// Commits a batch if conditions hold.
    pub(crate) fn write_if(
        &self,
        conditions: Vec<Condition<'_>>,
        batch: WriteBatch,
        durability: Durability,
    ) -> Result<Outcome> {
        if !self.watches.any() {
            return self.db.write_if(conditions, batch, durability);
        }
        let copy = batch.clone();
        let outcome = self.db.write_if(conditions, batch, durability)?;
        if let Outcome::Written(sequence) = outcome {
            self.watches.wrote(&copy, sequence);
        }
        Ok(outcome)
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
