//! Pure compaction planners for an LSM tree.
//!
//! 1. A [`Shape`] is an immutable picture of one keyspace's tree: levels of runs of tables. An
//!    [`edit`] makes the next one.
//! 2. A [`Policy`] looks at a shape, at what is already running and at what was read and written
//!    ([`PlanContext`]), and proposes a [`Plan`]. It is chosen through [`PolicyOptions`]. One policy is
//!    one module that opens with its rule; the vertical ones share what they see (`view.rs`) and
//!    their steps (`vertical.rs`).
//! 3. The [`mod@validate`] module refuses every plan that could lose or resurrect data, so that a
//!    wrong policy can only waste work; [`fallback()`] is what is done instead. Both stand behind
//!    [`propose()`], by which whoever drives a policy gets its plans.
//! 4. A [`TombstoneRule`] says which tombstones a group's merge may drop.
//!
//! Nothing here knows of storage, threads or clocks: the same policy object drives the engine on
//! disk, in a browser and in the simulator.

#[cfg(any(test, feature = "testing"))]
pub mod adversarial;
pub mod components;
pub mod context;
pub mod edit;
pub mod fallback;
pub mod flatten;
pub mod histogram;
pub mod lazy_leveled;
pub mod leveled;
pub mod leveled_full;
pub mod options;
pub mod parameter;
pub mod parse;
pub mod pick;
pub mod plan;
pub mod policy;
pub mod propose;
pub mod sequence;
pub mod shape;
pub mod slices;
pub mod sort;
pub mod spooky;
pub mod tiered;
pub mod tiered_full;
pub mod tombstones;
pub mod universal;
pub mod validate;
pub mod vec_map;

mod format;
mod group_builder;
mod table_id_set;
#[cfg(test)]
mod tests;
mod trivial_move;
mod vertical;
mod view;

pub use components::{components, key_range};
pub use context::{KeySample, Observed, PlanContext, Running};
pub use edit::{EditError, ShapeEdit, apply, change, reshape};
pub use fallback::fallback;
pub use flatten::Flatten;
pub use histogram::{Histogram, HistogramPoint};
pub use lazy_leveled::LazyLeveled;
pub use leveled::Leveled;
pub use leveled_full::LeveledFull;
pub use options::{BadOption, PolicyOptions, Preset, presets};
pub use parameter::{Parameter, Value};
pub use parse::ParseError;
pub use pick::Pick;
pub use plan::{
    Action, Compaction, Destination, FlushPlan, Group, LevelChange, Order, Plan, Reshape,
};
pub use policy::{Installed, MAX_STATE, Policy, Step};
pub use propose::{Proposal, READS_BETWEEN, propose};
pub use sequence::{Place, Sequence};
pub use shape::{
    Level, Placed, Run, RunId, RunTables, Shape, TableId, TableInfo, Tables, Totals, tables_of,
};
pub use slices::{Slice, Slicing, next_slice};
pub use sort::sort_by;
pub use spooky::Spooky;
pub use tiered::Tiered;
pub use tiered_full::TieredFull;
pub use tombstones::TombstoneRule;
pub use universal::Universal;
pub use validate::{Refusal, validate, validate_flush, validate_plan, validate_reshape};
