//! Ids: of keyspaces, of tables, of runs and of places in a tree.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A sequence number: every batch has its own, counting up from 1, and its entries share it.
pub type Seq = u64;

/// A time by the wall clock: milliseconds since 1970-01-01 UTC, without leap seconds.
pub type Millis = u64;

/// The index of a level, from 0.
pub type LevelIndex = usize;

/// Identifies a keyspace in the WAL and in the manifest. Ids are never reused, so entries of a dropped
/// keyspace that are still in the WAL belong to no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct KeyspaceId(pub u32);

impl fmt::Display for KeyspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keyspace {}", self.0)
    }
}

/// Identifies a table for the whole life of a store; never reused. It is also the number of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u64);

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}", self.0)
    }
}

/// Identifies a run within a store. Within a level a greater id is a newer run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(pub u64);

/// The run that receives a group's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The level's index.
    pub level: usize,
    /// The run within it: an existing one, or an unused id, which creates a run. Runs of a level are
    /// ordered by id: a greater id is newer.
    pub run: RunId,
}

impl Destination {
    /// Whether this place is newer than `other`: a lower level, or a newer run of the same level.
    #[must_use]
    pub fn is_above(self, other: Destination) -> bool {
        (self.level, other.run) < (other.level, self.run)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level {}, run {}", self.level, self.run.0)
    }
}
