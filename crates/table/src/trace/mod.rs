//! Steps of reads, and their cost.
//!
//! Every read reports to a [`ReadTracer`], which counts ([`ReadCounts`]) and, if asked to, keeps each
//! step for a [`Trace`].

mod counts;
mod read_tracer;
#[cfg_attr(all(target_arch = "wasm32", not(feature = "all")), path = "no_recorder.rs")]
mod recorder;
mod steps;

pub use counts::{ReadCounters, ReadCounts};
pub use read_tracer::{Origin, ReadTracer, Verdict};
pub use steps::{Step, Trace};
