//! The event stream of the engine and of the simulator: one type, so that a trace reads the same
//! whichever of the two wrote it.

use crate::context::Observed;
use crate::policies::PolicyOptions;
use serde::Serialize;
use terrane_types::{
    Corruption, KeyspaceId, LevelChange, Order, RunId, Seq, Stall, TableId, TableInfo, Term,
};

/// Something that the engine or the simulator did.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
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
    /// A keyspace was opened with a stored policy of which this release does not know or allow some
    /// options: those have their defaults.
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
    /// A memtable became a run of level 0.
    Flushed {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The new run.
        run: RunId,
        /// Its tables, in key order.
        tables: Vec<TableInfo>,
        /// Why it was cut into several tables, in words; empty if it was not.
        reason: String,
        /// The comparisons behind that.
        terms: Vec<Term>,
        /// Everything up to this sequence number is in tables now.
        through: Seq,
    },
    /// A compaction began.
    CompactionBegun {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// Its number, for later events.
        compaction: u64,
        /// How many groups it has.
        groups: usize,
        /// Whether they may run concurrently.
        order: Order,
        /// The policy's reason, in words.
        reason: String,
        /// The comparisons behind it.
        terms: Vec<Term>,
        /// The operations that the policy was told of.
        observed: Observed,
    },
    /// A level was added or dropped: runs were relabelled, nothing was rewritten.
    LevelChanged {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// What changed.
        change: LevelChange,
        /// The policy's reason, in words.
        reason: String,
        /// The comparisons behind it.
        terms: Vec<Term>,
        /// The operations that the policy was told of.
        observed: Observed,
    },
    /// A merge made progress.
    MergeProgress {
        /// The compaction.
        compaction: u64,
        /// Bytes read so far.
        read_bytes: u64,
        /// Total bytes to read.
        total_bytes: u64,
    },
    /// A group was installed: its outputs replaced its inputs.
    GroupInstalled {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The compaction.
        compaction: u64,
        /// The input tables.
        inputs: Vec<TableId>,
        /// The level of the outputs.
        level: usize,
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
    /// Writes stall.
    Stalled {
        /// Why.
        reason: Stall,
    },
    /// A job failed; it is retried at the next flush or stalled write.
    JobFailed {
        /// What happened.
        error: String,
    },
    /// An obsolete file was removed.
    FileRemoved {
        /// Its name.
        file: String,
    },
}
