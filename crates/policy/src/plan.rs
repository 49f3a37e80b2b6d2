//! What a policy may propose.

use crate::shape::{RunId, TableId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A proposal, with its reason in words (for the event stream and the visualizer).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// Merge or move tables within the tree.
    Compact(Compaction),
}

/// A set of groups, each of which commits alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The groups; several may run at once.
    pub groups: Vec<Group>,
    /// Why, in words a person reads: "level 1 has 4 of 4 runs: all become one run of level 2".
    pub reason: String,
}

/// One unit of a compaction: it reads its inputs, writes into one run, and installs as one edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The tables that are consumed.
    pub inputs: Vec<TableId>,
    /// Where the outputs go.
    pub destination: Destination,
    /// Merge or move.
    pub action: Action,
}

/// The run that receives a group's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The level's index.
    pub level: usize,
    /// The run within it: one that is there, or a name that no run has yet, which creates it. The
    /// id decides the place in the level: a greater id is newer.
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

/// How a group's outputs come about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Merge the inputs. Outputs are cut before a user key that is at or above the next of `cuts`
    /// (sorted user keys), and when a table reaches `table_bytes`.
    Merge {
        /// User keys at which a new table must start, strictly ascending.
        cuts: Vec<Vec<u8>>,
        /// Size at which a table is closed, in bytes; `u64::MAX` for no bound.
        table_bytes: u64,
    },
    /// Relabel the inputs into the destination without rewriting them.
    Move,
}
