//! The work of a job.

use crate::jobs::{Flush, Merge};
use crate::keyspace::KeyspaceId;
use crate::version::ObsoleteFile;
use terrane_policy::Group;

/// Work of a job.
pub(crate) enum Work {
    /// Writes a memtable as tables.
    Flush(Box<Flush>),
    /// Merges a group.
    Merge(Box<Merge>),
    /// Relabels a group's tables.
    Move { compaction: u64, keyspace: KeyspaceId, group: Group },
    /// Makes the log that follows the one that fills.
    SpareLog,
    /// Adds or drops a level.
    Reshape { keyspace: KeyspaceId },
    /// Gives a file's space back.
    Remove(ObsoleteFile),
    /// Vacuums the storage.
    Vacuum,
    /// Nothing is left to do.
    Ended,
}
