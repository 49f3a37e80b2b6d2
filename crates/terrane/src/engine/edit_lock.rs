//! Edits become durable, one at a time.
//!
//! 1. Whoever changes the tree, the logs or the keyspaces takes the right to commit, [`EditLock`],
//!    decides what changes, and prepares the edit and the version set that results from it.
//! 2. The commit waits for the file system with no other lock held: writers and readers continue.
//! 3. The version set takes effect under the state's lock, together with whatever goes with it.
//! 4. After a commit that failed and may have taken effect, or a job that panicked, there is no other.

use crate::engine::{Engine, State};
use crate::error::{Error, Result};
use crate::storage::{Commit, FileId};
use crate::sync::{MutexGuard, is_poisoned, lock};
use crate::version::{Change, Edit, VersionSet};

/// The right to commit edits. While it is held nobody else changes the version set, a tree, or which
/// keyspaces and spare logs there are.
pub(crate) struct EditLock<'a> {
    _guard: MutexGuard<'a, ()>,
}

/// An edit, and the version set that it leads to.
pub(crate) struct Prepared {
    edit: Edit,
    pub version_set: VersionSet,
}

impl Engine {
    /// Waits for the right to commit edits.
    pub(crate) fn lock_edits(&self) -> Result<EditLock<'_>> {
        self.owned()?;
        let edits = EditLock { _guard: lock(&self.edit_lock) };
        drop(self.open_state()?);
        Ok(edits)
    }

    /// An edit of these changes.
    pub(crate) fn prepare(&self, _: &EditLock<'_>, mut changes: Vec<Change>) -> Result<Prepared> {
        self.writable()?;
        let state = lock(&self.state);
        if let Some(cause) = &state.in_doubt {
            return Err(Error::poisoned(cause));
        }
        if is_poisoned(&self.edit_lock) {
            // Whoever catches the panic has yet to say so.
            return Err(Error::job_panicked("commit of an edit".into(), "its thread ended".into()));
        }
        changes.push(Change::NextId(self.ids.next()));
        let mut version_set = state.version_set.clone();
        drop(state);
        let edit = Edit { changes };
        version_set.apply(&edit)?;
        Ok(Prepared { edit, version_set })
    }

    /// Commits an edit: on success it is durable and in the version set of the state that is returned.
    /// After a failure it is unknown whether the file system has the edit, unless the storage knows that the
    /// edit has no effect. While it is unknown no write is taken: the store must be opened again.
    pub(crate) fn commit_prepared(
        &self,
        _: &EditLock<'_>,
        Prepared { edit, version_set }: Prepared,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<MutexGuard<'_, State>> {
        let bytes = edit.encode();
        let commit =
            Commit { edit: &bytes, added, dropped, snapshot: &|| version_set.snapshot().encode() };
        let committed = self.storage.commit(&commit);
        let in_doubt = committed.is_err() && self.storage.in_doubt();
        let mut state = lock(&self.state);
        match committed {
            Ok(()) => {
                state.version_set = version_set;
                Ok(state)
            }
            Err(e) => {
                if in_doubt {
                    state.in_doubt = Some(e.clone());
                }
                Err(e)
            }
        }
    }

    /// Prepares and commits an edit of these changes.
    pub(crate) fn commit_edit(
        &self,
        edits: &EditLock<'_>,
        changes: Vec<Change>,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<MutexGuard<'_, State>> {
        let prepared = self.prepare(edits, changes)?;
        self.commit_prepared(edits, prepared, added, dropped)
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
                let _edits = db.engine().lock_edits().unwrap();
                panic!("in its commit");
            });
            commit.join().is_err()
        });
        assert!(panicked);
        let refused = db.create_keyspace("after").err().unwrap();
        assert!(matches!(refused.kind(), ErrorKind::JobPanicked(_)), "{refused}");
    }
}
