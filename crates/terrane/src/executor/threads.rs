//! Native worker threads: a pool runs the jobs, and a timer syncs what is buffered.
//!
//! 1. Whoever makes work for jobs has workers look for it, one of each kind: only workers call policies, so
//!    no writer waits for that.
//! 2. A worker looks for a job of its kind. When it has one, others look for more, and it runs its own;
//!    then another looks in its place, behind those of other stores in the pool's queue.
//! 3. Workers of each kind run at once: one for flushes, one for removals, and the pool's number for merges and
//!    policies. Each kind has threads of its own (`worker_pool`): a flush never waits behind a merge, or behind a
//!    policy.
//! 4. Writers slow down before they stall (`pacing`), and jobs work within the bound of bytes a second
//!    (`rate_limiter`).
//! 5. The last worker to leave has seen that no work came since a search of every kind started. A worker counts
//!    until it has queued others and ended a slowdown: a store without workers is idle. The timer starts workers
//!    for work that woke nobody: a dropped table becomes removable when its last reader ends.

mod pacing;
mod panics;
mod per_kind;
mod rate_limiter;
mod worker_pool;

pub(crate) use panics::catch;
pub use worker_pool::WorkerPool;

use super::background_stats::BackgroundStats;
use super::work_counters::WorkCounters;
use super::{Executor, no_relief};
use crate::engine::{Background, Engine, Wait};
use crate::error::{Closed, Result};
use crate::jobs::Progress;
use crate::schedule;
use crate::schedule::{Job, JobFilter};
use crate::sync::{Condvar, Mutex, MutexGuard, lock};
use pacing::{Pacing, Pause};
use per_kind::PerKind;
use rate_limiter::RateLimiter;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;
use terrane_platform::threads::{Instant, spawn, wait_at_most};
use worker_pool::Task;

/// Bytes of a slice, between which a job looks whether it must stop, and is held to its rate.
const SLICE_BYTES: u64 = 256 << 10;
/// The longest that a job waits for its rate before it looks what that is.
const RATE_WAIT_MAX: Duration = Duration::from_millis(100);
/// The longest that a write waits for jobs before it checks its stall again. The job that ended the stall may have
/// finished just before the write started to wait, and a worker in a long merge or policy finishes none for hours.
const STALL_WAIT_MAX: Duration = Duration::from_millis(100);

/// Runs the jobs of one store on threads: its own, or those of a pool that several stores share.
pub struct ThreadExecutor {
    shared: Arc<Shared>,
}

struct Shared {
    pool: WorkerPool,
    pacing: Pacing,
    counters: PerKind<WorkCounters>,
    state: Mutex<State>,
    began: Instant,
    /// A job ended or did what a write waits for, a worker went, or all must stop.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    kinds: PerKind<Workers>,
    /// Workers of all kinds, including those in the pool's queue and those that have left but still run.
    workers: usize,
    /// Jobs that have ended.
    ended: u64,
    limiter: RateLimiter,
    /// The rate that it was asked with last.
    rate: u64,
    /// No job starts.
    draining: bool,
    /// Those that run stop.
    stopping: bool,
}

/// The workers for jobs of one kind.
#[derive(Default)]
struct Workers {
    /// All, and the one in the pool's queue among them.
    count: usize,
    queued: bool,
    /// Whether work came when there were as many as may be: one that finds nothing looks again.
    missed: bool,
}

/// Kinds of jobs that have workers of their own.
const KINDS: [JobFilter; 3] = [JobFilter::Flush, JobFilter::Removal, JobFilter::Other];

impl State {
    /// The workers for jobs of a kind.
    fn of(&mut self, kind: JobFilter) -> &mut Workers {
        self.kinds.of_mut(kind)
    }

    /// Returns whether to queue a worker of a kind, which counts from then on: not if one is, or if there are as
    /// many as may be.
    fn queues(&mut self, kind: JobFilter, merges_max: usize) -> bool {
        // One flush at a time is as fast as the file system takes it.
        let most = if kind == JobFilter::Other { merges_max } else { 1 };
        let ends = self.draining;
        let workers = self.of(kind);
        workers.missed |= workers.count >= most;
        if ends || workers.queued || workers.count >= most {
            return false;
        }
        workers.queued = true;
        workers.count += 1;
        self.workers += 1;
        true
    }

    /// Counts out a worker that looks for no further job.
    fn leave(&mut self, kind: JobFilter) {
        self.of(kind).count -= 1;
    }

    /// Whether a worker looks for a job, runs one, or is queued.
    fn has_workers(&mut self) -> bool {
        KINDS.into_iter().any(|kind| self.of(kind).count > 0)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops new jobs from starting; if `stopping`, also cancels running ones.
    fn end(self: &Arc<Self>, stopping: bool) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.draining = true;
        // Another call may have them stop already.
        state.stopping |= stopping;
        self.changed.notify_all();
        state.workers -= self.pool.take_back(self.id());
        state
    }

    /// Queues a worker of each kind.
    fn pump(self: &Arc<Self>, engine: &Arc<Engine>) {
        engine.background.search_begins();
        for kind in KINDS {
            let mut state = self.state();
            let alone = state.queues(kind, self.pool.merges_max()) && !self.queue(engine, kind);
            drop(state);
            if alone {
                self.work(engine, kind);
            }
        }
    }

    /// Queues a worker that counts already, under the lock of the state; returns whether there is a thread
    /// for it.
    fn queue(self: &Arc<Self>, engine: &Arc<Engine>, kind: JobFilter) -> bool {
        let (shared, engine) = (self.clone(), engine.clone());
        let run = Box::new(move || shared.work(&engine, kind));
        self.pool.spawn(kind, Task { owner: self.id(), run })
    }

    /// Distinguishes its tasks from those of other stores.
    fn id(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// Looks for a job and runs it, and queues again.
    fn work(self: &Arc<Self>, engine: &Arc<Engine>, kind: JobFilter) {
        self.state().of(kind).queued = false;
        while let Some(job) = self.next_job(engine, kind) {
            self.pump(engine);
            self.run(engine, kind, job);
            let mut state = self.state();
            state.ended += 1;
            if state.draining || state.of(kind).queued {
                state.leave(kind);
                break;
            }
            let queued = self.queue(engine, kind);
            state.of(kind).queued = queued;
            // This worker still runs, beside the one that takes its place.
            state.workers += usize::from(queued);
            drop(state);
            self.changed.notify_all();
            if queued {
                break;
            }
        }
        self.changed.notify_all();
        if engine.background.work_waits() {
            self.pump(engine);
        }
        self.relieve(engine);
        // Last of all: whoever waits for an idle store finds no worker that still runs.
        self.state().workers -= 1;
        self.changed.notify_all();
    }

    /// Ends a slowdown that is no longer needed, even if no write follows.
    fn relieve(&self, engine: &Engine) {
        let is_idle = !self.state().has_workers();
        let relieve = || self.pacing.relieve(engine, is_idle);
        if catch(&engine.state, &engine.jobs.events, || "end of a slowdown".to_owned(), relieve)
            == Some(true)
        {
            // Under the lock, under which a write looks before it waits.
            let _state = self.state();
            self.changed.notify_all();
        }
    }

    /// Takes the next job of a kind. Without one, the worker is gone.
    fn next_job(&self, engine: &Arc<Engine>, kind: JobFilter) -> Option<Job> {
        while !self.state().draining {
            let search = || schedule::next_job(engine, kind);
            let job =
                catch(&engine.state, &engine.jobs.events, || "search for a job".to_owned(), search)
                    .flatten();
            if job.is_some() {
                return job;
            }
            let mut state = self.state();
            if !std::mem::take(&mut state.of(kind).missed) {
                state.leave(kind);
                return None;
            }
        }
        self.state().leave(kind);
        None
    }

    /// Runs a job to its end.
    fn run(&self, engine: &Arc<Engine>, kind: JobFilter, mut job: Job) {
        let (name, counters) = (job.name(), self.counters.of(kind));
        counters.begin();
        catch(
            &engine.state,
            &engine.jobs.events,
            || name.clone(),
            || while self.slice(engine, kind, &mut job) {},
        );
        catch(&engine.state, &engine.jobs.events, || format!("end of the {name}"), || drop(job));
        counters.end();
    }

    /// Runs a slice of a job; returns whether there is another.
    fn slice(&self, engine: &Engine, kind: JobFilter, job: &mut Job) -> bool {
        if !self.waits_for_rate(&engine.background, job) {
            return false;
        }
        let (began, moves_bytes) = (Instant::now(), job.moves_bytes());
        // The engine keeps the error, and the next write that stalls returns it.
        let goes_on = matches!(job.run_for(SLICE_BYTES), Ok(Progress::More));
        let micros = micros_since(began);
        self.counters.of(kind).work(micros);
        self.pool.count_busy(micros);
        if moves_bytes && self.pacing.work(SLICE_BYTES) {
            // Under the lock, under which a write looks before it waits.
            let _state = self.state();
            self.changed.notify_all();
        }
        goes_on
    }

    /// Waits until the job may run a slice; returns whether it may, or must stop.
    fn waits_for_rate(&self, background: &Background, job: &Job) -> bool {
        let mut state = self.state();
        while !state.stopping {
            let rate = background.bytes_per_second();
            if std::mem::replace(&mut state.rate, rate) != rate {
                state.limiter.restart();
            }
            if rate == 0 || !job.moves_bytes() {
                return true;
            }
            let now = micros_since(self.began);
            match state.limiter.request(now, rate, job.is_flush(), SLICE_BYTES) {
                Ok(()) => return true,
                Err(free) => {
                    let wait = Duration::from_micros(free - now).min(RATE_WAIT_MAX);
                    state = wait_at_most(&self.changed, state, wait, |state| !state.stopping);
                }
            }
        }
        false
    }

    /// Pauses a write of `bytes`, if it must slow down.
    fn pace(&self, engine: &Engine, bytes: u64) {
        let Some(Pause { reason, most }) = self.pacing.pay(engine, bytes) else { return };
        let waits =
            |state: &mut State| self.pacing.is_behind() && state.has_workers() && !state.stopping;
        if waits(&mut self.state()) {
            self.pacing.begin(engine, reason);
            let wait = || drop(wait_at_most(&self.changed, self.state(), most, waits));
            engine.counters.waits.time(Wait::Slowdown(reason), wait);
        }
    }
}

impl ThreadExecutor {
    /// An executor that runs up to `merges_max` merges at once, and besides them a flush and a removal, on
    /// threads of its own.
    ///
    /// If the system gives no threads, jobs run on the threads of those who wait for them.
    #[must_use]
    pub fn new(merges_max: usize) -> Self {
        ThreadExecutor::in_pool(&WorkerPool::with(merges_max, 1))
    }

    /// An executor that runs jobs in a pool, which other stores may share: each has an executor of its own.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// use std::sync::Arc;
    /// use terrane::executor::{ThreadExecutor, WorkerPool};
    /// use terrane::{Db, Options};
    ///
    /// let pool = WorkerPool::new(2);
    /// let open = |name: &str| {
    ///     let executor = Arc::new(ThreadExecutor::in_pool(&pool));
    ///     Db::open_with(dir.path().join(name), Options::default(), executor)
    /// };
    /// let (users, orders) = (open("users")?, open("orders")?);
    /// # users.close()?;
    /// # orders.close()
    /// # }
    /// ```
    #[must_use]
    pub fn in_pool(pool: &WorkerPool) -> Self {
        ThreadExecutor {
            shared: Arc::new(Shared {
                pool: pool.clone(),
                pacing: Pacing::default(),
                counters: PerKind::default(),
                state: Mutex::default(),
                began: Instant::now(),
                changed: Condvar::new(),
            }),
        }
    }
}

/// The time since a moment, in microseconds.
fn micros_since(began: Instant) -> u64 {
    began.elapsed().as_micros().try_into().unwrap_or(u64::MAX)
}

/// Syncs what is buffered, every so often, until the store is gone.
fn sync_timer(shared: &Arc<Shared>, engine: &Weak<Engine>, interval: Duration) {
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
        let synced = catch(
            &engine.state,
            &engine.jobs.events,
            || "timed sync of the log".to_owned(),
            || engine.sync(),
        );
        if synced.is_none() {
            return;
        }
        if engine.background.work_waits() {
            shared.pump(&engine);
        }
    }
}

impl Executor for ThreadExecutor {
    fn workers(&self) -> usize {
        self.shared.pool.merges_max()
    }

    fn start(&self, engine: &Arc<Engine>) {
        let began = self.shared.began;
        engine.set_clock(move || micros_since(began));
        let interval = engine.options.sync_interval.max(Duration::from_millis(1));
        let (shared, engine) = (self.shared.clone(), Arc::downgrade(engine));
        // Without the thread, buffered writes are synced when the log fills or the store closes.
        spawn("terrane-sync", move || sync_timer(&shared, &engine, interval));
    }

    fn background(&self) -> BackgroundStats {
        let Shared { counters, pool, began, .. } = &*self.shared;
        BackgroundStats {
            elapsed_micros: micros_since(*began),
            busy_micros: pool.busy_micros(),
            flushes: counters.flushes.stats(),
            removals: counters.removals.stats(),
            merges: counters.merges.stats(),
        }
    }

    fn wake(&self, engine: &Arc<Engine>) {
        if engine.background.work_waits() {
            self.shared.pump(engine);
        }
    }

    fn wrote(&self, engine: &Arc<Engine>, bytes: u64) {
        self.wake(engine);
        self.shared.pace(engine, bytes);
    }

    fn would_slow(&self, engine: &Arc<Engine>, bytes: u64) -> bool {
        self.shared.pacing.pay(engine, bytes).is_some() && self.shared.state().has_workers()
    }

    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        let ended = self.shared.state().ended;
        self.shared.pump(engine);
        let waits =
            |state: &mut State| state.ended == ended && state.workers > 0 && !state.draining;
        let state = wait_at_most(&self.shared.changed, self.shared.state(), STALL_WAIT_MAX, waits);
        if state.ended != ended {
            return Ok(());
        }
        match (state.draining, state.workers) {
            (true, _) => Err(Closed::Store.into()),
            (false, 0) => Err(no_relief(&engine.state)),
            (false, _) => Ok(()),
        }
    }

    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        loop {
            // Before the check: a job that finishes after it is noticed, whatever else runs.
            let ended = self.shared.state().ended;
            if done(engine) {
                return Ok(());
            }
            self.shared.pump(engine);
            let mut state = self.shared.state();
            while state.ended == ended && state.workers > 0 {
                state = self.shared.wait(state);
            }
            if state.ended == ended {
                return engine.state.failure().map_or(Ok(()), Err);
            }
        }
    }

    fn drain(&self, _engine: &Arc<Engine>, most: Duration) {
        let state = self.shared.end(false);
        drop(wait_at_most(&self.shared.changed, state, most, |state| state.workers > 0));
    }

    fn stop(&self, engine: &Arc<Engine>) {
        let mut state = self.shared.end(true);
        while state.workers > 0 {
            state = self.shared.wait(state);
        }
        drop(state);
        self.shared.pacing.end(engine);
    }
}

#[cfg(test)]
mod tests;
