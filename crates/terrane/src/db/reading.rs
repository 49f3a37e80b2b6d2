//! Reading: gets, scans and the snapshots that merges must respect.

use super::state::{KeyspaceInner, View};
use super::{Engine, lock};
use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::{Range, Scan, Source, known_kind};
use crate::table::Access;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    fn keyspace(&self, id: KeyspaceId) -> Result<Arc<KeyspaceInner>> {
        self.keyspaces.load().get(&id).cloned().ok_or(Error::Closed("the keyspace"))
    }

    /// A view of the keyspace and the last sequence visible in it.
    ///
    /// The view comes first: it pins everything that is visible by then, so no merge can take a
    /// version away between the two.
    fn view(&self, keyspace: &KeyspaceInner) -> (Arc<View>, Seq) {
        let view = keyspace.view.load_full();
        (view, self.visible.load(Ordering::Acquire))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// Damage, a failing medium, or a keyspace that was dropped.
    pub fn get(&self, keyspace: KeyspaceId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let keyspace = self.keyspace(keyspace)?;
        let (view, seq) = self.view(&keyspace);
        let memtables = std::iter::once(&view.active).chain(&view.sealed);
        for memtable in memtables {
            if let Some((tag, value)) = memtable.get(key, seq) {
                return Ok((known_kind(tag)? == Kind::Put).then(|| value.to_vec()));
            }
        }
        match view.tree.get(key, seq)? {
            Some((tag, value)) => Ok((known_kind(tag)? == Kind::Put).then_some(value)),
            None => Ok(None),
        }
    }

    /// A walk over a range, as the keyspace is now.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn scan(&self, keyspace: KeyspaceId, range: Range) -> Result<Scan> {
        let keyspace = self.keyspace(keyspace)?;
        let (view, seq) = self.view(&keyspace);
        let memtables = std::iter::once(&view.active).chain(&view.sealed);
        let mut sources: Vec<_> = memtables.map(|m| Source::Memtable(m.cursor())).collect();
        sources.extend(view.tree.cursors(Access::Random).map(|c| Source::Run(Box::new(c))));
        Ok(Scan::new(view, sources, range, seq))
    }

    /// Every sequence at which a reader may look, ascending: those of snapshots, and the present.
    pub(crate) fn snapshot_list(&self) -> Vec<Seq> {
        let snapshots = lock(&self.snapshots);
        let visible = self.visible.load(Ordering::Acquire);
        let mut list: Vec<Seq> = snapshots.keys().copied().collect();
        if list.last() != Some(&visible) {
            list.push(visible);
        }
        list
    }
}
