//! Pure compaction planners for an LSM tree.
//!
//! 1. A [`Shape`] is an immutable picture of one keyspace's tree: levels of runs of tables. It and the
//!    other nouns are those of `terrane_types`.
//! 2. A [`Policy`] looks at a shape, at running compactions and at the observed reads and writes
//!    ([`PlanContext`]), and proposes a [`Plan`]. [`PolicyOptions`] selects one. Each of the
//!    [`policies`] is a module whose head states its rule; they share a [`toolkit`].
//! 3. The [`mod@validate`] module refuses every plan that could lose or resurrect data, so a wrong
//!    policy can only waste work; [`fallback()`] makes a legal plan instead. Callers use
//!    [`propose()`], which combines the three.
//! 4. A [`TombstoneRule`] decides which tombstones a group's merge may drop.
//! 5. An [`Event`](event::Event) reports each step that the engine or the simulator takes. `operations` has what
//!    events report of sampled gets and writes.
//!
//! Nothing here knows about storage, threads or clocks: the same policy object drives the engine on
//! disk, in a browser and in the simulator.

pub mod context;
pub mod event;
pub mod fallback;
#[cfg(feature = "all")]
pub mod operations;
pub mod options;
pub mod policies;
pub mod policy;
pub mod propose;
pub mod reclaim;
pub mod slices;
pub mod status;
pub mod tombstones;
#[cfg_attr(not(feature = "all"), expect(dead_code, reason = "policies that are not linked use it"))]
pub mod toolkit;
pub mod validate;

/// Whether this build has every policy, and what changes the plans of any.
const ALL: bool = cfg!(feature = "all");

#[cfg(test)]
mod tests;

pub use context::{KeySample, Observed, PlanContext, Running};
pub use fallback::fallback;
pub use options::BadOption;
pub use options::parse::ParseError;
pub use options::presets::{Preset, presets};
#[cfg(feature = "all")]
pub use policies::vertiorizon::MergeChoice;
pub use policies::*;
pub use policy::{Installed, MAX_STATE, Policy, Step, level0_waiting};
pub use propose::{Proposal, READS_BETWEEN, propose};
pub use reclaim::{Hidden, drop_hidden, reclaim, reclaimable_at};
pub use slices::{Slice, Slicing, next_slice};
pub use status::{Capacity, Decision, Fact, PolicyStatus, pending_compaction_bytes};
pub use tombstones::TombstoneRule;
pub use toolkit::filters::Filters;
pub use toolkit::horizontal::MergePolicy;
pub use toolkit::parameter::{Parameter, Value};
pub use toolkit::partition::options::*;
pub use toolkit::pick::Pick;
#[doc(hidden)]
pub use toolkit::refine::{Refine, refined};
pub use toolkit::shared_merge::parting_keys;
pub use validate::refusal::Refusal;
pub use validate::{validate, validate_flush, validate_plan, validate_reshape};

// What a policy reads and proposes, so that a policy's author needs this crate only.
#[doc(inline)]
pub use terrane_types::{
    Action, Compaction, Destination, EditError, Effect, FilterBits, FlushPlan, Group, Histogram,
    HistogramPoint, Kept, Level, LevelChange, MAX_LEVELS, Of, Order, Placed, Plan, PrefixBuilder,
    PrefixRule, PrefixSet, PrefixSplit, Prefixes, Quantity, Reason, Relation, Reshape, Run, RunId,
    RunTables, Shape, ShapeEdit, TableId, TableInfo, Tables, Term, Totals, Unit, apply, change,
    key_range, reshape, tables_of, with_followers,
};
#[doc(hidden)]
pub use terrane_types::{Flatten, Place, Sequence, sort_by};
