//! The interface of a policy.

use crate::plan::{Compaction, Destination, Group, Plan};
use crate::shape::{RunId, Shape, TableId, TableInfo};
use std::collections::HashSet;

/// Plans that have begun and not ended, as a planner must see them.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The running compactions. Their inputs are still in the shape; their outputs are promised.
    /// A group that has committed is no longer listed.
    pub compactions: Vec<Compaction>,
}

impl Running {
    /// Every group that has not committed.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.compactions.iter().flat_map(|c| &c.groups)
    }

    /// The tables that running groups consume.
    #[must_use]
    pub fn held(&self) -> HashSet<TableId> {
        self.groups().flat_map(|g| &g.inputs).copied().collect()
    }

    /// Whether a running group writes into `destination`.
    #[must_use]
    pub fn writes_into(&self, destination: Destination) -> bool {
        self.groups().any(|g| g.destination == destination)
    }
}

/// The greatest length of a policy's state, in bytes.
pub const MAX_STATE: usize = 64 << 10;

/// A group of one of the policy's own plans, at the moment it is installed.
#[derive(Clone, Copy, Debug)]
pub struct Installed<'a> {
    /// The shape before: the group's inputs are in it.
    pub before: &'a Shape,
    /// What was done.
    pub group: &'a Group,
    /// The tables that stand at the group's destination now; those of a move are its inputs.
    pub outputs: &'a [TableInfo],
    /// Whether the compaction ends with this group.
    pub ends: bool,
}

/// A compaction policy: a pure planner.
///
/// A policy that must remember something keeps it in a *state* of its own encoding, of at most
/// [`MAX_STATE`] bytes. The policy holds no copy of it: whoever drives the policy stores the state,
/// with the very edit that changed it, and hands it to every call. `plan` never changes it. A state
/// that a policy cannot read is as good as none, never an error.
pub trait Policy: Send + Sync {
    /// The preset's name, as options and the command line spell it.
    fn name(&self) -> &'static str;

    /// Proposes the next plan, or nothing when the shape is at rest.
    ///
    /// `fresh` is a run id greater than every id in the shape and in `running`: the name for a run
    /// that the plan creates. A plan that needs several may count up from it.
    fn plan(&self, shape: &Shape, state: &[u8], running: &Running, fresh: RunId) -> Option<Plan>;

    /// The state after a group of this policy's own plans.
    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let _ = installed;
        state.to_vec()
    }

    /// The state for a tree that is new, or was last changed by plans of others.
    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        let _ = shape;
        Vec::new()
    }
}
