//! Results of jobs, to be installed.

use crate::entry::Seq;
use crate::keyspace::KeyspaceId;
use crate::version::LiveTable;
use std::sync::Arc;
use terrane_policy::{FlushPlan, Group};

/// Result of a job, which takes effect when the engine installs it.
pub(crate) enum Outcome {
    /// A sealed memtable is in these tables, in key order; in none if nothing was left to write.
    Flushed { keyspace: KeyspaceId, through: Seq, plan: FlushPlan, tables: Vec<Arc<LiveTable>> },
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
