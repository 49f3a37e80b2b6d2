//! Pure compaction planners for an LSM tree.
//!
//! 1. A [`Shape`] is an immutable picture of one keyspace's tree: levels of runs of tables. An
//!    [`edit`] makes the next one.
//! 2. A [`Policy`] looks at a shape, at what is already running and at what was read and written
//!    ([`Planning`]), and proposes a [`Plan`]. It is chosen through [`PolicyOptions`]. One policy is
//!    one module that opens with its rule; the vertical ones share what they see (`view.rs`) and
//!    their steps (`vertical.rs`).
//! 3. The [`mod@validate`] module refuses every plan that could lose or resurrect data, so that a
//!    wrong policy can only waste work; [`fallback()`] is what is done instead. Both stand behind
//!    [`ask()`], by which whoever drives a policy gets its plans.
//! 4. A [`TombstoneRule`] says which tombstones a group's merge may drop.
//!
//! Nothing here knows of storage, threads or clocks: the same policy object drives the engine on
//! disk, in a browser and in the simulator.

pub mod asking;
pub mod components;
pub mod edit;
pub mod fallback;
pub mod histogram;
#[cfg(any(test, feature = "testing"))]
pub mod hostile;
pub mod lazy_leveled;
pub mod leveled;
pub mod leveled_full;
pub mod nested;
pub mod options;
pub mod parameter;
pub mod pick;
pub mod plan;
pub mod planning;
pub mod policy;
pub mod sequence;
pub mod shape;
pub mod slices;
pub mod sort;
pub mod sorted;
pub mod spelling;
pub mod spooky;
pub mod tiered;
pub mod tiered_full;
pub mod tombstones;
pub mod universal;
pub mod validate;

mod descend;
mod groups;
mod names;
#[cfg(test)]
mod tests;
mod vertical;
mod view;
mod words;

pub use asking::{Answer, READS_BETWEEN, ask};
pub use components::{components, hull};
pub use edit::{EditError, ShapeEdit, apply, change, reshape};
pub use fallback::fallback;
pub use histogram::{Histogram, HistogramPoint};
pub use lazy_leveled::LazyLeveled;
pub use leveled::Leveled;
pub use leveled_full::LeveledFull;
pub use nested::Nested;
pub use options::{BadOption, PolicyOptions, Preset, presets};
pub use parameter::{Parameter, Value};
pub use pick::Pick;
pub use plan::{
    Action, Compaction, Destination, FlushPlan, Group, LevelChange, Order, Plan, Reshape,
};
pub use planning::{KeySample, Observed, Planning, Running};
pub use policy::{Installed, MAX_STATE, Policy, Step};
pub use sequence::{Place, Sequence};
pub use shape::{
    Level, Placed, Run, RunId, RunTables, Shape, TableId, TableInfo, Tables, Totals, tables_of,
};
pub use slices::{Slice, Slicing, next_slice};
pub use sort::sort_by;
pub use spelling::Misspelt;
pub use spooky::Spooky;
pub use tiered::Tiered;
pub use tiered_full::TieredFull;
pub use tombstones::TombstoneRule;
pub use universal::Universal;
pub use validate::{Refusal, validate, validate_flush, validate_plan, validate_reshape};
