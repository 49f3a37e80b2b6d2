//! Threads that the store's owner lends: they run flushes and merges, and the owner runs the rest.
//!
//! 1. Only the owner looks for jobs and has their outcomes take effect: threads work, and what they need
//!    of the owner they ask for, such as access to files that are its own.
//! 2. One flush runs at a time, and has a place of its own: it never waits behind a merge.
//! 3. The owner waits for threads only in calls that must, such as a write that stalls, or closing: then
//!    it serves them meanwhile.
//! 4. Near a stall a write waits until the threads have done as much work as it pays for, by the rule that
//!    also holds without threads (`write/throttle.rs`); what they did since the last write counts.

use super::background_stats::BackgroundStats;
use super::slowdown::Slowdown;
use super::work_counters::WorkCounters;
use super::{Executor, no_relief};
use crate::engine::{Engine, Wait};
use crate::error::Result;
use crate::jobs::Progress;
use crate::schedule;
use crate::schedule::{Job, JobFilter};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};
use crate::write;
use crate::write::{Throttle, is_near, work_due};
use std::sync::Arc;

/// Bytes of a thread's slice, between which it looks whether it must stop.
const SLICE_BYTES: u64 = 256 << 10;
/// The most that writes are spared for what threads did before, in bytes.
const CREDIT_MAX: u64 = 4 << 20;

/// Threads and owner, as a [`PoolExecutor`] needs them.
pub trait JobThreads: Send + Sync {
    /// Runs a job on a thread; there is one for each job at a time.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>);

    /// The index of the calling thread, from 0.
    fn thread(&self) -> usize;

    /// Called by threads: the owner has something to do.
    fn notify(&self);

    /// Called by the owner: does what threads have asked for, or waits until they ask or notify; at most
    /// for moments.
    fn serve(&self);
}

/// Runs flushes and merges on threads, for an owner that looks after the store between its own work.
pub struct PoolExecutor {
    shared: Arc<Shared>,
    merges_max: usize,
    state: Mutex<State>,
    /// Time on the clock at which it was made.
    began: u64,
}

struct Shared {
    threads: Box<dyn JobThreads>,
    /// Jobs that threads are done with.
    ended: Mutex<Vec<Job>>,
    /// Bytes that threads have worked for, about.
    worked: AtomicU64,
    /// Whether a write waits for that.
    paced: AtomicBool,
    stopping: AtomicBool,
    clock: fn() -> u64,
    flushes: WorkCounters,
    merges: WorkCounters,
    /// Busy time of each thread, in microseconds.
    busy_micros: Vec<AtomicU64>,
}

#[derive(Default)]
struct State {
    /// Jobs that threads have.
    flushes: usize,
    merges: usize,
    /// Jobs that the owner runs itself, a slice of each in turn.
    own: Vec<Job>,
    /// Whether anything was done since the owner last had background work run.
    progress: bool,
    throttle: Throttle,
    slowdown: Slowdown,
    /// Part of the threads' work that writes have paid for.
    paid: u64,
}

impl State {
    /// Whether a thread has a job.
    fn is_busy(&self) -> bool {
        self.flushes + self.merges > 0
    }
}

impl Shared {
    /// Runs a job to its end but for what the owner does.
    fn run(&self, mut job: Job) {
        let counters = self.counters(&job);
        while !self.stopping.load(Ordering::Acquire) {
            let began = (self.clock)();
            let progress = job.work_for(SLICE_BYTES);
            let micros = (self.clock)().saturating_sub(began);
            counters.work(micros);
            if let Some(busy) = self.busy_micros.get(self.threads.thread()) {
                busy.fetch_add(micros, Ordering::Relaxed);
            }
            self.worked.fetch_add(SLICE_BYTES, Ordering::AcqRel);
            if progress == Progress::Done {
                break;
            }
            if self.paced.load(Ordering::Acquire) {
                self.threads.notify();
            }
        }
        counters.end();
        lock(&self.ended).push(job);
        self.threads.notify();
    }

    fn counters(&self, job: &Job) -> &WorkCounters {
        if job.is_flush() { &self.flushes } else { &self.merges }
    }
}

impl PoolExecutor {
    /// An executor that runs up to `merges_max` merges at once and besides them a flush, on as many
    /// threads. The clock shows microseconds since any moment, the same on all of them.
    #[must_use]
    pub fn new(merges_max: usize, threads: Box<dyn JobThreads>, clock: fn() -> u64) -> Self {
        let merges_max = merges_max.max(1);
        let shared = Shared {
            threads,
            ended: Mutex::default(),
            worked: AtomicU64::new(0),
            paced: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            clock,
            flushes: WorkCounters::default(),
            merges: WorkCounters::default(),
            busy_micros: (0..=merges_max).map(|_| AtomicU64::new(0)).collect(),
        };
        let (shared, state) = (Arc::new(shared), Mutex::default());
        PoolExecutor { shared, merges_max, state, began: clock() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Takes what threads are done with, in whatever way.
    fn take_ended(&self, state: &mut State) -> Vec<Job> {
        let ended = std::mem::take(&mut *lock(&self.shared.ended));
        for job in &ended {
            *(if job.is_flush() { &mut state.flushes } else { &mut state.merges }) -= 1;
        }
        ended
    }

    /// Installs the results of threads, and runs a slice of the owner's jobs; then hands out new jobs.
    /// Returns whether there was anything to do.
    fn advance(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        let mut state = self.state();
        let ended = self.take_ended(&mut state);
        let mut progress = !ended.is_empty();
        // All of them, and the places are handed out again, whichever fails.
        let mut failed = Ok(Progress::Done);
        for mut job in ended {
            failed = failed.and(job.run_for(bytes));
        }
        for mut job in std::mem::take(&mut state.own) {
            progress = true;
            let ran = job.run_for(bytes);
            if matches!(ran, Ok(Progress::More)) {
                state.own.push(job);
            }
            failed = failed.and(ran);
        }
        progress |= self.hand_out(&mut state, engine);
        state.progress |= progress;
        self.relieve(&mut state, engine);
        failed.map(|_| progress)
    }

    /// Looks for jobs while there are places; returns whether it found any.
    fn hand_out(&self, state: &mut State, engine: &Arc<Engine>) -> bool {
        let mut found = false;
        engine.background.search_begins();
        if state.flushes == 0
            && let Some(job) = schedule::next_job(engine, JobFilter::Flush)
        {
            found = true;
            state.flushes += 1;
            self.spawn(job);
        }
        if state.own.is_empty() {
            state.own.extend(schedule::next_job(engine, JobFilter::Removal));
        }
        while state.merges < self.merges_max {
            let Some(job) = schedule::next_job(engine, JobFilter::Other) else { break };
            found = true;
            if job.is_for_threads() {
                state.merges += 1;
                self.spawn(job);
            } else {
                // One a turn, which runs it.
                state.own.push(job);
                break;
            }
        }
        found || !state.own.is_empty()
    }

    fn spawn(&self, job: Job) {
        let shared = self.shared.clone();
        shared.counters(&job).begin();
        self.shared.threads.spawn(Box::new(move || shared.run(job)));
    }

    /// Ends a slowdown once stalls are far enough or no job is left, even if no write follows.
    fn relieve(&self, state: &mut State, engine: &Engine) {
        let lasts = state.is_busy() && is_near(write::backpressure(engine));
        if state.slowdown.reason().is_some() && !lasts {
            state.slowdown.report(&engine.jobs.events, None);
            // The rest is forgiven.
            state.paid = state.paid.min(self.worked());
        }
    }

    /// Whether a thread has a job.
    fn is_busy(&self) -> bool {
        self.state().is_busy()
    }

    /// Bytes that threads have worked for, about.
    fn worked(&self) -> u64 {
        self.shared.worked.load(Ordering::Acquire)
    }

    /// Waits until threads have worked for what a write pays for.
    fn pace(&self, engine: &Arc<Engine>) {
        let mut state = self.state();
        let unpaid = state.throttle.step(&engine.counters, &engine.options);
        if unpaid == 0 {
            return;
        }
        let (reason, backpressure) = write::nearest_stall(engine);
        let due = work_due(unpaid, backpressure);
        let paid = state.paid.max(self.worked().saturating_sub(CREDIT_MAX));
        // With room again, or with no job to wait for, the rest is forgiven.
        state.paid = if due > 0 && state.is_busy() { paid + due } else { self.worked() };
        let is_behind = || {
            let state = self.state();
            self.worked() < state.paid && state.is_busy()
        };
        let near = (due > 0).then_some(reason);
        if near != state.slowdown.reason() {
            state.slowdown.report(&engine.jobs.events, None);
        }
        drop(state);
        if due == 0 || !is_behind() {
            return;
        }
        self.state().slowdown.report(&engine.jobs.events, near);
        self.shared.paced.store(true, Ordering::Release);
        engine.counters.waits.time(Wait::Slowdown(reason), || {
            while is_behind() {
                self.shared.threads.serve();
                // The engine keeps the error, and the next write that stalls returns it.
                let _ = self.advance(engine, due);
            }
        });
        self.shared.paced.store(false, Ordering::Release);
    }
}

impl Executor for PoolExecutor {
    fn workers(&self) -> usize {
        self.merges_max
    }

    fn start(&self, engine: &Arc<Engine>) {
        engine.set_clock(self.shared.clock);
    }

    fn background(&self) -> BackgroundStats {
        let Shared { clock, flushes, merges, busy_micros, .. } = &*self.shared;
        BackgroundStats {
            elapsed_micros: clock().saturating_sub(self.began),
            busy_micros: busy_micros.iter().map(|busy| busy.load(Ordering::Relaxed)).collect(),
            flushes: flushes.stats(),
            merges: merges.stats(),
            ..BackgroundStats::default()
        }
    }

    fn wake(&self, engine: &Arc<Engine>) {
        if engine.background.work_waits() {
            let _ = self.advance(engine, SLICE_BYTES);
        }
        self.pace(engine);
    }

    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        while !self.advance(engine, SLICE_BYTES)? {
            if !self.is_busy() {
                return Err(no_relief(&engine.state));
            }
            self.shared.threads.serve();
        }
        Ok(())
    }

    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        while !done(engine) {
            if !self.advance(engine, SLICE_BYTES)? {
                if !self.is_busy() {
                    break;
                }
                self.shared.threads.serve();
            }
        }
        engine.state.failure().map_or(Ok(()), Err)
    }

    fn run(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        let advanced = self.advance(engine, bytes);
        let progress = std::mem::take(&mut self.state().progress);
        advanced.map(|_| progress)
    }

    fn stop(&self, engine: &Arc<Engine>) {
        self.shared.stopping.store(true, Ordering::Release);
        while self.is_busy() {
            self.shared.threads.serve();
            let ended = self.take_ended(&mut self.state());
            drop(ended);
        }
        let own = std::mem::take(&mut self.state().own);
        drop(own);
        self.state().slowdown.report(&engine.jobs.events, None);
    }
}

#[cfg(test)]
mod tests;
