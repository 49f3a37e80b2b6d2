//! Drivers run the engine's jobs.
//!
//! * [`ThreadDriver`]: native worker threads; a flush never waits behind a merge.
//! * [`SliceDriver`]: one thread, job slices between the owner's own work (a browser worker).
//! * [`SeededDriver`]: one thread, jobs interleaved in an order that a seed decides (tests).

mod pace;
mod seeded;
mod slices;
#[cfg(not(target_arch = "wasm32"))]
mod threads;

pub use seeded::SeededDriver;
pub use slices::SliceDriver;
#[cfg(not(target_arch = "wasm32"))]
pub use threads::{ThreadDriver, workers};

use crate::db::Engine;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Runs jobs. One driver serves one engine.
pub trait Driver: Send + Sync {
    /// Called once, when the store is open.
    fn start(&self, _engine: &Arc<Engine>) {}

    /// Called after each write: jobs may be ready.
    fn wake(&self, engine: &Arc<Engine>);

    /// Called by a writer that must wait: returns when jobs have made progress.
    ///
    /// # Errors
    /// What made the jobs fail, or [`Error::Stalled`] where none is left to run.
    fn relieve(&self, engine: &Arc<Engine>) -> Result<()>;

    /// Runs jobs, or waits for them, until `done` or nothing is left to do.
    ///
    /// # Errors
    /// What made a job fail.
    fn settle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()>;

    /// Runs about `bytes` of work on this thread, where the driver leaves that to its owner;
    /// returns whether more waits.
    ///
    /// # Errors
    /// What made a job fail.
    fn run(&self, _engine: &Arc<Engine>, _bytes: u64) -> Result<bool> {
        Ok(false)
    }

    /// Abandons all jobs. Nothing that was promised depends on them.
    fn stop(&self, engine: &Arc<Engine>);
}

/// What a writer is told that waits while no job can help.
fn no_relief(engine: &Engine) -> Error {
    engine.failure().unwrap_or(Error::Stalled(crate::error::Stall::Level0))
}
