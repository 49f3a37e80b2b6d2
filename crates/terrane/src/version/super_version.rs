//! State that readers of a keyspace hold.

use super::{LevelCounters, SharedSamples, Sources, Tree};
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
    /// Makes a super version of memtables, `sealed` newest first, and a tree.
    pub fn new(
        active: Arc<Memtable>,
        sealed: Vec<Arc<Memtable>>,
        tree: Arc<Tree>,
        counters: Arc<LevelCounters>,
        samples: SharedSamples,
    ) -> Self {
        let runs = tree.runs().clone();
        let sources = Arc::new(Sources { active, sealed, runs, counters, samples });
        SuperVersion { sources, tree }
    }

    /// Returns the next one of the same keyspace.
    pub fn replaced(
        &self,
        active: Arc<Memtable>,
        sealed: Vec<Arc<Memtable>>,
        tree: Arc<Tree>,
    ) -> Self {
        SuperVersion::new(active, sealed, tree, self.counters.clone(), self.samples.clone())
    }
}

impl Deref for SuperVersion {
    type Target = Sources;

    #[inline]
    fn deref(&self) -> &Sources {
        &self.sources
    }
}
