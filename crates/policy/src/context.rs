//! What a planner is told.

use serde::Serialize;
use terrane_types::{
    Compaction, Destination, Flatten, Group, RunId, Shape, TableId, VecMap, VecSet,
};

/// Everything that a planner goes by: the same values always give the same plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanContext<'a> {
    /// The tree as it is.
    pub shape: &'a Shape,
    /// What the policy remembers, in its own encoding.
    pub state: &'a [u8],
    /// Plans that have begun and not ended.
    pub running: &'a Running,
    /// What was asked of the tree since the last plan began.
    pub observed: &'a Observed,
    /// Runs in level 0 at which writes stop.
    pub l0_stop_trigger: usize,
    /// A run id greater than every id in the shape and in `running`: the name for a run that the
    /// plan creates. A plan that needs several may count up from it.
    pub fresh: RunId,
}

/// Plans that have begun and not ended, as a planner must see them.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The running compactions. Their inputs are still in the shape; their outputs are promised.
    /// A group that has committed is no longer listed.
    pub compactions: Vec<Compaction>,
}

impl Running {
    /// Every group that has not committed.
    pub fn groups(&self) -> Flatten<'_, Compaction, Group> {
        Flatten::new(&self.compactions, |compaction| &compaction.groups)
    }

    /// The tables that running groups consume, group after group.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = TableId> {
        self.groups().flat_map(|group| &group.inputs).copied()
    }

    /// The tables that running groups consume.
    #[must_use]
    pub fn held(&self) -> VecSet<TableId> {
        self.taken_into(0)
    }

    /// The tables that running groups take into `level` or a deeper one.
    #[must_use]
    pub fn taken_into(&self, level: usize) -> VecSet<TableId> {
        let mut taken = Vec::new();
        for group in self.groups().filter(|group| group.destination.level >= level) {
            taken.extend_from_slice(&group.inputs);
        }
        taken.into_iter().collect()
    }

    /// Whether a running group writes into `level` or a deeper one.
    #[must_use]
    pub fn writes_from(&self, level: usize) -> bool {
        self.groups().any(|g| g.destination.level >= level)
    }

    /// Whether a running group writes into `destination`.
    #[must_use]
    pub fn writes_into(&self, destination: Destination) -> bool {
        self.groups().any(|g| g.destination == destination)
    }
}

/// What was asked of one keyspace since its last plan began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Observed {
    /// Entries written, puts and deletes, counted when their memtable is sealed.
    pub updates: u64,
    /// Keys looked up.
    pub point_reads: u64,
    /// Scans begun.
    pub range_reads: u64,
    /// Lookups that a table's filter let pass, of tables that had any; empty unless the policy
    /// [watches reads](crate::Policy::watches_reads).
    pub table_reads: VecMap<TableId, u64>,
}

/// A sealed memtable, as the planner of its flush sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySample {
    /// Entries in it, all versions counted.
    pub entries: u64,
    /// Memory that they take, in bytes.
    pub bytes: u64,
    /// Some of its user keys, strictly ascending, about equally many entries apart; the first and
    /// the last of the memtable are among them.
    pub keys: Vec<Vec<u8>>,
}
