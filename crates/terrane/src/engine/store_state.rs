//! The state of an open store: edits become durable one at a time, and everything that they change is under one lock.
//!
//! 1. A change of a tree, the logs or the keyspaces takes the right to commit, [`EditLock`]. It is decided under that
//!    lock, and prepared as an edit and the version set that results from it.
//! 2. The commit waits for the file system with no other lock held: writers and readers continue.
//! 3. The version set takes effect under the state's lock, in one moment with all else that the edit changes.
//! 4. No edit is committed after a commit that failed and may have taken effect, or after a job that panicked.

use crate::engine::State;
use crate::error::{Closed, Error, Result};
use crate::storage::{Commit, FileId, Storage};
use crate::sync::{Mutex, MutexGuard, is_poisoned, lock};
use crate::version::{Change, Edit, Ids, VersionSet};
use std::sync::Arc;
use terrane_platform::OwnerProcess;

/// The version set and all state that changes in one moment with it, with the right to change them.
pub(crate) struct StoreState {
    edit_lock: Mutex<()>,
    state: Mutex<State>,
    storage: Arc<dyn Storage>,
    ids: Arc<Ids>,
    owner: OwnerProcess,
}

/// The right to commit edits. While it is held nobody else changes the version set, a tree, or the lists of keyspaces
/// and spare logs.
pub(crate) struct EditLock<'a> {
    store: &'a StoreState,
    _guard: MutexGuard<'a, ()>,
}

/// An edit, and the version set that it leads to.
pub(crate) struct Prepared {
    edit: Edit,
    pub version_set: VersionSet,
}

impl StoreState {
    /// Returns the state of a store in `storage`, opened by this process.
    pub fn new(storage: Arc<dyn Storage>, ids: Arc<Ids>, state: State) -> Self {
        StoreState {
            edit_lock: Mutex::default(),
            state: Mutex::new(state),
            storage,
            ids,
            owner: OwnerProcess::current(),
        }
    }

    /// Refuses a child process that was forked from the process that opened the store. Must be called before a lock is
    /// taken: a thread that the child does not have may hold it.
    pub fn owned(&self) -> Result<()> {
        if !self.owner.is_current() {
            return Err(Closed::Forked.into());
        }
        Ok(())
    }

    /// Refuses to change a store that is only read, or that another process opened.
    pub fn writable(&self) -> Result<()> {
        self.owned()?;
        if self.storage.read_only() {
            return Err(Error::read_only("write to", &self.storage.name()));
        }
        Ok(())
    }

    /// Locks the state.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Locks the state, and refuses calls on a closed store.
    pub fn lock_open(&self) -> Result<MutexGuard<'_, State>> {
        self.owned()?;
        let state = self.lock();
        state.health.open()?;
        Ok(state)
    }

    /// Whether the contents of the manifest are unknown, since a commit to it failed or a job panicked.
    pub fn in_doubt(&self) -> bool {
        self.lock().health.is_in_doubt()
    }

    /// Returns the reason why background work rests, if it failed.
    pub fn failure(&self) -> Option<Error> {
        self.lock().health.failure()
    }

    /// Waits for the right to commit edits.
    pub fn lock_edits(&self) -> Result<EditLock<'_>> {
        self.owned()?;
        let edits = self.wait_for_edits();
        drop(self.lock_open()?);
        Ok(edits)
    }

    /// Waits until no other edit is under way, even if the store is closed.
    pub fn wait_for_edits(&self) -> EditLock<'_> {
        EditLock { store: self, _guard: lock(&self.edit_lock) }
    }
}

impl<'a> EditLock<'a> {
    /// Returns a copy of the version set, unless it is unknown what the manifest holds.
    fn version_set(&self) -> Result<VersionSet> {
        let store = self.store;
        store.writable()?;
        let state = store.lock();
        state.health.certain()?;
        if is_poisoned(&store.edit_lock) {
            // The thread that catches the panic has not reported it yet.
            return Err(Error::job_panicked("commit of an edit".into(), "its thread ended".into()));
        }
        Ok(state.version_set.clone())
    }

    /// Prepares an edit of these changes.
    pub fn prepare(&self, mut changes: Vec<Change>) -> Result<Prepared> {
        let mut version_set = self.version_set()?;
        changes.push(Change::NextId(self.store.ids.next()));
        let edit = Edit { changes };
        version_set.apply(&edit)?;
        Ok(Prepared { edit, version_set })
    }

    /// Commits an edit. On success it is durable, and in the version set of the returned state. After a failure it is
    /// unknown whether the edit is durable, unless the storage knows that it has no effect. While that is unknown the
    /// store takes no write, and must be opened again.
    pub fn commit(
        &self,
        Prepared { edit, version_set }: Prepared,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<MutexGuard<'a, State>> {
        let bytes = edit.encode();
        let commit =
            Commit { edit: &bytes, added, dropped, snapshot: &|| version_set.snapshot().encode() };
        self.settle(self.store.storage.commit(&commit))?;
        let mut state = self.store.lock();
        state.version_set = version_set;
        Ok(state)
    }

    /// Makes room for an edit of these changes that drops these files and is the next one. Without space nothing is
    /// changed.
    pub fn reserve(&self, mut changes: Vec<Change>, dropped: &[FileId]) -> Result<()> {
        // The longest number, since others may be allocated meanwhile.
        changes.push(Change::NextId(u64::MAX));
        let bytes = Edit { changes }.encode();
        let version_set = self.version_set()?;
        let snapshot = &|| version_set.snapshot().encode();
        let next = Commit { edit: &bytes, added: &[], dropped, snapshot };
        self.settle(self.store.storage.reserve(&next))
    }

    /// Notes that it is unknown whether a commit has taken effect, if it failed and may have.
    fn settle(&self, committed: Result<()>) -> Result<()> {
        committed.inspect_err(|e| {
            if self.store.storage.in_doubt() {
                self.store.lock().health.doubt(e);
            }
        })
    }

    /// Prepares and commits an edit of these changes.
    pub fn apply(
        &self,
        changes: Vec<Change>,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<MutexGuard<'a, State>> {
        self.commit(self.prepare(changes)?, added, dropped)
    }
}

#[cfg(test)]
mod tests {
    use crate::executor::SliceExecutor;
    use crate::storage::Directory;
    use crate::storage::vfs::MemoryVfs;
    use crate::{Db, ErrorKind, Options};
    use std::sync::Arc;

    #[test]
    fn no_edit_follows_one_whose_thread_panicked_in_its_commit() {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let db = Db::open_storage(storage, Options::small(), Arc::new(SliceExecutor::default()));
        let db = db.unwrap();
        db.create_keyspace("before").unwrap();
        let panicked = std::thread::scope(|scope| {
            let commit = scope.spawn(|| {
                let _edits = db.engine().state.lock_edits().unwrap();
                panic!("in its commit");
            });
            commit.join().is_err()
        });
        assert!(panicked);
        let refused = db.create_keyspace("after").err().unwrap();
        assert!(matches!(refused.kind(), ErrorKind::JobPanicked(_)), "{refused}");
    }
}
