//! State that readers of a keyspace hold.

use super::{FilterCounters, Sources, Tree};
use crate::memtable::Memtable;
use std::ops::Deref;
use std::sync::Arc;

/// State that a reader of one keyspace holds: what it searches, and the tree, which keeps the files.
pub(crate) struct SuperVersion {
    /// Memtables and runs.
    pub sources: Arc<Sources>,
    /// The tables.
    pub tree: Arc<Tree>,
}

impl SuperVersion {
    /// These memtables, of which the sealed ones are ordered newest first, over a tree.
    pub fn new(
        active: Arc<Memtable>,
        sealed: Vec<Arc<Memtable>>,
        tree: Arc<Tree>,
        filters: Arc<FilterCounters>,
    ) -> Self {
        let runs = tree.runs().clone();
        SuperVersion { sources: Arc::new(Sources { active, sealed, runs, filters }), tree }
    }
}

impl Deref for SuperVersion {
    type Target = Sources;

    #[inline]
    fn deref(&self) -> &Sources {
        &self.sources
    }
}
