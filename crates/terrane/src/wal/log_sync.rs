//! Syncs of the log: what of it is durable, and why it takes no more.
//!
//! 1. Whoever syncs notes under the writer's lock which files were appended to and how far, and
//!    syncs them without that lock, oldest first: writes continue meanwhile.
//! 2. Syncs take turns. A file system may report a lost write to one of two syncs that run at once and
//!    let the other succeed; so none is believed that started during one that failed.
//! 3. A failed append or sync leaves the log in an unknown state, so the log is poisoned.

use super::sync_watch::SyncWatch;
use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::storage::File;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::lock;
use crate::sync::{ArcSwap, Mutex};
use std::sync::Arc;
use terrane_platform::BROWSER;

/// Records that were appended and may not be durable yet.
pub(crate) struct Appended {
    /// The files, the oldest log first.
    pub files: Vec<Arc<dyn File>>,
    /// The last sequence in them.
    pub through: Seq,
}

/// The syncs of one store's log.
pub(crate) struct LogSync {
    turn: Mutex<()>,
    synced: AtomicU64,
    /// Number of starts and ends of syncs.
    epoch: AtomicU64,
    poisoned: ArcSwap<Option<Error>>,
    /// Whether a sync failed that may have taken what was not synced before.
    failed: AtomicBool,
    /// Threads that wait for batches to be appended. They are apart from those that wait for a sync, which no append
    /// should wake.
    pub appends: SyncWatch,
    /// Threads that wait for batches to be durable.
    pub durable: SyncWatch,
}

impl LogSync {
    pub fn new() -> Self {
        LogSync {
            turn: Mutex::default(),
            synced: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            poisoned: ArcSwap::from_pointee(None),
            failed: AtomicBool::new(false),
            appends: SyncWatch::default(),
            durable: SyncWatch::default(),
        }
    }

    /// Every entry up to here is durable.
    pub fn synced(&self) -> Seq {
        self.synced.load(Ordering::Acquire)
    }

    /// Returns the number of starts and ends of syncs: odd while a sync runs, and unchanged if none ran in between.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Says that every entry up to `through` is durable.
    pub fn advance(&self, through: Seq) {
        self.synced.fetch_max(through, Ordering::Release);
        self.durable.notify();
    }

    /// Makes what was appended durable.
    pub fn sync(&self, appended: &Appended) -> Result<()> {
        if self.synced() >= appended.through {
            return Ok(());
        }
        let _turn = lock(&self.turn);
        if self.synced() >= appended.through {
            return Ok(());
        }
        self.usable()?;
        // Only mapped logs ask for the epoch, and browsers map none.
        let next_epoch = || {
            if !BROWSER {
                self.epoch.fetch_add(1, Ordering::Relaxed);
            }
        };
        next_epoch();
        let synced = appended.files.iter().try_for_each(|file| file.sync());
        next_epoch();
        synced.inspect_err(|e| {
            self.failed.store(true, Ordering::Release);
            self.poison(e);
        })?;
        self.advance(appended.through);
        Ok(())
    }

    /// Returns the last sequence number that the logs are known to hold, if `appended` was appended last. A failed
    /// sync may have lost records that were not synced before.
    pub fn known(&self, appended: Seq) -> Seq {
        if self.failed.load(Ordering::Acquire) { self.synced() } else { appended }
    }

    /// Finds out whether a failed sync has taken what was appended: that of a log, or of another file in
    /// the same backing, which only a sync of the log reports. Waits for a sync in progress.
    pub fn probe(&self, appended: &Appended) {
        let _turn = lock(&self.turn);
        if appended.files.iter().any(|file| file.sync().is_err()) {
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Refuses to continue after a failed append or sync.
    pub fn usable(&self) -> Result<()> {
        match self.poisoned.load().as_ref() {
            Some(cause) => Err(Error::poisoned(cause)),
            None => Ok(()),
        }
    }

    /// Takes no more: an append or a sync failed.
    pub fn poison(&self, cause: &Error) {
        self.poisoned.store(Arc::new(Some(cause.clone())));
        self.wake_all();
    }

    /// Wakes all threads that wait, since the log takes no more.
    pub fn wake_all(&self) {
        self.appends.notify();
        self.durable.notify();
    }
}
