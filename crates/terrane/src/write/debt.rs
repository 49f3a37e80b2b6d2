//! Compaction debt: the bytes of a keyspace that wait to be compacted, as its policy's capacities have it.
//!
//! It is estimated once a tree, where writes are to slow down or stall by it: natively, in trees that may
//! come near the limit.

use crate::engine::{Engine, KeyspaceInner};
use crate::error::Stall;
use crate::sync::lock;
use crate::version::Tree;
use crate::write::Backpressure;
use terrane_policy::pending_compaction_bytes;

impl Engine {
    /// How near a keyspace is to a stall by its debt, if there is a limit.
    pub(super) fn debt(
        &self,
        keyspace: &KeyspaceInner,
        tree: &Tree,
    ) -> Option<(Stall, Backpressure)> {
        let room = Some(self.options.hard_pending_compaction_bytes).filter(|most| *most > 0)?;
        let filled = tree.pending_bytes(|| {
            // No more than all goes down from a level, with all of the next: mostly far from the limit.
            let (levels, bytes) = (tree.shape().levels().len() as u64, tree.shape().bytes());
            let is_far = bytes.saturating_mul(2 * levels) < room / 2;
            if is_far { 0 } else { self.pending_compaction_bytes(keyspace, tree) }
        });
        Some((Stall::CompactionBytes, Backpressure { filled, room }))
    }

    /// Whether a keyspace's writes stall by its debt: not where its policy leaves the tree as it is, since
    /// the wait would not end.
    pub(super) fn is_in_debt(&self, keyspace: &KeyspaceInner, tree: &Tree) -> bool {
        self.debt(keyspace, tree).is_some_and(|(_, debt)| debt.filled >= debt.room)
            && lock(&self.state).compactions.iter().any(|c| c.keyspace == keyspace.id)
    }

    /// About how many bytes of a keyspace's tree wait to be compacted.
    pub(crate) fn pending_compaction_bytes(&self, keyspace: &KeyspaceInner, tree: &Tree) -> u64 {
        let state = lock(&self.state);
        let record = state.version_set.keyspaces.get(&keyspace.id);
        let remembered = record.map_or_else(Vec::new, |record| record.policy_state.clone());
        drop(state);
        let status = keyspace.policy.load().status(tree.shape(), &remembered);
        pending_compaction_bytes(tree.shape(), &status.capacities)
    }
}
