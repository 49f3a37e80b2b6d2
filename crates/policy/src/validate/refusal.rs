//! Reasons for refusing a plan.

use serde::Serialize;
use terrane_types::{Destination, EditError, LevelChange, TableId};

/// Reason for refusing a plan. Groups are counted from 0 within the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "refusal", rename_all = "kebab-case")]
pub enum Refusal {
    /// The plan has no groups.
    #[error("the plan has no groups")]
    NoGroups,
    /// The cuts of a flush do not ascend strictly.
    #[error("the cuts of the flush do not ascend")]
    FlushCuts,
    /// The change of levels does not fit the shape.
    #[error("{why}")]
    Levels {
        /// Reason why it does not fit.
        why: EditError,
    },
    /// A running group writes into a level whose index would change.
    #[error("{change}, but a running group writes into {destination}")]
    Shifts {
        /// The change.
        change: LevelChange,
        /// Destination of the group.
        destination: Destination,
    },
    /// A group has no inputs.
    #[error("group {group} has no inputs")]
    NoInputs {
        /// The group.
        group: usize,
    },
    /// A group moves tables to the run that they are in. A policy that is asked again would plan the same.
    #[error("group {group} moves tables to {destination}, where they are")]
    Stays {
        /// The group.
        group: usize,
        /// Destination of the move.
        destination: Destination,
    },
    /// Cuts do not ascend strictly.
    #[error("the cuts of group {group} do not ascend")]
    Cuts {
        /// The group.
        group: usize,
    },
    /// The keys at which a merge is divided do not ascend strictly, or a move has such keys.
    #[error("the parts of group {group} do not ascend, or it moves tables")]
    Parts {
        /// The group.
        group: usize,
    },
    /// The destination is too deep.
    #[error("group {group} writes into level {level}: expected at most level {limit}")]
    TooDeep {
        /// The group.
        group: usize,
        /// The level it names.
        level: usize,
        /// The deepest level it may name.
        limit: usize,
    },
    /// The destination names a run of another level.
    #[error("group {group} writes into {destination}, but that run belongs to level {found}")]
    RunElsewhere {
        /// The group.
        group: usize,
        /// Destination of the group.
        destination: Destination,
        /// The level that has the run, or will have it.
        found: usize,
    },
    /// An input is not in the shape.
    #[error("group {group} reads {table}, which the shape does not hold")]
    Missing {
        /// The group.
        group: usize,
        /// The input.
        table: TableId,
    },
    /// An input already has a consumer, in this plan or in a running one.
    #[error("group {group} reads {table}, which is already an input of this or a running group")]
    Taken {
        /// The group.
        group: usize,
        /// The input.
        table: TableId,
    },
    /// A group follows the group of a table that is no input of an earlier one of the plan.
    #[error("group {group} follows that of {table}, which no earlier group of the plan reads")]
    Follows {
        /// The group.
        group: usize,
        /// The table whose group it follows.
        table: TableId,
    },
    /// An input would pass a table that overlaps it and stays where it is.
    #[error(
        "{input} would go from {from} to {destination} past {table} in {place}, which overlaps it \
         and is left out"
    )]
    Passes {
        /// The input.
        input: TableId,
        /// Its place.
        from: Destination,
        /// Destination of its group.
        destination: Destination,
        /// The table left out.
        table: TableId,
        /// The place of that table.
        place: Destination,
    },
    /// The output would overlap a table that stays in the destination run.
    #[error("the output of {input} and its group would overlap {table}, which stays in {place}")]
    Lands {
        /// An input of the group.
        input: TableId,
        /// The table left out.
        table: TableId,
        /// The run.
        place: Destination,
    },
    /// Two groups would reverse the order of overlapping inputs once both have committed.
    #[error(
        "{newer} is above {older} and overlaps it, but their groups write into {newer_to} and \
         {older_to}: their order would be reversed"
    )]
    Crosses {
        /// The input above.
        newer: TableId,
        /// Destination of its group.
        newer_to: Destination,
        /// The input below.
        older: TableId,
        /// Destination of its group.
        older_to: Destination,
    },
    /// Two outputs, of two groups or of one move, would overlap in one run.
    #[error("the outputs that hold {first} and {second} would overlap in {place}")]
    Collides {
        /// An input of the output that starts first.
        first: TableId,
        /// An input of the other.
        second: TableId,
        /// The run.
        place: Destination,
    },
}
