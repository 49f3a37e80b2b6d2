//! The event stream: what the engine does and what the simulator plays, as one type, so that whoever
//! reads a trace need not know where it came from.

use crate::context::Observed;
use crate::policies::PolicyOptions;
use serde::Serialize;
use terrane_types::{
    Corruption, KeyspaceId, LevelChange, Order, RunId, Seq, Stall, TableId, TableInfo,
};

/// Something that the engine, or the simulator, did.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// The store was opened and its log replayed.
    Recovered {
        /// Records read back from the logs.
        records: u64,
        /// Batches in them.
        batches: u64,
        /// Entries in these.
        entries: u64,
        /// Bytes of an unfinished end that were discarded.
        discarded_bytes: u64,
        /// Damage that second copies made good.
        repaired: Vec<Corruption>,
    },
    /// A keyspace came to be.
    KeyspaceCreated {
        /// Its id.
        keyspace: KeyspaceId,
        /// Its name.
        name: String,
    },
    /// A keyspace was removed with all it held.
    KeyspaceDropped {
        /// Its id.
        keyspace: KeyspaceId,
        /// Its name.
        name: String,
    },
    /// A keyspace has another policy.
    PolicyChanged {
        /// Whose.
        keyspace: KeyspaceId,
        /// The new one.
        policy: PolicyOptions,
    },
    /// A keyspace was opened whose stored policy this release does not know in full: what it does not
    /// know, or would not set, is at its default.
    PolicyAdjusted {
        /// Whose.
        keyspace: KeyspaceId,
        /// The policy as it is used.
        policy: PolicyOptions,
        /// What was not used, in words.
        problems: Vec<String>,
    },
    /// A memtable was closed for writing and waits for its flush.
    MemtableSealed {
        /// Whose.
        keyspace: KeyspaceId,
        /// Memory it takes.
        bytes: u64,
        /// The last sequence in it.
        through: Seq,
    },
    /// A memtable became a run of level 0.
    Flushed {
        /// Whose.
        keyspace: KeyspaceId,
        /// The new run.
        run: RunId,
        /// Its tables, in key order.
        tables: Vec<TableInfo>,
        /// Why it was cut into several, in words; empty where it was not.
        reason: String,
        /// Everything up to this sequence is in tables now.
        through: Seq,
    },
    /// A compaction began.
    CompactionBegun {
        /// Whose.
        keyspace: KeyspaceId,
        /// Its number, for the events that follow.
        compaction: u64,
        /// How many groups it has.
        groups: usize,
        /// Whether they may run at once.
        order: Order,
        /// The policy's reason, in words.
        reason: String,
        /// What had been asked of the keyspace, as the policy was told.
        observed: Observed,
    },
    /// A level came or went: runs were relabelled, and nothing was rewritten.
    LevelChanged {
        /// Whose.
        keyspace: KeyspaceId,
        /// What changed.
        change: LevelChange,
        /// The policy's reason, in words.
        reason: String,
        /// What had been asked of the keyspace, as the policy was told.
        observed: Observed,
    },
    /// A part of a merge was done.
    MergeProgress {
        /// The compaction.
        compaction: u64,
        /// Bytes read so far.
        read_bytes: u64,
        /// Bytes to read in all.
        total_bytes: u64,
    },
    /// A group's tables were replaced.
    GroupInstalled {
        /// Whose.
        keyspace: KeyspaceId,
        /// The compaction.
        compaction: u64,
        /// What was consumed.
        inputs: Vec<TableId>,
        /// The level of the outputs.
        level: usize,
        /// The run of the outputs.
        run: RunId,
        /// What was produced; the inputs themselves if they were moved.
        outputs: Vec<TableInfo>,
        /// Whether the tables were relabelled without rewriting.
        moved: bool,
    },
    /// All groups of a compaction are installed or abandoned.
    CompactionEnded {
        /// The compaction.
        compaction: u64,
    },
    /// The validator refused a plan: a defect of the policy, which costs work but no data.
    PlanRefused {
        /// Whose.
        keyspace: KeyspaceId,
        /// The pair of tables and the rule, in words.
        why: String,
    },
    /// Writes wait.
    Stalled {
        /// For what.
        reason: Stall,
    },
    /// A job failed; it is tried again at the next flush or stalled write.
    JobFailed {
        /// What happened.
        error: String,
    },
    /// A file that no version holds was removed.
    FileRemoved {
        /// Its name.
        file: String,
    },
}
