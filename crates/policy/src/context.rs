//! The input of a planner.

use serde::Serialize;
use terrane_types::{
    Compaction, Destination, FilterBits, Flatten, Group, RunId, Shape, TableId, VecMap, VecSet,
};

/// Everything that a planner depends on: the same values always give the same plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanContext<'a> {
    /// The current tree.
    pub shape: &'a Shape,
    /// The policy's state, in its own encoding.
    pub state: &'a [u8],
    /// Running compactions.
    pub running: &'a Running,
    /// Operations on the tree since the policy's last plan started.
    pub observed: &'a Observed,
    /// Filter bits of each key in tables for which a plan says nothing else.
    pub filter_bits: FilterBits,
    /// Number of merges that may run at once.
    pub workers: usize,
    /// Runs in level 0 at which writes stall, or tables over one key, as the policy counts.
    pub l0_stop_trigger: usize,
    /// The least sequence number at which a reader may look: that of the oldest snapshot or, without
    /// snapshots, the last visible one.
    pub oldest_snapshot: u64,
    /// A run id greater than every id in the shape and in `running`: the id of a run that the plan
    /// creates. A plan that needs several may count up from it.
    pub fresh: RunId,
}

/// Compactions that have started and not ended.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The compactions. Their inputs are still in the shape, their outputs are not yet in it.
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

/// Operations on a keyspace since its policy's last plan started, and its reads of tables.
///
/// Plans of the fallback, and compactions that a caller asks for, do not count as the policy's. If a plan
/// ends before any [step](crate::Installed) is installed, the operations that it was given count for the
/// next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Observed {
    /// Entries written, puts and deletes, counted when their memtable is sealed.
    pub updates: u64,
    /// Point reads.
    pub point_reads: u64,
    /// Scans started.
    pub range_reads: u64,
    /// Reads of each table in the tree that has any, since it is open: point reads that passed its
    /// filter, and scans that came to it. Empty unless the policy
    /// [watches reads](crate::Policy::watches_reads).
    pub table_reads: VecMap<TableId, u64>,
    /// Nanoseconds of a block that is read at random; 0 if that is not known.
    pub block_nanos: u64,
    /// Nanoseconds of a page of 4 KiB that is merged, read and written in sequence, over the number of merges that run
    /// at once; 0 if that is not known.
    pub page_nanos: u64,
}

/// A sample of a sealed memtable, for the planner of its flush.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySample {
    /// Entries in it, all versions counted.
    pub entries: u64,
    /// Their memory, in bytes.
    pub bytes: u64,
    /// Some of its user keys, strictly ascending and about equally many entries apart, including the
    /// first and the last.
    pub keys: Vec<Vec<u8>>,
}
