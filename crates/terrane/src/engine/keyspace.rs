//! State of a keyspace that readers, writers and policies share.

use super::access_stats::AccessStats;
use crate::error::{ErrorKind, Result};
use crate::keyspace::KeyspaceId;
use crate::options::Options;
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::Swap;
use crate::sync::atomic::AtomicU32;
use crate::sync::{ArcSwap, Mutex};
#[cfg(not(target_arch = "wasm32"))]
use crate::version::Sources;
use crate::version::{Histograms, KeyspaceRecord, Samples, SuperVersion, Tree};
use std::sync::Arc;
use terrane_policy::{Policy, PolicyOptions, PolicyStatus};
use terrane_types::SharedMap;

/// Keyspaces by their id.
pub(crate) type KeyspaceMap = SharedMap<KeyspaceId, Arc<KeyspaceInner>>;

/// The part of a keyspace that its handles have for gets, so that these look for no keyspace. It outlives the keyspace,
/// without what it shows.
#[derive(Default)]
pub(crate) struct KeyspaceReads {
    pub access_stats: AccessStats,
    /// Natively what gets in memory search; nothing of a keyspace that was dropped or closed.
    #[cfg(not(target_arch = "wasm32"))]
    pub sources: Swap<Sources>,
}

impl KeyspaceReads {
    /// Shows nothing yet.
    fn of(access_stats: AccessStats) -> Self {
        KeyspaceReads {
            access_stats,
            #[cfg(not(target_arch = "wasm32"))]
            sources: Swap::default(),
        }
    }

    fn show(&self, super_version: &SuperVersion) {
        #[cfg(not(target_arch = "wasm32"))]
        self.sources.replace(Some(super_version.sources.clone()));
        let _ = super_version;
    }

    /// Shows nothing from now on.
    pub fn hide(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        self.sources.clear();
    }
}

/// One keyspace of an open store.
pub(crate) struct KeyspaceInner {
    pub id: KeyspaceId,
    pub name: String,
    pub policy: ArcSwap<Box<dyn Policy>>,
    /// Replaced by [`KeyspaceInner::show`].
    pub super_version: ArcSwap<SuperVersion>,
    pub reads: Arc<KeyspaceReads>,
    /// Kinds of its entries that not every keyspace has, by the features of the store that say so.
    pub features: AtomicU32,
    /// Histograms of tables, for a policy that reads them.
    pub histograms: Mutex<Histograms>,
    /// Status of its policy that was reported last.
    pub status_reported: Mutex<PolicyStatus>,
}

impl KeyspaceInner {
    /// A keyspace that readers find in `tree`, and writers with a memtable of these options.
    pub fn new(
        id: KeyspaceId,
        record: &KeyspaceRecord,
        tree: Tree,
        options: &Options,
    ) -> Result<Self> {
        if let Some(policy) = PolicyOptions::left_out(&record.policy) {
            return Err(ErrorKind::LeftOut(policy).into());
        }
        let policy = options.planner(&record.name, &PolicyOptions::stored(&record.policy).0)?;
        tree.estimate_debt(options, &*policy, &record.policy_state);
        let active = Arc::new(options.memtable());
        let (tree, filters) = (Arc::new(tree), Arc::default());
        let samples = Samples::new(id, &filters);
        let super_version = SuperVersion::new(active, Vec::new(), tree, filters, samples);
        let reads = KeyspaceReads::of(AccessStats::of(&*policy));
        reads.show(&super_version);
        Ok(KeyspaceInner {
            id,
            name: record.name.clone(),
            reads: Arc::new(reads),
            features: AtomicU32::new(record.features),
            policy: ArcSwap::from_pointee(policy),
            super_version: ArcSwap::from_pointee(super_version),
            histograms: Mutex::default(),
            status_reported: Mutex::default(),
        })
    }

    /// Gives readers another super version. Holders of the state lock, and recovery, replace it.
    pub fn show(&self, super_version: SuperVersion) {
        let super_version = Arc::new(super_version);
        self.super_version.store(super_version.clone());
        // A reader that finds too little in memory takes the super version: it must not be older.
        self.reads.show(&super_version);
    }

    /// Returns its tree as it is now.
    pub fn tree(&self) -> Arc<Tree> {
        self.super_version.load().tree.clone()
    }
}
