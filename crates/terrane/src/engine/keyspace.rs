//! State of a keyspace that readers, writers and policies share.

use super::access_stats::AccessStats;
use crate::error::{ErrorKind, Result};
use crate::keyspace::KeyspaceId;
use crate::options::Options;
use crate::sync::atomic::AtomicU32;
use crate::sync::{ArcSwap, Mutex};
use crate::version::{Histograms, KeyspaceRecord, Samples, SuperVersion, Tree};
use std::sync::Arc;
use terrane_policy::{Policy, PolicyOptions, PolicyStatus};
use terrane_types::SharedMap;

/// Keyspaces by their id.
pub(crate) type KeyspaceMap = SharedMap<KeyspaceId, Arc<KeyspaceInner>>;

/// One keyspace of an open store.
pub(crate) struct KeyspaceInner {
    pub id: KeyspaceId,
    pub name: String,
    pub policy: ArcSwap<Box<dyn Policy>>,
    pub super_version: ArcSwap<SuperVersion>,
    pub access_stats: AccessStats,
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
        let (sealed, tree, filters) = (Vec::new(), Arc::new(tree), Arc::default());
        let samples = Samples::new(id, &filters);
        let super_version = SuperVersion { active, sealed, tree, filters, samples };
        Ok(KeyspaceInner {
            id,
            name: record.name.clone(),
            access_stats: AccessStats::of(&*policy),
            features: AtomicU32::new(record.features),
            policy: ArcSwap::from_pointee(policy),
            super_version: ArcSwap::from_pointee(super_version),
            histograms: Mutex::default(),
            status_reported: Mutex::default(),
        })
    }

    /// Returns its tree as it is now.
    pub fn tree(&self) -> Arc<Tree> {
        self.super_version.load().tree.clone()
    }
}
