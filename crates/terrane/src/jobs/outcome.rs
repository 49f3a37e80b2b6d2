//! Results of jobs, to be installed.

use crate::entry::Seq;
use crate::keyspace::KeyspaceId;
use crate::version::LiveTable;
use std::sync::Arc;
use terrane_policy::{FlushPlan, Group};
use terrane_types::range_deletes::RangeDeletes;

/// Result of a flush.
#[derive(Clone)]
pub(crate) struct Flushed {
    /// The cuts that were made.
    pub plan: FlushPlan,
    /// The tables, in key order; none if nothing was left to write.
    pub tables: Vec<Arc<LiveTable>>,
    /// The range deletes that were applied: the memtable's own, and those of newer ones. The edit that names the tables
    /// names these too.
    pub range_deletes: RangeDeletes,
}

/// Result of a job, which takes effect when the engine installs it.
pub(crate) enum Outcome {
    /// A sealed memtable is written.
    Flushed { keyspace: KeyspaceId, through: Seq, flushed: Flushed },
    /// A group's inputs are merged into these tables.
    Merged {
        keyspace: KeyspaceId,
        compaction: u64,
        group: Group,
        outputs: Vec<Arc<LiveTable>>,
        /// Bytes of the inputs.
        read_bytes: u64,
    },
    /// A group's inputs move as they are.
    Moved { keyspace: KeyspaceId, compaction: u64, group: Group },
    /// A level of the keyspace is added or dropped.
    Reshaped { keyspace: KeyspaceId },
    /// The log that fills needs one to follow it.
    NeedsSpareLog,
    /// Nothing is left to be installed.
    Nothing,
}
