//! Native worker threads: a rayon pool runs the jobs, and a timer syncs what is buffered.
//!
//! The pool has one thread more than merges may use, so that a flush never waits behind a merge.

use super::{Driver, no_relief};
use crate::compaction::{Job, Progress};
use crate::db::{Engine, Wanted};
use crate::error::{Closed, Error, Result};
use crate::sync::{Condvar, Mutex, MutexGuard, Pool, lock, spawn, wait_at_most};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

/// Bytes of a slice, between which a job looks whether it must stop.
const SLICE_BYTES: u64 = 4 << 20;

/// Runs jobs on threads of its own.
pub struct ThreadDriver {
    pool: Option<Pool>,
    shared: Arc<Shared>,
    merges_max: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A job ended, or all must stop.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs under way that are not flushes.
    merges: usize,
    flushes: usize,
    /// Jobs that have ended.
    ended: u64,
    stopping: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The processors that background work may use: all but one, at least one, at most eight.
#[must_use]
pub fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    cores.saturating_sub(1).clamp(1, 8)
}

impl ThreadDriver {
    /// A driver that runs up to `merges_max` merges at once, and a flush beside them.
    ///
    /// If the system gives no threads, jobs run on the threads of those who wait for them.
    #[must_use]
    pub fn new(merges_max: usize) -> Self {
        let merges_max = merges_max.max(1);
        ThreadDriver { pool: Pool::new(merges_max + 1), shared: Arc::default(), merges_max }
    }

    /// Hands every job that is ready to the pool, within its bounds.
    fn pump(&self, engine: &Arc<Engine>) {
        while let Some(job) = begin(&self.shared, engine, self.merges_max) {
            let (shared, engine, merges_max) =
                (self.shared.clone(), engine.clone(), self.merges_max);
            match &self.pool {
                Some(pool) => pool.spawn(move || run_on(&shared, &engine, merges_max, job)),
                None => run_on(&shared, &engine, merges_max, job),
            }
        }
    }
}

/// Takes the next job within the bounds and counts it.
fn begin(shared: &Shared, engine: &Arc<Engine>, merges_max: usize) -> Option<Job> {
    let mut state = shared.state();
    if state.stopping {
        return None;
    }
    // One flush at a time is as fast as the medium takes it, and keeps the merges' threads free.
    let wanted = match (state.flushes == 0, state.merges < merges_max) {
        (true, true) => Wanted::Any,
        (true, false) => Wanted::Flush,
        (false, true) => Wanted::Other,
        (false, false) => return None,
    };
    let job = engine.next_job(wanted)?;
    if job.is_flush() {
        state.flushes += 1
    } else {
        state.merges += 1
    }
    Some(job)
}

/// Runs a job to its end, then goes on with whatever is ready.
fn run_on(shared: &Shared, engine: &Arc<Engine>, merges_max: usize, mut job: Job) {
    loop {
        let flush = job.is_flush();
        // A failure is kept by the engine, and the next write that waits hears of it.
        while !shared.state().stopping && matches!(job.run_for(SLICE_BYTES), Ok(Progress::More)) {}
        drop(job);
        let mut state = shared.state();
        if flush {
            state.flushes -= 1
        } else {
            state.merges -= 1
        }
        state.ended += 1;
        drop(state);
        shared.changed.notify_all();
        match begin(shared, engine, merges_max) {
            Some(next) => job = next,
            None => return,
        }
    }
}

/// Syncs what is buffered, every so often, until the store is gone.
fn sync_timer(shared: &Shared, engine: &Weak<Engine>, interval: Duration) {
    loop {
        let state = shared.state();
        if state.stopping {
            return;
        }
        let state = wait_at_most(&shared.changed, state, interval, |s| !s.stopping);
        if state.stopping {
            return;
        }
        drop(state);
        let Some(engine) = engine.upgrade() else { return };
        // A failed sync poisons the log, and the next write says so.
        let _ = engine.sync();
    }
}

impl Driver for ThreadDriver {
    fn start(&self, engine: &Arc<Engine>) {
        let interval = Duration::from_millis(engine.options().sync_interval_ms.max(1).into());
        let (shared, engine) = (self.shared.clone(), Arc::downgrade(engine));
        // Without the thread, buffered writes are synced when the log fills or the store closes.
        spawn("terrane-sync", move || sync_timer(&shared, &engine, interval));
    }

    fn wake(&self, engine: &Arc<Engine>) {
        if engine.work_waits() {
            self.pump(engine);
        }
    }

    fn relieve(&self, engine: &Arc<Engine>) -> Result<()> {
        let ended = self.shared.state().ended;
        self.pump(engine);
        let mut state = self.shared.state();
        while state.ended == ended {
            if state.stopping {
                return Err(Error::Closed(Closed::Store));
            }
            if state.merges + state.flushes == 0 {
                return Err(no_relief(engine));
            }
            state = self.shared.wait(state);
        }
        Ok(())
    }

    fn settle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        loop {
            if done(engine) {
                return Ok(());
            }
            let ended = self.shared.state().ended;
            self.pump(engine);
            let mut state = self.shared.state();
            if state.merges + state.flushes == 0 && state.ended == ended {
                return engine.failure().map_or(Ok(()), Err);
            }
            while state.ended == ended && state.merges + state.flushes > 0 {
                state = self.shared.wait(state);
            }
        }
    }

    fn stop(&self, _engine: &Arc<Engine>) {
        let mut state = self.shared.state();
        state.stopping = true;
        self.shared.changed.notify_all();
        while state.merges + state.flushes > 0 {
            state = self.shared.wait(state);
        }
    }
}
