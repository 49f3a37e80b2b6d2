//! Features of the store that batches need: an edit says so before the first log has such a batch.

use crate::batch::WriteBatch;
use crate::engine::Engine;
use crate::error::Result;
use crate::storage::RANGE_DELETES;
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::version::{Change, Features};

impl Engine {
    /// Whether the store has every feature that a batch needs.
    pub(super) fn is_announced(&self, batch: &WriteBatch) -> bool {
        !batch.deletes_range() || self.range_deletes_announced.load(Ordering::Acquire)
    }

    /// Gives the store the features that a batch needs. No lock is held.
    ///
    /// # Errors
    /// A store that takes no writes; those of the commit of an edit.
    pub(super) fn announce(&self, batch: &WriteBatch) -> Result<()> {
        if self.is_announced(batch) {
            return Ok(());
        }
        let edits = self.lock_edits()?;
        if !lock(&self.state).version_set.has(RANGE_DELETES) {
            let required = RANGE_DELETES.into();
            let features = Features { required, ..Features::default() };
            drop(self.commit_edit(&edits, vec![Change::Features(features)], &[], &[])?);
        }
        self.range_deletes_announced.store(true, Ordering::Release);
        Ok(())
    }
}
