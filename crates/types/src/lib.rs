//! The types that every other crate of Terrane shares; this crate depends on none of them.
//!
//! * [`ids`]: keyspaces, tables, runs, and places in a tree.
//! * [`TableInfo`] is what a planner knows of a table, with its [`Histogram`] of keys and its
//!   [`FilterBits`].
//! * [`Shape`] is an immutable picture of one keyspace's tree, made of [`Level`]s and [`Run`]s, with
//!   [`Totals`]. A [`ShapeEdit`] makes the next one.
//! * [`plan`] has the nouns of compaction: groups, destinations, actions, changes of levels; a [`Reason`]
//!   says why, in words and numbers.
//! * [`resolve`] is the rule of versions: what a reader sees of a key, and what a merge keeps.
//! * `Sequence`, `SharedMap`, `vec_map`, `sort_by` and `Flatten` are the collections and algorithms under
//!   these. A browser downloads the code, so each of them exists once instead of once per type. They and `json`,
//!   by which a browser gets any of it, are for the crates of this repository.
//! * [`Corruption`] and [`Stall`] are what errors and events both report.
//!
//! Nothing here knows about storage, threads or clocks.

pub mod corruption;
pub mod edit;
pub mod filter_bits;
#[doc(hidden)]
pub mod flatten;
pub mod histogram;
pub mod ids;
#[doc(hidden)]
pub mod json;
pub mod plan;
pub mod prefix;
pub mod range_deletes;
#[doc(hidden)]
pub mod ratio;
pub mod reason;
pub mod resolve;
pub mod run;
#[doc(hidden)]
pub mod sequence;
pub mod shape;
#[doc(hidden)]
pub mod shared_map;
#[doc(hidden)]
pub mod sort;
pub mod stall;
#[doc(hidden)]
pub mod table_id_set;
pub mod table_info;
pub mod totals;
#[doc(hidden)]
pub mod vec_map;

#[cfg(test)]
mod tests;

pub use corruption::Corruption;
pub use edit::{EditError, ShapeEdit, apply, change, reshape};
pub use filter_bits::FilterBits;
#[doc(hidden)]
pub use flatten::Flatten;
pub use histogram::{Histogram, HistogramPoint};
pub use ids::{Destination, KeyspaceId, LevelIndex, Millis, RunId, Seq, TableId};
pub use plan::{
    Action, Compaction, FlushPlan, Group, LevelChange, Order, Plan, Reshape, inputs_of,
    with_followers,
};
pub use prefix::{PrefixBuilder, PrefixRule, PrefixSet, PrefixSplit, Prefixes};
#[doc(hidden)]
pub use ratio::mul_div;
pub use reason::{Effect, Of, Quantity, Reason, Relation, Term, Unit};
pub use run::{Run, RunTables, Tables, tables_of};
#[doc(hidden)]
pub use sequence::{Place, Sequence};
pub use shape::{Level, MAX_LEVELS, Placed, Shape};
#[doc(hidden)]
pub use shared_map::SharedMap;
#[doc(hidden)]
pub use sort::sort_by;
pub use stall::Stall;
#[doc(hidden)]
pub use table_id_set::TableIdSet;
pub use table_info::{Kept, TableInfo, depth, key_range};
pub use totals::Totals;
#[doc(hidden)]
pub use vec_map::{VecMap, VecSet};
