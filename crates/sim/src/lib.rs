//! A discrete-event simulator of an LSM tree.
//!
//! The compaction policies, the validator and the tombstone rule are the real ones
//! (`terrane-policy`). Everything else is as simple as it can be while still measuring what a policy
//! costs: keys are exact, values are sizes, time is virtual, and nothing is stored.
//!
//! * [`Config`] is the input, [`Simulation`] runs it, [`Report`] is the result.
//! * `terrane-workload` has what the application does; `clients`, `writes` - its threads.
//! * `memory`, `tree`, `merge`, `entry`, `bit_set` - the store's contents.
//! * `schedule` - planning. `job`, `share`, `background`, `pause`, `install` - flushes and merges.
//! * `guards` - a policy that the simulator alone has.
//! * `cores`, `device`, `flash`, `cache`, `reads`, `clock` - their cost in time and flash wear.
//! * `explain` - the path of one read, step by step.
//! * `meter`, `report`, `trace`, `operations` - measurements and events.
//!
//! The same configuration gives the same report, byte for byte. Nothing reads a clock.
//!
//! ```
//! use terrane_sim::{Config, Simulation, Workload};
//!
//! let workload = Workload { load: 10_000, ..Workload::default() };
//! let report = Simulation::new(Config { buffer_bytes: 1 << 20, workload, ..Config::default() })?
//!     .run()?;
//! assert!(report.whole.write_amp.is_some_and(|amp| amp >= 1.0));
//! # Ok::<(), terrane_sim::SimulationError>(())
//! ```

pub mod advice;
mod background;
mod bit_set;
mod cache;
mod clients;
mod clock;
mod config;
mod cores;
mod device;
mod entry;
mod explain;
mod flash;
mod guards;
mod install;
mod job;
mod memory;
mod merge;
mod meter;
mod operations;
mod page_cache;
mod pause;
mod reads;
mod report;
mod schedule;
mod seeks;
mod share;
mod simulation;
#[cfg(test)]
mod tests;
mod trace;
mod tree;
mod writes;

pub use config::{Config, SimulationError};
pub use device::{Device, DevicePreset};
pub use explain::{ReadPath, ReadStep};
pub use flash::FlashOptions;
pub use guards::Guards;
pub use report::{
    Figures, LevelFigures, LevelReport, MergeFigures, PhaseReport, Report, StallSeconds, Window,
};
pub use seeks::Seeks;
pub use simulation::{Listener, Simulation};
pub use terrane_workload::{
    Arrivals, Choice, Clients, Distribution, KeyOrder, KeyPrefixes, Kind, Latencies, Latency, Mix,
    Operation, Operations, Phase, Workload, WorkloadPreset,
};
pub use trace::Header;
