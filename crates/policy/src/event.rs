//! The event stream of the engine and of the simulator: one type, so that a trace reads the same
//! whichever of the two wrote it.

use crate::context::Observed;
#[cfg(feature = "all")]
use crate::operations::{LevelReads, OperationStats};
use crate::policies::PolicyOptions;
use crate::status::{Capacity, Decision, Fact, PolicyStatus};
use serde::Serialize;
use terrane_types::{
    Corruption, KeyspaceId, LevelChange, LevelIndex, Order, Reason, RunId, Seq, Stall, TableId,
    TableInfo, Term,
};

/// The most progress events of one merge.
pub const MAX_PROGRESS: u64 = 32;

/// Something that the engine or the simulator did.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The store was opened and its WAL replayed.
    Recovered {
        /// Records replayed from WAL files.
        records: u64,
        /// Batches in them.
        batches: u64,
        /// Entries in those.
        entries: u64,
        /// Bytes of torn tails that were discarded.
        discarded_bytes: u64,
        /// Damage that was repaired from second copies.
        repaired: Vec<Corruption>,
    },
    /// A keyspace was created.
    KeyspaceCreated {
        /// Its id.
        keyspace: KeyspaceId,
        /// Its name.
        name: String,
    },
    /// A keyspace was dropped with all its data.
    KeyspaceDropped {
        /// Its id.
        keyspace: KeyspaceId,
        /// Its name.
        name: String,
    },
    /// The policy of a keyspace was changed.
    PolicyChanged {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The new policy.
        policy: PolicyOptions,
    },
    /// A keyspace was opened whose stored policy has options that this release does not know or allow:
    /// those have their defaults.
    PolicyAdjusted {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The policy in use.
        policy: PolicyOptions,
        /// The options that were ignored, in words.
        problems: Vec<String>,
    },
    /// A memtable was sealed and waits to be flushed.
    MemtableSealed {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Its memory, in bytes.
        bytes: u64,
        /// Its last sequence number.
        through: Seq,
    },
    /// The bytes that a keyspace's live rows take, as they were when a memtable was sealed: only the simulator knows
    /// them.
    LiveBytes {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Bytes of the newest versions of all live keys.
        bytes: u64,
    },
    /// Gets and writes since the preceding event of this type: a sample of them, about once a second while there are
    /// some.
    #[cfg(feature = "all")]
    Operations {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Length of the interval, which ends now, in microseconds.
        lasted_micros: u64,
        /// Gets in it.
        gets: OperationStats,
        /// Batches written in it, each counted for the keyspace of its first entry.
        writes: OperationStats,
        /// Filters and blocks of gets since the store was opened, by level.
        levels: Vec<LevelReads>,
    },
    /// A memtable became a run of level 0.
    Flushed {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The new run.
        run: RunId,
        /// Its tables, in key order.
        tables: Vec<TableInfo>,
        /// Reason for cutting it into several tables, in words; empty for one table.
        reason: String,
        /// The comparisons behind that.
        terms: Vec<Term>,
        /// Everything up to this sequence number is in tables now.
        through: Seq,
    },
    /// The set of range deletes over a keyspace's tables changed.
    RangeDeletes {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The number of disjoint key ranges that they cover.
        fragments: usize,
        /// Their memory, in bytes.
        bytes: usize,
    },
    /// A compaction started.
    CompactionBegun {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Its number, for later events.
        compaction: u64,
        /// Number of its groups.
        groups: usize,
        /// Order of its groups, and the number that may run at once.
        order: Order,
        /// The policy's reason, in words.
        reason: String,
        /// The comparisons behind it.
        terms: Vec<Term>,
        /// The operations that the policy was given.
        observed: Observed,
    },
    /// A level was added or dropped: runs were relabelled, nothing was rewritten.
    LevelChanged {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Change of the levels.
        change: LevelChange,
        /// The policy's reason, in words.
        reason: String,
        /// The comparisons behind it.
        terms: Vec<Term>,
        /// The operations that the policy was given.
        observed: Observed,
    },
    /// A group started to be merged or moved. No other group shares an input with it until it is installed or
    /// abandoned; later events identify it by its first input.
    GroupBegun {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The compaction. Those that a restart resumes are not reported again as started.
        compaction: u64,
        /// The input tables.
        inputs: Vec<TableId>,
        /// The level of the outputs.
        level: LevelIndex,
        /// The run of the outputs.
        run: RunId,
        /// User keys at which a new output starts.
        cuts: Vec<Vec<u8>>,
        /// Whether the tables are moved without rewriting.
        moved: bool,
    },
    /// A merge made progress. There are at most [`MAX_PROGRESS`] of these for a group.
    MergeProgress {
        /// The compaction.
        compaction: u64,
        /// The first input of the group.
        group: TableId,
        /// Bytes read so far.
        read_bytes: u64,
        /// Total bytes to read.
        total_bytes: u64,
        /// About how many bytes are written so far.
        written_bytes: u64,
    },
    /// A group that had started was given up: a job failed, or its keyspace was dropped. Its inputs stay.
    /// Groups that follow it do not start.
    GroupAbandoned {
        /// The compaction.
        compaction: u64,
        /// The first input of the group.
        group: TableId,
    },
    /// A group was installed: its outputs replaced its inputs.
    GroupInstalled {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The compaction.
        compaction: u64,
        /// The input tables, in the order in which they were reported when it started.
        inputs: Vec<TableId>,
        /// The level of the outputs.
        level: LevelIndex,
        /// The run of the outputs.
        run: RunId,
        /// The output tables; the inputs themselves if they were moved.
        outputs: Vec<TableInfo>,
        /// Whether the tables were moved without rewriting.
        moved: bool,
    },
    /// All groups of a compaction are installed or abandoned.
    CompactionEnded {
        /// The compaction.
        compaction: u64,
    },
    /// The validator refused a plan: a defect of the policy, which costs work but no data.
    PlanRefused {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The violated rule and the tables, in words.
        why: String,
    },
    /// The policy's state after a step exceeded [`MAX_STATE`](crate::MAX_STATE), and it continues with the
    /// one before: a defect of the policy, which costs work but no data.
    PolicyStateRefused {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The length of the state, in bytes.
        bytes: usize,
    },
    /// The preceding event changed the policy's limits or state.
    PolicyStatus {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The capacities of levels, from level 0 down.
        capacities: Vec<Capacity>,
        /// State of the policy.
        facts: Vec<Fact>,
    },
    /// The policy decided something other than a plan when the preceding event's step was installed.
    Decided {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Name of the decision, in kebab case.
        decision: &'static str,
        /// The policy's reason, in words.
        reason: String,
        /// The comparisons behind it.
        terms: Vec<Term>,
        /// Grounds of the decision, and the outcome.
        facts: Vec<Fact>,
    },
    /// Writes stall.
    Stalled {
        /// Why.
        reason: Stall,
    },
    /// Writes continue, or fail.
    StallEnded {
        /// Reason of the stall.
        reason: Stall,
        /// Duration in microseconds.
        lasted_micros: u64,
    },
    /// Writes slow down, as a stall is near: each waits briefly for background work.
    SlowdownBegun {
        /// The stall that is the nearest.
        reason: Stall,
    },
    /// Background work has caught up, so writes are no longer slowed down; or they now are for another
    /// reason.
    SlowdownEnded {
        /// The stall that was the nearest.
        reason: Stall,
        /// Duration in microseconds.
        lasted_micros: u64,
    },
    /// A job failed; it is retried at the next flush or stalled write.
    JobFailed {
        /// Message of the error.
        error: String,
    },
    /// An obsolete file was removed.
    FileRemoved {
        /// Its name.
        file: String,
    },
}

/// Emits the events about a policy that follow an installed step.
///
/// 1. What it decided at that step, if the step was of its own plans.
/// 2. Its status, unless it was `reported` last.
pub fn report_policy(
    keyspace: KeyspaceId,
    decisions: Vec<Decision>,
    status: PolicyStatus,
    reported: &mut PolicyStatus,
    emit: &mut dyn FnMut(Event),
) {
    for Decision { name, reason: Reason { text, terms }, facts } in decisions {
        emit(Event::Decided { keyspace, decision: name, reason: text, terms, facts });
    }
    if status != *reported {
        *reported = status.clone();
        let PolicyStatus { capacities, facts } = status;
        emit(Event::PolicyStatus { keyspace, capacities, facts });
    }
}

/// A line of a trace: an event and its time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TraceLine<'a> {
    /// Microseconds since the store was opened; of virtual time in a simulation.
    pub micros: u64,
    /// The event.
    #[serde(flatten)]
    pub event: &'a Event,
}
