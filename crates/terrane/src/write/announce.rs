//! Features of the store that batches need: an edit says so before the first log has such a batch.

use crate::batch::WriteBatch;
use crate::engine::Engine;
use crate::entry::Millis;
use crate::error::{Error, Result};
use crate::storage::{EXPIRY, RANGE_DELETES};
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::version::{Change, Features};

impl Engine {
    /// Returns the features that a batch needs, and the store does not have.
    fn unannounced(&self, batch: &WriteBatch) -> u32 {
        let mut needs = 0;
        if batch.deletes_range() {
            needs |= RANGE_DELETES;
        }
        if batch.expires() {
            needs |= EXPIRY;
        }
        if needs == 0 { 0 } else { needs & !self.announced.load(Ordering::Acquire) }
    }

    /// Whether the store has every feature that a batch needs.
    pub(super) fn is_announced(&self, batch: &WriteBatch) -> bool {
        self.unannounced(batch) == 0 && (!batch.expires() || self.snapshots.clock.exists())
    }

    /// Returns the time by the wall clock.
    ///
    /// # Errors
    /// A store without one.
    pub fn wall_time(&self) -> Result<Millis> {
        self.needs_clock()?;
        Ok(self.snapshots.clock.read())
    }

    /// Refuses a store without a wall clock.
    pub(crate) fn needs_clock(&self) -> Result<()> {
        if self.snapshots.clock.exists() {
            return Ok(());
        }
        Err(Error::invalid("Options::wall_clock", "a clock, for values that expire", "none"))
    }

    /// Gives the store the features that a batch needs. No lock is held.
    ///
    /// # Errors
    /// Values that expire, without a wall clock; a store that takes no writes; those of the commit of an edit.
    pub(crate) fn announce(&self, batch: &WriteBatch) -> Result<()> {
        if self.is_announced(batch) {
            return Ok(());
        }
        if batch.expires() {
            self.needs_clock()?;
        }
        let edits = self.lock_edits()?;
        let needs = self.unannounced(batch);
        if !lock(&self.state).version_set.has(needs) {
            let required = needs.into();
            let features = Features { required, ..Features::default() };
            drop(self.commit_edit(&edits, vec![Change::Features(features)], &[], &[])?);
        }
        if needs & EXPIRY != 0 {
            self.snapshots.clock.start();
        }
        self.announced.fetch_or(needs, Ordering::AcqRel);
        Ok(())
    }
}
