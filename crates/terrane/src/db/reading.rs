//! Reading: gets, scans and the snapshots that merges must respect.

use super::state::{KeyspaceInner, View};
use super::{Engine, lock};
use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::{Range, Scan, Source, known_kind};
use crate::sync::atomic::Ordering;
use crate::table::Access;
use std::sync::Arc;

impl Engine {
    fn keyspace(&self, id: KeyspaceId) -> Result<Arc<KeyspaceInner>> {
        let found = self.keyspaces.load().get(&id).cloned();
        found.map_or_else(|| self.open_state().and(Err(Error::Closed("the keyspace"))), Ok)
    }

    /// A view of the keyspace and the sequence to read it at: that of a snapshot, or the last
    /// visible one.
    ///
    /// The view comes first: it pins everything that is visible by then, so no merge can take a
    /// version away between the two.
    fn view(&self, keyspace: &KeyspaceInner, at: Option<Seq>) -> (Arc<View>, Seq) {
        let view = keyspace.view.load_full();
        (view, at.unwrap_or_else(|| self.visible.load(Ordering::Acquire)))
    }

    /// Counts keys that are looked up; answers whether each table counts its reads.
    fn count_reads(&self, keyspace: &KeyspaceInner, keys: usize) -> bool {
        if keyspace.operations.looked_up(keys) {
            self.work_came();
        }
        keyspace.operations.watched()
    }

    /// The value of a key, now or at a snapshot's sequence.
    ///
    /// # Errors
    /// Damage, a failing medium, or a keyspace that was dropped.
    pub fn get(
        &self,
        keyspace: KeyspaceId,
        key: &[u8],
        at: Option<Seq>,
    ) -> Result<Option<Vec<u8>>> {
        let keyspace = self.keyspace(keyspace)?;
        let watched = self.count_reads(&keyspace, 1);
        let (view, seq) = self.view(&keyspace, at);
        get_in(&view, key, seq, watched)
    }

    /// The values of several keys at one moment, in the order of the keys.
    ///
    /// # Errors
    /// As for [`Engine::get`].
    pub fn get_many(
        &self,
        keyspace: KeyspaceId,
        keys: &[&[u8]],
        at: Option<Seq>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let keyspace = self.keyspace(keyspace)?;
        let watched = self.count_reads(&keyspace, keys.len());
        let (view, seq) = self.view(&keyspace, at);
        keys.iter().map(|key| get_in(&view, key, seq, watched)).collect()
    }

    /// A walk over a range, as the keyspace is now or was at a snapshot's sequence.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn scan(&self, keyspace: KeyspaceId, range: Range, at: Option<Seq>) -> Result<Scan> {
        let keyspace = self.keyspace(keyspace)?;
        keyspace.operations.scanned();
        let (view, seq) = self.view(&keyspace, at);
        let memtables = std::iter::once(&view.active).chain(&view.sealed);
        let mut sources: Vec<_> = memtables.map(|m| Source::Memtable(m.cursor())).collect();
        sources.extend(view.tree.cursors(Access::Random).map(|c| Source::Run(Box::new(c))));
        Ok(Scan::new(view, sources, range, seq))
    }

    /// Registers a snapshot at the last visible sequence.
    pub(crate) fn hold_snapshot(&self) -> Seq {
        let mut snapshots = lock(&self.snapshots);
        // Read under the lock: a merge that looks later finds either this snapshot or an older
        // present, and keeps what both see.
        let seq = self.visible.load(Ordering::Acquire);
        snapshots.update(seq, |holders| *holders += 1);
        seq
    }

    /// Lets a snapshot go.
    pub(crate) fn release_snapshot(&self, seq: Seq) {
        let mut snapshots = lock(&self.snapshots);
        if let Some(holders) = snapshots.get_mut(&seq) {
            *holders -= 1;
            if *holders == 0 {
                snapshots.remove(&seq);
            }
        }
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

/// The value of a key in a view: the newest version at or below `seq`.
fn get_in(view: &View, key: &[u8], seq: Seq, watched: bool) -> Result<Option<Vec<u8>>> {
    for memtable in std::iter::once(&view.active).chain(&view.sealed) {
        if let Some((tag, value)) = memtable.get(key, seq) {
            return Ok((known_kind(tag)? == Kind::Put).then(|| value.to_vec()));
        }
    }
    match view.tree.get(key, seq, watched)? {
        Some((tag, value)) => Ok((known_kind(tag)? == Kind::Put).then_some(value)),
        None => Ok(None),
    }
}
