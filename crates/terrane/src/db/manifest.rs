//! Edits become durable, one at a time.
//!
//! 1. Whoever changes the tree, the logs or the keyspaces takes the right to commit, [`Manifest`],
//!    decides what changes, and prepares the edit and the catalog that results from it.
//! 2. The commit waits for the medium with no other lock held: writers and readers go on.
//! 3. The catalog takes effect under the state's lock, together with whatever goes with it.

use super::state::State;
use super::{Engine, lock};
use crate::error::Result;
use crate::storage::{Commit, FileId};
use crate::sync::MutexGuard;
use crate::version::{Catalog, Change, Edit};

/// The right to commit edits. While it is held nobody else changes the catalog, a tree, or which
/// keyspaces and spare logs there are.
pub(super) struct Manifest<'a> {
    _guard: MutexGuard<'a, ()>,
}

/// An edit, and the catalog that it leads to.
pub(super) struct Prepared {
    edit: Edit,
    pub catalog: Catalog,
}

impl Engine {
    /// Waits for the right to commit edits.
    pub(super) fn manifest(&self) -> Result<Manifest<'_>> {
        let manifest = Manifest { _guard: lock(&self.manifest) };
        drop(self.open_state()?);
        Ok(manifest)
    }

    /// An edit of these changes.
    pub(super) fn prepare(&self, _: &Manifest<'_>, mut changes: Vec<Change>) -> Result<Prepared> {
        self.writable()?;
        let state = lock(&self.state);
        changes.push(Change::NextId(state.next_id));
        let mut catalog = state.catalog.clone();
        drop(state);
        let edit = Edit { changes };
        catalog.apply(&edit)?;
        Ok(Prepared { edit, catalog })
    }

    /// Commits an edit: on success it is durable and in the catalog of the state that is returned.
    /// On failure nobody knows whether the medium has it, so no write is taken until the store is
    /// opened again.
    pub(super) fn commit_prepared(
        &self,
        _: &Manifest<'_>,
        Prepared { edit, catalog }: Prepared,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<MutexGuard<'_, State>> {
        let bytes = edit.encode();
        let commit =
            Commit { edit: &bytes, added, dropped, snapshot: &|| catalog.snapshot().encode() };
        let committed = self.storage.commit(&commit);
        let mut state = lock(&self.state);
        match committed {
            Ok(()) => {
                state.catalog = catalog;
                Ok(state)
            }
            Err(e) => {
                state.in_doubt = Some(e.clone());
                Err(e)
            }
        }
    }

    /// Prepares and commits an edit of these changes.
    pub(super) fn commit_edit(
        &self,
        manifest: &Manifest<'_>,
        changes: Vec<Change>,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<MutexGuard<'_, State>> {
        let prepared = self.prepare(manifest, changes)?;
        self.commit_prepared(manifest, prepared, added, dropped)
    }
}
