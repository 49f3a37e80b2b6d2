//! The interface of a policy.

use crate::plan::{Compaction, Destination, Group, Plan};
use crate::shape::{RunId, Shape, TableId};
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

/// A compaction policy: a pure planner.
///
/// `plan` never changes the policy; what small state a policy has is rebuilt from the shape.
pub trait Policy: Send + Sync {
    /// The preset's name, as options and the command line spell it.
    fn name(&self) -> &'static str;

    /// Proposes the next plan, or nothing when the shape is at rest.
    ///
    /// `fresh` is a run id greater than every id in the shape and in `running`: the name for a run
    /// that the plan creates. A plan that needs several may count up from it.
    fn plan(&self, shape: &Shape, running: &Running, fresh: RunId) -> Option<Plan>;
}
