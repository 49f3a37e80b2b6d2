//! One writer's view of a backing file, which knows whether a failed sync may have lost its writes.
//!
//! A failed sync may have lost any earlier write to the file, also those of other writers, and a
//! later sync that succeeds does not bring them back. So each writer (a file, the manifest, a
//! superblock) has a [`SyncTracker`] of its own:
//!
//! 1. It records how many syncs had failed when it first wrote after its last sync.
//! 2. Its sync succeeds only if none has failed since. If one has, this tracker never syncs again:
//!    what it wrote has to be written again, elsewhere.

use crate::error::{Error, Message, Result};
use crate::storage::File;
use crate::storage::volume::backing::Backing;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::sync::Arc;

/// Nothing was written since the last sync.
const CLEAN: u64 = u64::MAX;

/// A backing file, as one writer sees it.
pub(super) struct SyncTracker {
    backing: Arc<Backing>,
    /// Number of failed syncs of the backing at the first write since the last sync.
    unsynced: AtomicU64,
}

impl SyncTracker {
    /// A tracker with no unsynced writes.
    pub(super) fn new(backing: &Arc<Backing>) -> Self {
        SyncTracker { backing: Arc::clone(backing), unsynced: AtomicU64::new(CLEAN) }
    }
}

impl File for SyncTracker {
    fn name(&self) -> &str {
        self.backing.file.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.backing.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let backing = &self.backing;
        let failed = backing.failed_syncs.load(Ordering::Acquire);
        let written = backing.file.write_at(buf, offset);
        // After the write: a sync that ended before may not cover it. An earlier count stays.
        self.unsynced.fetch_min(failed, Ordering::AcqRel);
        written
    }

    fn sync(&self) -> Result<()> {
        let backing = &self.backing;
        // Before the sync: a write during it may not be covered, and records itself again.
        let since = self.unsynced.swap(CLEAN, Ordering::AcqRel);
        let synced = backing.sync().and_then(|()| {
            if since == CLEAN || since == backing.failed_syncs.load(Ordering::Acquire) {
                return Ok(());
            }
            let lost = Message("an earlier sync failed, and what it lost is unknown".to_owned());
            Err(Error::io("sync", self.name(), 0, io::Error::other(lost)))
        });
        if synced.is_err() {
            self.unsynced.fetch_min(since, Ordering::AcqRel);
        }
        synced
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.backing.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.backing.file.allocate(len)
    }

    fn is_in_memory(&self) -> bool {
        self.backing.file.is_in_memory()
    }

    fn len(&self) -> Result<u64> {
        self.backing.file.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::lock;
    use crate::storage::vfs::fault::{Fault, Survivors};
    use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
    use crate::sync::Mutex;
    use crate::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::time::Duration;

    fn backing(vfs: &FaultVfs) -> Arc<Backing> {
        let file = vfs.create("backing").unwrap();
        vfs.sync_names().unwrap();
        Arc::new(Backing::new(file))
    }

    /// Grows the file as the space allocator does.
    fn grow(backing: &Backing) {
        backing.file.allocate(1 << 20).unwrap();
        lock(&backing.free).extend(1 << 20);
        backing.set_grown();
    }

    #[test]
    fn a_failed_sync_fails_every_writer_that_it_may_concern() {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
        let backing = backing(&vfs);
        let sync_tracker = || SyncTracker::new(&backing);
        let (one, other) = (sync_tracker(), sync_tracker());
        one.write_at(b"one", 0).unwrap();
        other.write_at(b"other", 10).unwrap();
        vfs.fail_at(vfs.operations(), Fault::Io);
        assert!(one.sync().is_err());
        assert!(other.sync().is_err(), "its write may be lost, too");
        other.write_at(b"more", 10).unwrap();
        assert!(other.sync().is_err(), "nothing brings the first write back");
        let fresh = sync_tracker();
        fresh.write_at(b"again", 10).unwrap();
        fresh.sync().unwrap();
    }

    #[test]
    fn a_write_during_a_sync_is_not_covered_by_it() {
        let inner = MemoryVfs::new().create("backing").unwrap();
        let (later, synced) = (Mutex::default(), AtomicBool::new(false));
        let file = Arc::new(FailsOnce { inner, meanwhile: later, synced, fails: false });
        let backing = Arc::new(Backing::new(file.clone()));
        let sync_tracker = Arc::new(SyncTracker::new(&backing));
        sync_tracker.write_at(b"one", 0).unwrap();
        let beside = sync_tracker.clone();
        *lock(&file.meanwhile) = Some(Box::new(move || drop(beside.write_at(b"other", 10))));
        sync_tracker.sync().unwrap();
        // A sync by another writer fails, and may have lost the second write.
        backing.failed_syncs.fetch_add(1, Ordering::AcqRel);
        assert!(sync_tracker.sync().is_err());
    }

    /// A file whose first sync runs `meanwhile` on another thread and then fails, if `fails` is set.
    /// It reports the failure once, as an operating system may.
    struct FailsOnce {
        inner: Arc<dyn File>,
        meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
        synced: AtomicBool,
        fails: bool,
    }

    impl File for FailsOnce {
        fn name(&self) -> &str {
            self.inner.name()
        }
        fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
            self.inner.read_at(buf, offset)
        }
        fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
            self.inner.write_at(buf, offset)
        }
        fn sync(&self) -> Result<()> {
            let Some(meanwhile) = lock(&self.meanwhile).take() else {
                self.synced.store(true, Ordering::Release);
                return Ok(());
            };
            let (ended, wait) = mpsc::channel();
            std::thread::spawn(move || {
                meanwhile();
                let _ = ended.send(());
            });
            // Where this sync fails, `meanwhile` may wait for it.
            let most = if self.fails { Duration::from_millis(200) } else { Duration::MAX };
            let _ = wait.recv_timeout(most);
            let failure =
                || Error::io("sync", self.name(), 0, io::Error::other("write-back failed"));
            if self.fails { Err(failure()) } else { Ok(()) }
        }
        fn set_len(&self, len: u64) -> Result<()> {
            self.inner.set_len(len)
        }
        fn len(&self) -> Result<u64> {
            self.inner.len()
        }
    }

    /// Runs `meanwhile` during a sync that fails, and returns its result.
    fn beside_a_failing_sync<T: Send + 'static>(
        meanwhile: impl FnOnce(&Backing, &SyncTracker, &FailsOnce) -> T + Send + 'static,
    ) -> T {
        let inner = MemoryVfs::new().create("backing").unwrap();
        let (later, synced) = (Mutex::default(), AtomicBool::new(false));
        let file = Arc::new(FailsOnce { inner, meanwhile: later, synced, fails: true });
        let backing = Arc::new(Backing::new(file.clone()));
        grow(&backing);
        let other = SyncTracker::new(&backing);
        other.write_at(b"other", 10).unwrap();
        let (sender, receiver) = mpsc::channel();
        let beside = (backing.clone(), file.clone());
        let run = move || sender.send(meanwhile(&beside.0, &other, &beside.1)).unwrap();
        *lock(&file.meanwhile) = Some(Box::new(run));
        assert!(backing.sync().is_err());
        receiver.recv().unwrap()
    }

    #[test]
    fn a_sync_that_succeeds_does_not_hide_a_concurrent_failure() {
        assert!(beside_a_failing_sync(|_, sync_tracker, _| sync_tracker.sync()).is_err());
    }

    #[test]
    fn a_length_is_synced_only_when_its_sync_has_succeeded() {
        let synced = beside_a_failing_sync(|backing, _, file| {
            backing.sync_grown().map(|()| file.synced.load(Ordering::Acquire))
        });
        assert!(synced.unwrap(), "nothing was left to the sync that fails");
    }

    #[test]
    fn a_length_that_a_failed_sync_may_have_lost_is_set_again() {
        let inner = Arc::new(MemoryVfs::new());
        let vfs = FaultVfs::new(inner.clone()).unwrap();
        let backing = backing(&vfs);
        grow(&backing);
        vfs.fail_at(vfs.operations() + 1, Fault::Io);
        assert!(backing.sync_grown().is_err());
        backing.sync_grown().unwrap();
        vfs.crash(Survivors::Synced).unwrap();
        assert_eq!(inner.open("backing").unwrap().len().unwrap(), 1 << 20);
    }

    #[test]
    fn a_writer_sees_the_whole_backing() {
        let file = MemoryVfs::new().create("backing").unwrap();
        let tracker = SyncTracker::new(&Arc::new(Backing::new(file)));
        assert_eq!(tracker.name(), "backing");
        crate::storage::vfs::tests::agrees_with_bytes(&tracker);
    }
}
