//! Compaction debt: the bytes of a keyspace that wait to be compacted, as its policy's capacities have it.
//!
//! Natively writes slow down and stall by it. Whoever installs a tree, or sets its policy, estimates it
//! before writers find the tree, if it may come near the limit: no write asks a policy.

use crate::engine::{Engine, KeyspaceInner};
use crate::error::Stall;
use crate::options::Options;
use crate::sync::lock;
use crate::version::Tree;
use crate::write::Backpressure;
use terrane_policy::{Policy, pending_compaction_bytes};

impl Tree {
    /// Estimates the debt, as a policy that remembers this has it.
    pub(crate) fn estimate_debt(&self, options: &Options, policy: &dyn Policy, remembered: &[u8]) {
        let (shape, room) = (self.shape(), options.hard_pending_compaction_bytes);
        // No more than all goes down from a level, with all of the next: mostly far from the limit.
        let most = shape.bytes().saturating_mul(2 * shape.levels().len() as u64);
        let pending =
            || pending_compaction_bytes(shape, &policy.status(shape, remembered).capacities);
        self.set_pending_bytes(if room == 0 || most < room / 2 { 0 } else { pending() });
    }
}

impl Engine {
    /// How near a tree's keyspace is to a stall by its debt, if there is a limit.
    pub(super) fn debt(&self, tree: &Tree) -> Option<(Stall, Backpressure)> {
        let room = Some(self.options.hard_pending_compaction_bytes).filter(|most| *most > 0)?;
        Some((Stall::CompactionBytes, Backpressure { filled: tree.pending_bytes(), room }))
    }

    /// Whether a keyspace's writes stall by its debt: not where its policy leaves the tree as it is, since
    /// the wait would not end.
    pub(super) fn is_in_debt(&self, keyspace: &KeyspaceInner, tree: &Tree) -> bool {
        self.debt(tree).is_some_and(|(_, debt)| debt.filled >= debt.room)
            && lock(&self.state).compactions.iter().any(|c| c.keyspace == keyspace.id)
    }
}
