//! Executors run the engine's jobs: flushes, merges, removals and vacuuming.
//!
//! * [`ThreadExecutor`]: native worker threads, a store's own or those of a [`WorkerPool`] that several
//!   stores share; a flush never waits behind a merge.
//! * [`SliceExecutor`]: one thread, job slices between the owner's own work (a browser worker).
//! * `PoolExecutor`: threads for flushes and merges, beside an owner that has the files (a browser
//!   worker with a pool).
//! * [`SeededExecutor`]: one thread, jobs interleaved in an order that a seed decides (tests).
//!
//! An executor of your own implements [`Executor`]. It takes jobs from [`Engine::next_job`] and calls
//! [`Job::run_for`] until each is done:
//!
//! ```
//! # fn main() -> terrane::Result<()> {
//! use std::sync::Arc;
//! use terrane::executor::{Executor, JobFilter, Progress};
//! use terrane::storage::{Directory, vfs::MemoryVfs};
//! use terrane::{Db, Durability, Engine, ErrorKind, Options, Result};
//!
//! /// Runs every job at once, on the thread that wrote.
//! struct Inline;
//!
//! impl Inline {
//!     fn run_one(engine: &Arc<Engine>) -> Result<bool> {
//!         let Some(mut job) = engine.next_job(JobFilter::Any) else { return Ok(false) };
//!         while job.run_for(1 << 20)? == Progress::More {}
//!         Ok(true)
//!     }
//! }
//!
//! impl Executor for Inline {
//!     fn wake(&self, engine: &Arc<Engine>) {
//!         // The engine keeps the error of a failed job: the next write that stalls returns it.
//!         while Inline::run_one(engine).unwrap_or(false) {}
//!     }
//!
//!     fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
//!         match Inline::run_one(engine)? {
//!             true => Ok(()),
//!             false => Err(ErrorKind::Stalled(terrane::Stall::Level0).into()),
//!         }
//!     }
//!
//!     fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
//!         while !done(engine) && Inline::run_one(engine)? {}
//!         Ok(())
//!     }
//!
//!     fn stop(&self, _engine: &Arc<Engine>) {}
//! }
//!
//! let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new()))?);
//! let db = Db::open_storage(storage, Options::default(), Arc::new(Inline))?;
//! db.default_keyspace().put("key", "value", Durability::Sync)?;
//! db.flush()?;
//! assert_eq!(db.stats()?.keyspaces[0].memtable_entries, 0);
//! # Ok(())
//! # }
//! ```

#[cfg(not(target_arch = "wasm32"))]
mod pacing;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod panics;
#[cfg(not(target_arch = "wasm32"))]
mod per_kind;
#[cfg(any(target_feature = "atomics", test))]
mod pool;
#[cfg(not(target_arch = "wasm32"))]
mod rate_limiter;
mod seeded;
mod slices;
#[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
mod slowdown;
#[cfg(not(target_arch = "wasm32"))]
mod threads;
#[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
mod work_counters;
#[cfg(not(target_arch = "wasm32"))]
mod worker_pool;

#[doc(inline)]
pub use crate::jobs::Progress;
#[doc(inline)]
pub use crate::schedule::{Job, JobFilter};
#[cfg(any(target_feature = "atomics", test))]
pub use pool::{JobThreads, PoolExecutor};
pub use seeded::SeededExecutor;
pub use slices::SliceExecutor;
#[cfg(not(target_arch = "wasm32"))]
pub use threads::{ThreadExecutor, workers};
#[cfg(not(target_arch = "wasm32"))]
pub use worker_pool::WorkerPool;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Runs jobs. One executor serves one engine.
pub trait Executor: Send + Sync {
    /// Returns the number of merges that it may run at once, for planners; flushes are extra.
    fn workers(&self) -> usize {
        1
    }

    /// Called once, when the store is open.
    fn start(&self, _engine: &Arc<Engine>) {}

    /// Called when jobs may be ready.
    fn wake(&self, engine: &Arc<Engine>);

    /// Called after each write of `bytes`: jobs may be ready, and the writer may be slowed down.
    fn wrote(&self, engine: &Arc<Engine>, _bytes: u64) {
        self.wake(engine);
    }

    /// Called by a writer that must wait: returns when jobs have made progress.
    ///
    /// # Errors
    /// What made the jobs fail, or [`ErrorKind::Stalled`] where none is left to run.
    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()>;

    /// Runs jobs, or waits for them, until `done` or nothing is left to do.
    ///
    /// # Errors
    /// What made a job fail.
    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()>;

    /// Runs about `bytes` of work on this thread, where the executor leaves that to its owner;
    /// returns whether there is more to do.
    ///
    /// # Errors
    /// What made a job fail.
    fn run(&self, _engine: &Arc<Engine>, _bytes: u64) -> Result<bool> {
        Ok(false)
    }

    /// Called before [`Executor::stop`]: lets running jobs finish for at most `_most`; no new one starts.
    #[cfg(not(target_arch = "wasm32"))]
    fn drain(&self, _engine: &Arc<Engine>, _most: std::time::Duration) {}

    /// Returns the finished and current work of its workers.
    #[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
    fn background(&self) -> crate::stats::BackgroundStats {
        crate::stats::BackgroundStats::default()
    }

    /// Abandons all jobs. Nothing that was promised depends on them.
    fn stop(&self, engine: &Arc<Engine>);
}

/// The error of a writer that waits while no job can help.
fn no_relief(engine: &Engine) -> Error {
    engine.failure().unwrap_or_else(|| ErrorKind::Stalled(crate::error::Stall::Level0).into())
}
