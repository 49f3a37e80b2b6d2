//! State that readers of a keyspace hold.

use super::Tree;
use crate::memtable::Memtable;
use std::sync::Arc;

/// State that a reader of one keyspace holds: memtables and the tree, immutable but for the active
/// memtable, which only grows.
pub(crate) struct SuperVersion {
    /// Takes the writes.
    pub active: Arc<Memtable>,
    /// Waiting for their flush, newest first.
    pub sealed: Vec<Arc<Memtable>>,
    /// The tables.
    pub tree: Arc<Tree>,
}

impl SuperVersion {
    /// The memtables, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed)
    }
}
