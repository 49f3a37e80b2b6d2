//! The event stream, spelled as the engine spells its own.
//!
//! The engine's events name types that only an engine has, and the simulator does not depend on it;
//! a test that sees both holds them together.

use serde::Serialize;
use terrane_policy::{LevelChange, Observed, Order, RunId, TableId, TableInfo};

/// Why writes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// As many sealed memtables wait for their flush as memory allows.
    Memtables,
    /// Level 0 holds as many runs as reads can bear.
    Level0,
}

/// The one keyspace there is.
pub(crate) const KEYSPACE: u32 = 0;

/// A line of the trace: an event, and when it happened.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TraceLine<'a> {
    /// The virtual second.
    pub seconds: f64,
    /// What happened.
    #[serde(flatten)]
    pub event: &'a Event,
}

/// Something that the simulated engine did.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event {
    /// A memtable was closed for writing and waits for its flush.
    MemtableSealed {
        /// Whose.
        keyspace: u32,
        /// Bytes of its entries.
        bytes: u64,
        /// The last sequence in it.
        through: u64,
    },
    /// A memtable became a run of level 0.
    Flushed {
        /// Whose.
        keyspace: u32,
        /// The new run.
        run: RunId,
        /// Its tables, in key order.
        tables: Vec<TableInfo>,
        /// Why it was cut into several, in words; empty where it was not.
        reason: String,
        /// Everything up to this sequence is in tables now.
        through: u64,
    },
    /// A compaction began.
    CompactionBegun {
        /// Whose.
        keyspace: u32,
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
        keyspace: u32,
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
        keyspace: u32,
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
    /// All groups of a compaction are installed.
    CompactionEnded {
        /// The compaction.
        compaction: u64,
    },
    /// The validator refused a plan: a defect of the policy, which costs work but no data.
    PlanRefused {
        /// Whose.
        keyspace: u32,
        /// The pair of tables and the rule, in words.
        why: String,
    },
    /// Writes wait.
    Stalled {
        /// For what.
        reason: Stall,
    },
}
