//! Executors run the engine's jobs: flushes, merges, removals and vacuuming.
//!
//! * [`ThreadExecutor`]: native worker threads, a store's own or those of a [`WorkerPool`] that several
//!   stores share; a flush never waits behind a merge.
//! * [`SliceExecutor`]: one thread, job slices between the owner's own work (a browser worker).
//! * `PoolExecutor`: threads for flushes and merges, beside an owner that has the files (a browser
//!   worker with a pool).
//! * [`SeededExecutor`]: one thread, jobs interleaved in an order that a seed decides (tests).

pub(crate) mod background_stats;
#[cfg(any(target_feature = "atomics", test))]
mod pool;
mod seeded;
mod slices;
mod slowdown;
mod threads;
mod work_counters;

#[doc(inline)]
pub use crate::jobs::Progress;
#[doc(inline)]
pub use crate::schedule::{Job, JobFilter};
#[cfg(any(target_feature = "atomics", test))]
pub use pool::{JobThreads, PoolExecutor};
pub use seeded::SeededExecutor;
pub use slices::SliceExecutor;
pub(crate) use threads::catch;
pub use threads::{ThreadExecutor, WorkerPool};

use crate::engine::{Engine, StoreState};
use crate::error::{Error, ErrorKind, Result};
use crate::options::default_workers;
use background_stats::BackgroundStats;
use std::sync::Arc;

/// Runs the jobs of one store. The executors of this module implement it.
pub trait Executor: Send + Sync {
    /// Returns the number of merges that it may run at once, for planners; flushes are extra.
    #[doc(hidden)]
    fn workers(&self) -> usize {
        1
    }

    /// Called once, when the store is open.
    #[doc(hidden)]
    fn start(&self, _engine: &Arc<Engine>) {}

    /// Called when jobs may be ready.
    #[doc(hidden)]
    fn wake(&self, engine: &Arc<Engine>);

    /// Called after each write of `bytes`: jobs may be ready, and the writer may be slowed down.
    #[doc(hidden)]
    fn wrote(&self, engine: &Arc<Engine>, _bytes: u64) {
        self.wake(engine);
    }

    /// Whether a write of `_bytes` would be slowed down now.
    #[doc(hidden)]
    fn would_slow(&self, _engine: &Arc<Engine>, _bytes: u64) -> bool {
        false
    }

    /// Called by a writer that must wait: returns when jobs have made progress.
    ///
    /// # Errors
    /// What made the jobs fail, or [`ErrorKind::Stalled`] where none is left to run.
    #[doc(hidden)]
    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()>;

    /// Runs jobs, or waits for them, until `done` or nothing is left to do.
    ///
    /// # Errors
    /// What made a job fail.
    #[doc(hidden)]
    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()>;

    /// Runs about `bytes` of work on this thread, where the executor leaves that to its owner;
    /// returns whether there is more to do.
    ///
    /// # Errors
    /// What made a job fail.
    #[doc(hidden)]
    fn run(&self, _engine: &Arc<Engine>, _bytes: u64) -> Result<bool> {
        Ok(false)
    }

    /// Called before [`Executor::stop`]: lets running jobs finish for at most `_most`; no new one starts.
    #[doc(hidden)]
    fn drain(&self, _engine: &Arc<Engine>, _most: std::time::Duration) {}

    /// Returns the finished and current work of its workers.
    #[doc(hidden)]
    fn background(&self) -> BackgroundStats {
        BackgroundStats::default()
    }

    /// Abandons all jobs. Nothing that was promised depends on them.
    #[doc(hidden)]
    fn stop(&self, engine: &Arc<Engine>);
}

/// Returns the number of processors that background work may use: all but one, at least one, at most eight.
#[must_use]
pub fn workers() -> usize {
    default_workers()
}

/// Runs jobs, or waits for them, until `done` or nothing is left to do. A failure that a stalled write has taken, or
/// that another call has cleared, leaves work undone: the work is tried again.
///
/// # Errors
/// The failure of a job.
pub(crate) fn wait_until_idle(
    executor: &dyn Executor,
    engine: &Arc<Engine>,
    done: &dyn Fn(&Engine) -> bool,
) -> Result<()> {
    loop {
        let retries = engine.state.lock().health.retries();
        executor.wait_until_idle(engine, done)?;
        if done(engine) || engine.state.lock().health.retries() == retries {
            return Ok(());
        }
    }
}

/// The error of a writer that waits while no job can help.
fn no_relief(store: &StoreState) -> Error {
    store.failure().unwrap_or_else(|| ErrorKind::Stalled(crate::error::Stall::Level0).into())
}
