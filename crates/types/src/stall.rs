//! Reasons why writes wait.

use serde::Serialize;
use std::fmt;

/// Reason why writes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// Too many sealed memtables wait to be flushed.
    Memtables,
    /// Memtables, including sealed ones, use all of their memory.
    Memory,
    /// Level 0 has as many runs as the stop trigger allows, or, as the policy counts, tables over one key.
    Level0,
    /// The WAL file is full and the next one is not ready.
    Wal,
    /// Too many bytes wait to be compacted: natively and in the simulator.
    CompactionBytes,
    /// A keyspace has too many range deletes: they wait for tables to be written without what they hide.
    RangeDeletes,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stall::Memtables => "too many memtables wait to be flushed",
            Stall::Memory => "memtables take all of their memory",
            Stall::Level0 => "too much waits in level 0",
            Stall::Wal => "the next WAL file is not ready",
            Stall::CompactionBytes => "too many bytes wait to be compacted",
            Stall::RangeDeletes => {
                "range deletes fill their 4 MiB until compactions remove the deleted entries, which an open \
                 snapshot may prevent"
            }
        })
    }
}
