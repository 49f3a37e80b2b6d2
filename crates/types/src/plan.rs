//! Plans: what a policy may propose.

use crate::filter_bits::FilterBits;
use crate::flatten::Flatten;
use crate::ids::{Destination, LevelIndex, TableId};
use crate::prefix::PrefixSplit;
use crate::reason::Reason;
use serde::Serialize;
use std::fmt;

/// A plan, with its reason for the event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Merge or move tables within the tree.
    Compact(Compaction),
    /// Add or drop a level.
    Reshape(Reshape),
}

impl From<Compaction> for Plan {
    fn from(compaction: Compaction) -> Self {
        Plan::Compact(compaction)
    }
}

impl From<Reshape> for Plan {
    fn from(reshape: Reshape) -> Self {
        Plan::Reshape(reshape)
    }
}

/// Cuts of a memtable into the tables of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlushPlan {
    /// User keys at which a new table must start, strictly ascending.
    pub cuts: Vec<Vec<u8>>,
    /// Filter bits per distinct user key; `None` for the store's setting.
    pub filter_bits: Option<FilterBits>,
    /// The reason; empty if nothing is cut.
    pub reason: Reason,
}

/// A change of the levels themselves: whole runs are relabelled, nothing is rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reshape {
    /// Change of the levels.
    pub change: LevelChange,
    /// The reason.
    pub reason: Reason,
}

/// The level to add or drop. Runs keep their ids and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelChange {
    /// Adds an empty level at this index: that level and all below shift down by one.
    Add(LevelIndex),
    /// Drops the empty level at this index: all levels below shift up by one.
    Drop(LevelIndex),
}

impl LevelChange {
    /// The index of the level.
    #[must_use]
    pub fn level(self) -> usize {
        let (LevelChange::Add(level) | LevelChange::Drop(level)) = self;
        level
    }
}

impl fmt::Display for LevelChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelChange::Add(level) => write!(f, "level {level} is added"),
            LevelChange::Drop(level) => write!(f, "level {level} is dropped"),
        }
    }
}

/// A set of groups, which commit independently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The groups.
    pub groups: Vec<Group>,
    /// Order of the groups, and the number that may run at once.
    pub order: Order,
    /// The reason.
    pub reason: Reason,
}

impl Compaction {
    /// Groups that may run concurrently.
    #[must_use]
    pub fn parallel(groups: Vec<Group>, reason: impl Into<Reason>) -> Self {
        Compaction { groups, order: Order::Parallel, reason: reason.into() }
    }
}

/// The order in which the groups of a compaction run. Under each, they commit independently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Any number concurrently.
    #[default]
    Parallel,
    /// One after another, in this order, also after a restart.
    Sequential,
    /// At most this number concurrently, 2 or more; 1 is [`Order::Sequential`].
    AtMost(u8),
}

impl Order {
    /// Whether another group of a compaction may start, if `open` groups are not installed, of which
    /// `waiting` have not started.
    #[must_use]
    pub fn lets_begin(self, waiting: usize, open: usize) -> bool {
        match self {
            Order::Parallel => true,
            Order::Sequential => waiting == open,
            Order::AtMost(most) => open.saturating_sub(waiting) < usize::from(most),
        }
    }

    /// The place among `waiting` of the group that starts next, if one may: none starts while the one
    /// that it follows is `open`.
    pub fn next_group<'g>(
        self,
        mut waiting: impl ExactSizeIterator<Item = &'g Group>,
        open: impl ExactSizeIterator<Item = &'g Group> + Clone,
    ) -> Option<usize> {
        let may = self.lets_begin(waiting.len(), open.len());
        let is_open = |table| open.clone().any(|group| group.inputs.contains(&table));
        waiting.position(|group| !group.follows.is_some_and(is_open)).filter(|_| may)
    }
}

/// The inputs of all groups, in order.
#[must_use]
pub fn inputs_of(groups: &[Group]) -> Flatten<'_, Group, TableId> {
    Flatten::new(groups, |group| &group.inputs)
}

/// The unit of a compaction: it reads its inputs, writes into one run, and is installed as one edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The tables that are consumed.
    pub inputs: Vec<TableId>,
    /// The run that receives the outputs.
    pub destination: Destination,
    /// Merge or move.
    pub action: Action,
    /// An input of the group, earlier in the compaction, that this one follows: it starts once that
    /// one is installed, also after a restart, and is abandoned with it. `None` if it follows none.
    pub follows: Option<TableId>,
    /// User keys, strictly ascending, at which its merge is divided among workers. Each part writes
    /// tables of its own; all are installed together, once the slowest is done. Not stored: what a
    /// restart finds left is merged by one worker.
    pub parts: Vec<Vec<u8>>,
}

impl Group {
    /// A group that follows no other, for one worker.
    #[must_use]
    pub fn new(inputs: Vec<TableId>, destination: Destination, action: Action) -> Self {
        Group { inputs, destination, action, follows: None, parts: Vec::new() }
    }

    /// Whether it follows this group directly.
    #[must_use]
    pub fn is_after(&self, other: &Group) -> bool {
        self.follows.is_some_and(|table| other.inputs.contains(&table))
    }
}

/// The groups that fall with `first` if it is abandoned: it and all that follow it, directly or not.
#[must_use]
pub fn with_followers(first: &Group, groups: &[Group]) -> Vec<Group> {
    let mut falling = vec![first.clone()];
    for group in groups {
        if falling.iter().any(|before| group.is_after(before)) {
            falling.push(group.clone());
        }
    }
    falling
}

/// Way in which a group's outputs are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Merge the inputs. Outputs are cut before a user key that is at or above the next of `cuts`
    /// (sorted user keys), where `split` says, and when a table reaches `target_file_bytes`.
    Merge {
        /// User keys at which a new table must start, strictly ascending.
        cuts: Vec<Vec<u8>>,
        /// Size at which a table is closed, in bytes; `u64::MAX` for no bound.
        target_file_bytes: u64,
        /// Filter bits per distinct user key of the outputs; `None` for the store's setting.
        filter_bits: Option<FilterBits>,
        /// Rule by which a table ends between two prefixes; `None` if prefixes do not matter.
        split: Option<PrefixSplit>,
    },
    /// Relabel the inputs into the destination without rewriting them.
    Move,
}

impl Action {
    /// A merge whose outputs are cut by size alone, with the store's filters.
    #[must_use]
    pub fn merge(target_file_bytes: u64) -> Self {
        Action::Merge { cuts: Vec::new(), target_file_bytes, filter_bits: None, split: None }
    }

    /// A merge whose outputs are split between prefixes, up to this size, with the store's filters.
    #[must_use]
    pub fn split_merge(split: PrefixSplit, target_file_bytes: u64) -> Self {
        let split = Some(split);
        Action::Merge { cuts: Vec::new(), target_file_bytes, filter_bits: None, split }
    }

    /// User keys at which a new table must start.
    #[must_use]
    pub fn cuts(&self) -> &[Vec<u8>] {
        match self {
            Action::Merge { cuts, .. } => cuts,
            Action::Move => &[],
        }
    }
}
