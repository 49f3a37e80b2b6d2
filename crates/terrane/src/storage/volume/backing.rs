//! One backing file, its free space and its syncs.

use crate::error::Result;
use crate::storage::volume::free_extents::FreeExtents;
use crate::storage::{File, lock};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;

/// One backing file.
pub(super) struct Backing {
    pub(super) file: Arc<dyn File>,
    pub(super) free: Mutex<FreeExtents>,
    /// The length may not be durable.
    grown: AtomicBool,
    /// Held while a sync runs and its failure is counted. The system may report a failed write-back
    /// only once: a later sync that succeeds must already see it counted.
    syncing: Mutex<()>,
    pub(super) failed_syncs: AtomicU64,
}

impl Backing {
    /// A backing whose free space is not known yet.
    pub(super) fn new(file: Arc<dyn File>) -> Self {
        Backing {
            file,
            free: Mutex::default(),
            grown: AtomicBool::new(false),
            syncing: Mutex::default(),
            failed_syncs: AtomicU64::new(0),
        }
    }

    /// Sets what is free in the file, whose length may never have been synced.
    pub(super) fn set_free(&self, free: FreeExtents) {
        *lock(&self.free) = free;
        self.set_grown();
    }

    /// Notes that the length changed.
    pub(super) fn set_grown(&self) {
        self.grown.store(true, Ordering::Release);
    }

    /// Syncs the file.
    pub(super) fn sync(&self) -> Result<()> {
        self.sync_locked(&lock(&self.syncing))
    }

    /// Syncs the file if its length may not be durable.
    pub(super) fn sync_grown(&self) -> Result<()> {
        // A sync in progress may be about to fail, so wait for it.
        let guard = lock(&self.syncing);
        if self.grown.load(Ordering::Acquire) { self.sync_locked(&guard) } else { Ok(()) }
    }

    /// Sets the length again if it may not be durable, in case an earlier sync failed.
    fn sync_locked(&self, _: &MutexGuard<'_, ()>) -> Result<()> {
        let grown = self.grown.swap(false, Ordering::AcqRel);
        let again = || {
            let free = lock(&self.free);
            self.file.set_len(self.file.len()?.max(free.end()))
        };
        let length = if grown { again() } else { Ok(()) };
        length.and_then(|()| self.file.sync()).inspect_err(|_| {
            self.failed_syncs.fetch_add(1, Ordering::AcqRel);
            self.grown.fetch_or(grown, Ordering::AcqRel);
        })
    }
}
