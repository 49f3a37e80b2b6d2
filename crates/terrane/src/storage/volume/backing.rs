//! One backing file, and what a failed sync of it means.
//!
//! A sync that fails may have lost any write before it, also those of others in the same file, and
//! a later sync that succeeds does not bring them back. So each writer (a file, the manifest, a
//! superblock) has a [`SyncTracker`] of its own:
//!
//! 1. It notes how many syncs had failed when it began to write.
//! 2. Its sync succeeds only if none failed since. If one did, the channel never syncs again: what
//!    it wrote has to be written again, elsewhere.

use crate::error::{Error, Message, Result};
use crate::storage::volume::extents::Free;
use crate::storage::volume::space_allocator::SpaceAllocator;
use crate::storage::{File, lock};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use std::io;
use std::sync::Arc;

/// One backing file.
pub(super) struct Backing {
    /// The file.
    pub(super) file: Arc<dyn File>,
    /// Its free extents.
    pub(super) free: Mutex<Free>,
    /// Its length may not be durable.
    grown: AtomicBool,
    /// Held over each sync and the counting of its failure. The system may report a failure only
    /// once: a sync by someone else that succeeds after it must see it counted.
    syncing: Mutex<()>,
    failed_syncs: AtomicU64,
}

impl Backing {
    /// A backing with no room known yet.
    pub(super) fn new(file: Arc<dyn File>) -> Self {
        Backing {
            file,
            free: Mutex::default(),
            grown: AtomicBool::new(false),
            syncing: Mutex::default(),
            failed_syncs: AtomicU64::new(0),
        }
    }

    /// Takes over what is free in the file. Nobody knows whether its length was ever synced.
    pub(super) fn set_free(&self, free: Free) {
        *lock(&self.free) = free;
        self.set_grown();
    }

    /// Says that the length changed.
    pub(super) fn set_grown(&self) {
        self.grown.store(true, Ordering::Release);
    }

    /// Syncs the file.
    pub(super) fn sync(&self) -> Result<()> {
        self.sync_alone(&lock(&self.syncing))
    }

    /// Syncs the file if its length may not be durable.
    pub(super) fn sync_grown(&self) -> Result<()> {
        // A sync under way may be about to fail: the answer is known when it has ended.
        let alone = lock(&self.syncing);
        if self.grown.load(Ordering::Acquire) { self.sync_alone(&alone) } else { Ok(()) }
    }

    /// Where the length may not be durable it is set again, in case an earlier sync failed.
    fn sync_alone(&self, _: &MutexGuard<'_, ()>) -> Result<()> {
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

/// Nothing was written since the last sync.
const CLEAN: u64 = u64::MAX;

/// One writer's way to a backing file.
pub(super) struct SyncTracker {
    space: Arc<SpaceAllocator>,
    number: u8,
    name: String,
    /// How many syncs of the backing had failed before the first write since the last sync.
    unsynced: AtomicU64,
}

impl SyncTracker {
    /// A channel to backing `number`.
    ///
    /// # Errors
    /// There is no such backing.
    pub(super) fn new(space: Arc<SpaceAllocator>, number: u8) -> Result<Self> {
        let name = space.backing(number)?.file.name().to_owned();
        Ok(SyncTracker { space, number, name, unsynced: AtomicU64::new(CLEAN) })
    }

    fn backing(&self) -> Result<&Backing> {
        self.space.backing(self.number)
    }
}

impl File for SyncTracker {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.backing()?.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let backing = self.backing()?;
        let failed = backing.failed_syncs.load(Ordering::Acquire);
        let written = backing.file.write_at(buf, offset);
        // After the write: a sync that ends before may not cover it. An earlier number stands.
        self.unsynced.fetch_min(failed, Ordering::AcqRel);
        written
    }

    fn sync(&self) -> Result<()> {
        let backing = self.backing()?;
        // Before the sync: a write that comes during it notes itself, since it may not be covered.
        let since = self.unsynced.swap(CLEAN, Ordering::AcqRel);
        let synced = backing.sync().and_then(|()| {
            if since == CLEAN || since == backing.failed_syncs.load(Ordering::Acquire) {
                return Ok(());
            }
            let lost = Message("an earlier sync failed, and what it lost is unknown".to_owned());
            Err(Error::io("sync", &self.name, 0, io::Error::other(lost)))
        });
        if synced.is_err() {
            self.unsynced.fetch_min(since, Ordering::AcqRel);
        }
        synced
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.backing()?.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.backing()?.file.allocate(len)
    }

    fn len(&self) -> Result<u64> {
        self.backing()?.file.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::fault::{Fault, Survivors};
    use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
    use crate::storage::volume::VolumeOptions;
    use std::sync::mpsc;
    use std::time::Duration;

    fn space(vfs: &FaultVfs) -> Arc<SpaceAllocator> {
        let file = vfs.create("backing").unwrap();
        vfs.sync_names().unwrap();
        Arc::new(SpaceAllocator::new(vec![file], &VolumeOptions::default()))
    }

    #[test]
    fn a_failed_sync_is_told_to_everyone_whose_writes_it_may_have_lost() {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
        let space = space(&vfs);
        let sync_tracker = || SyncTracker::new(space.clone(), 0).unwrap();
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
    fn a_write_beside_a_sync_is_not_covered_by_it() {
        let inner = MemoryVfs::new().create("backing").unwrap();
        let (later, synced) = (Mutex::default(), AtomicBool::new(false));
        let file = Arc::new(FailsOnce { inner, meanwhile: later, synced, fails: false });
        let space = Arc::new(SpaceAllocator::new(vec![file.clone()], &VolumeOptions::default()));
        let sync_tracker = Arc::new(SyncTracker::new(space.clone(), 0).unwrap());
        sync_tracker.write_at(b"one", 0).unwrap();
        let beside = sync_tracker.clone();
        *lock(&file.meanwhile) = Some(Box::new(move || drop(beside.write_at(b"other", 10))));
        sync_tracker.sync().unwrap();
        // Another's sync fails, and may have lost the second write.
        space.backing(0).unwrap().failed_syncs.fetch_add(1, Ordering::AcqRel);
        assert!(sync_tracker.sync().is_err());
    }

    /// A file whose first sync fails, if so wished, a moment after it lets `meanwhile` run on a thread of its own.
    /// As a system may, it reports the failure once.
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
            // It may have to wait for this sync to end.
            let _ = wait.recv_timeout(Duration::from_millis(200));
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

    /// Lets a sync of a backing fail while `meanwhile` runs; returns what that returns.
    fn beside_a_failing_sync<T: Send + 'static>(
        meanwhile: impl FnOnce(&SpaceAllocator, &SyncTracker, &FailsOnce) -> T + Send + 'static,
    ) -> T {
        let inner = MemoryVfs::new().create("backing").unwrap();
        let (later, synced) = (Mutex::default(), AtomicBool::new(false));
        let file = Arc::new(FailsOnce { inner, meanwhile: later, synced, fails: true });
        let space = Arc::new(SpaceAllocator::new(vec![file.clone()], &VolumeOptions::default()));
        space.allocate(0, 4096, 4096).unwrap();
        let other = SyncTracker::new(space.clone(), 0).unwrap();
        other.write_at(b"other", 10).unwrap();
        let (answer, answered) = mpsc::channel();
        let beside = (space.clone(), file.clone());
        let run = move || answer.send(meanwhile(&beside.0, &other, &beside.1)).unwrap();
        *lock(&file.meanwhile) = Some(Box::new(run));
        assert!(space.backing(0).unwrap().sync().is_err());
        answered.recv().unwrap()
    }

    #[test]
    fn a_sync_that_succeeds_beside_one_that_fails_does_not_hide_it() {
        assert!(beside_a_failing_sync(|_, sync_tracker, _| sync_tracker.sync()).is_err());
    }

    #[test]
    fn a_length_counts_as_synced_only_when_its_sync_has_ended_well() {
        let synced = beside_a_failing_sync(|space, _, file| {
            space.sync_grown().map(|()| file.synced.load(Ordering::Acquire))
        });
        assert!(synced.unwrap(), "nothing was left to the sync that fails");
    }

    #[test]
    fn a_length_that_a_failed_sync_may_have_lost_is_set_again() {
        let inner = Arc::new(MemoryVfs::new());
        let vfs = FaultVfs::new(inner.clone()).unwrap();
        let space = space(&vfs);
        space.allocate(0, 4096, 4096).unwrap();
        vfs.fail_at(vfs.operations() + 1, Fault::Io);
        assert!(space.sync_grown().is_err());
        space.sync_grown().unwrap();
        vfs.crash(Survivors::Synced).unwrap();
        assert_eq!(inner.open("backing").unwrap().len().unwrap(), 1 << 20);
    }
}
