//! Installation: the outcomes of jobs take effect, one edit each. Nothing else changes which tables
//! readers see.
//!
//! * `flush` installs only when (1) the log is durable through its last sequence, since a batch over
//!   two keyspaces would tear otherwise, (2) every older flush of its keyspace is installed, and (3) its
//!   tables are durable.
//! * `group` - a group of a compaction installs alone, in any order: the validator has seen to it that
//!   every order is sound.
//! * `reshape` - a change of levels installs when nothing writes into what it shifts.
//! * `policy_state` - what the keyspace's policy remembers goes into the same edit.
//!
//! Each decides under the state lock what changes, commits without it (`engine/edit_lock.rs`), and
//! takes effect under it again, in one step.

mod flush;
mod group;
mod policy_state;
mod reshape;

use crate::engine::{Engine, KeyspaceInner, State};
use crate::error::Result;
use crate::event::Event;
use crate::jobs::Outcome;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::sync::atomic::Ordering;
use crate::version::{LiveTable, SuperVersion, Tree, VersionSet};
use std::sync::Arc;
use terrane_types::range_deletes::RangeDeletes;

impl Engine {
    /// Installs what a job has made. Returns `false`, and changes nothing, if the keyspace is gone.
    pub(crate) fn install(&self, outcome: Outcome) -> Result<bool> {
        match outcome {
            Outcome::Flushed { keyspace, through, flushed } => {
                self.install_flushed(keyspace, through, flushed)
            }
            Outcome::Merged { keyspace, compaction, group, outputs, read_bytes } => {
                self.counters.merged(read_bytes, &outputs);
                self.install_group(compaction, keyspace, &group, &outputs)
            }
            Outcome::Moved { keyspace, compaction, group } => {
                self.install_group(compaction, keyspace, &group, &[])
            }
            Outcome::Reshaped { keyspace } => self.install_reshape(keyspace).map(|()| true),
            Outcome::NeedsSpareLog => self.add_spare_log(0).map(|()| true),
            Outcome::Nothing => Ok(true),
        }
    }
}

impl Engine {
    /// The keyspace's tree as an edit leaves it.
    fn next_tree(
        &self,
        version_set: &VersionSet,
        keyspace: &KeyspaceInner,
        opened: &[Arc<LiveTable>],
    ) -> Option<Arc<Tree>> {
        let record = version_set.keyspaces.get(&keyspace.id)?;
        let tree = keyspace.super_version.load().tree.next(record, opened);
        #[cfg(not(target_arch = "wasm32"))]
        tree.estimate_debt(&self.options, &**keyspace.policy.load_full(), &record.policy_state);
        Some(Arc::new(tree))
    }
}

impl Engine {
    /// Reports the range deletes of a keyspace, if an edit changed them.
    fn report_deletes(&self, keyspace: KeyspaceId, changed: Option<RangeDeletes>) {
        if let Some(list) = changed {
            let (fragments, bytes) = (list.fragments().len(), list.bytes());
            self.emit(|| Event::RangeDeletes { keyspace, fragments, bytes });
        }
    }

    /// Gives readers the keyspace's new tree, without `flushed`.
    fn show(
        &self,
        _: &State,
        keyspace: &KeyspaceInner,
        tree: Option<Arc<Tree>>,
        flushed: Option<&Arc<Memtable>>,
    ) {
        let Some(tree) = tree else { return };
        let super_version = keyspace.super_version.load_full();
        let (was, is) = (self.is_crowded(&super_version.tree), self.is_crowded(&tree));
        if is && !was {
            self.crowded.fetch_add(1, Ordering::Relaxed);
        } else if was && !is {
            self.crowded.fetch_sub(1, Ordering::Relaxed);
        }
        let stays = |m: &&Arc<Memtable>| flushed.is_none_or(|f| !Arc::ptr_eq(f, m));
        let sealed = super_version.sealed.iter().filter(stays).cloned().collect();
        keyspace.super_version.store(Arc::new(SuperVersion {
            active: super_version.active.clone(),
            sealed,
            tree,
        }));
    }
}
