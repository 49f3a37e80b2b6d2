//! State that readers of a keyspace hold.

use super::{FilterCounters, SharedSamples, Tree};
use crate::entry::Seq;
use crate::memtable::Memtable;
use std::sync::Arc;
use terrane_types::range_deletes::RangeDeletes;

/// State that a reader of one keyspace holds: memtables and the tree, immutable but for the active
/// memtable, which only grows.
pub(crate) struct SuperVersion {
    /// Takes the writes.
    pub active: Arc<Memtable>,
    /// Waiting for their flush, newest first.
    pub sealed: Vec<Arc<Memtable>>,
    /// The tables.
    pub tree: Arc<Tree>,
    /// Those of the keyspace, which all its super versions share.
    pub filters: Arc<FilterCounters>,
    /// Samples of its operations, which all share as well.
    pub samples: SharedSamples,
}

impl SuperVersion {
    /// The memtables, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed)
    }

    /// The sequence number of the newest range delete of a key that a reader at `at` sees; 0 without one.
    #[inline]
    pub fn deleted(&self, key: &[u8], at: Seq) -> Seq {
        let list = self.tree.range_deletes();
        let in_tables = if list.is_empty() { 0 } else { list.newest_at(key, at) };
        self.memtables().fold(in_tables, |newest, memtable| newest.max(memtable.deleted(key, at)))
    }

    /// The lists of range deletes that are not empty: those of memtables, and that of the tables.
    pub fn range_deletes(&self) -> Vec<RangeDeletes> {
        let of_memtables = self.memtables().filter(|memtable| memtable.deletions() > 0);
        let mut lists: Vec<RangeDeletes> = of_memtables.map(|m| m.range_deletes()).collect();
        lists.extend(Some(self.tree.range_deletes().clone()).filter(|list| !list.is_empty()));
        lists
    }
}
