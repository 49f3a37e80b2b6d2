//! Pure compaction planners for an LSM tree.
//!
//! 1. A [`Shape`] is an immutable picture of one keyspace's tree: levels of runs of tables.
//! 2. A [`Policy`] looks at a shape and at what is already running, and proposes a [`Plan`].
//! 3. The [`validate`] module refuses every plan that could lose or resurrect data, so that a wrong
//!    policy can only waste work.
//!
//! Nothing here knows of storage, threads or clocks: the same policy object drives the engine on
//! disk, in a browser and in the simulator.

pub mod plan;
pub mod policy;
pub mod shape;
pub mod validate;

mod tiered;

pub use plan::{Action, Compaction, Destination, Group, Plan};
pub use policy::{Policy, Running};
pub use shape::{Level, Run, RunId, Shape, TableId, TableInfo};
pub use tiered::Tiered;
