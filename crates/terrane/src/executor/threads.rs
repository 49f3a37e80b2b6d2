//! Native worker threads: a rayon pool runs the jobs, and a timer syncs what is buffered.
//!
//! 1. Whoever makes work for jobs has a worker look for it: only workers call policies, so no writer
//!    waits for that.
//! 2. A worker that finds a job has another look for the next, and runs its own; then it looks again.
//! 3. Before a search begins it takes a place for what it may find; the lock of the places is held only
//!    for that. Flushes and removals have a place each, and the pool has a thread for each besides those
//!    for merges: a flush never waits behind a merge, or behind a policy, which takes the place of a
//!    merge, and no merge waits behind the removal of a large file.
//! 4. The last worker to leave has seen that no work came since a search began that had every place.

use super::panics::catch;
use super::{Executor, no_relief};
use crate::engine::Engine;
use crate::error::{Closed, Result};
use crate::jobs::Progress;
use crate::schedule::{Job, JobFilter};
use crate::sync::{Condvar, Mutex, MutexGuard, Pool, lock, spawn, wait_at_most};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Bytes of a slice, between which a job looks whether it must stop.
const SLICE_BYTES: u64 = 4 << 20;

/// Runs jobs on threads of its own.
pub struct ThreadExecutor {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Option<Pool>,
    merges_max: usize,
    state: Mutex<State>,
    /// A job ended, a worker went, or all must stop.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    flushes: Places,
    removals: Places,
    /// Those of other jobs.
    merges: Places,
    /// Workers, those in the pool's queue included.
    workers: usize,
    /// A worker is in the pool's queue.
    queued: bool,
    /// Jobs that have ended.
    ended: u64,
    stopping: bool,
}

/// The places for jobs of one kind.
#[derive(Default)]
struct Places {
    /// Jobs under way, and searches for them.
    taken: usize,
    /// Whether a search found all places taken: when one is free, the kind is searched again.
    missed: bool,
}

/// What there are places for, in the order in which it is searched for.
const KINDS: [JobFilter; 3] = [JobFilter::Flush, JobFilter::Removal, JobFilter::Other];

impl State {
    /// The places for jobs of a kind.
    fn places(&mut self, kind: JobFilter) -> &mut Places {
        match kind {
            JobFilter::Flush => &mut self.flushes,
            JobFilter::Removal => &mut self.removals,
            JobFilter::Other | JobFilter::Any => &mut self.merges,
        }
    }

    /// The kinds that have a place left. One flush at a time is as fast as the file system takes it.
    fn free(&mut self, merges_max: usize) -> [bool; 3] {
        KINDS.map(|kind| {
            let most = if kind == JobFilter::Other { merges_max } else { 1 };
            let places = self.places(kind);
            places.missed |= places.taken >= most;
            places.taken < most
        })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a worker look for jobs, from now on.
    fn pump(self: &Arc<Self>, engine: &Arc<Engine>) {
        let mut state = self.state();
        if state.stopping || state.queued {
            return;
        }
        state.queued = true;
        state.workers += 1;
        drop(state);
        let (shared, engine) = (self.clone(), engine.clone());
        match &self.pool {
            Some(pool) => pool.spawn(move || shared.work(&engine)),
            None => shared.work(&engine),
        }
    }

    /// Runs jobs for as long as there are any.
    fn work(self: &Arc<Self>, engine: &Arc<Engine>) {
        self.state().queued = false;
        loop {
            while let Some((kind, job)) = self.next_job(engine) {
                if self.pool.is_some() {
                    self.pump(engine);
                }
                self.run(engine, kind, job);
            }
            let mut state = self.state();
            if engine.work_waits() && !state.stopping {
                continue;
            }
            state.workers -= 1;
            drop(state);
            self.changed.notify_all();
            return;
        }
    }

    /// Takes the next job within the bounds, and a place for it.
    fn next_job(&self, engine: &Arc<Engine>) -> Option<(JobFilter, Job)> {
        let mut state = self.state();
        if state.stopping {
            return None;
        }
        let free = state.free(self.merges_max);
        let kinds = || KINDS.into_iter().zip(free).filter_map(|(kind, free)| free.then_some(kind));
        kinds().for_each(|kind| state.places(kind).taken += 1);
        drop(state);
        engine.search_begins();
        let mut found = None;
        for kind in kinds() {
            while found.is_none() {
                let search = || engine.next_job(kind);
                found = catch(engine, || "search for a job".to_owned(), search)
                    .flatten()
                    .map(|job| (kind, job));
                if found.is_none() && self.release_unless_missed(kind) {
                    break;
                }
            }
            if found.as_ref().is_some_and(|(of, _)| *of != kind) {
                self.state().places(kind).taken -= 1;
            }
        }
        found
    }

    /// Gives the place of a search back that found nothing, unless another was made meanwhile, for
    /// which there was no place.
    fn release_unless_missed(&self, kind: JobFilter) -> bool {
        let mut state = self.state();
        let places = state.places(kind);
        let missed = std::mem::take(&mut places.missed);
        if !missed {
            places.taken -= 1;
        }
        !missed
    }

    /// Runs a job to its end.
    fn run(&self, engine: &Arc<Engine>, kind: JobFilter, mut job: Job) {
        let goes_on = |job: &mut Job| matches!(job.run_for(SLICE_BYTES), Ok(Progress::More));
        let name = job.name();
        // The engine keeps the error, and the next write that stalls returns it.
        catch(engine, || name.clone(), || while !self.state().stopping && goes_on(&mut job) {});
        catch(engine, || format!("end of the {name}"), || drop(job));
        let mut state = self.state();
        state.places(kind).taken -= 1;
        state.ended += 1;
        drop(state);
        self.changed.notify_all();
    }
}

/// The processors that background work may use: all but one, at least one, at most eight.
#[must_use]
pub fn workers() -> usize {
    workers_of(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// The processors that background work may use, of so many.
fn workers_of(cores: usize) -> usize {
    cores.saturating_sub(1).clamp(1, 8)
}

impl ThreadExecutor {
    /// An executor that runs up to `merges_max` merges at once, and besides them a flush and a removal.
    ///
    /// If the system gives no threads, jobs run on the threads of those who wait for them.
    #[must_use]
    pub fn new(merges_max: usize) -> Self {
        let merges_max = merges_max.max(1);
        let (state, changed) = (Mutex::default(), Condvar::new());
        let pool = Pool::new(merges_max + 2);
        ThreadExecutor { shared: Arc::new(Shared { pool, merges_max, state, changed }) }
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
        let synced = catch(&engine, || "timed sync of the log".to_owned(), || engine.sync());
        if synced.is_none() {
            return;
        }
    }
}

impl Executor for ThreadExecutor {
    fn workers(&self) -> usize {
        self.shared.merges_max
    }

    fn start(&self, engine: &Arc<Engine>) {
        let began = Instant::now();
        engine.set_clock(move || began.elapsed().as_micros().try_into().unwrap_or(u64::MAX));
        let interval = Duration::from_millis(engine.options().sync_interval_ms.max(1).into());
        let (shared, engine) = (self.shared.clone(), Arc::downgrade(engine));
        // Without the thread, buffered writes are synced when the log fills or the store closes.
        spawn("terrane-sync", move || sync_timer(&shared, &engine, interval));
    }

    fn wake(&self, engine: &Arc<Engine>) {
        if engine.work_waits() {
            self.shared.pump(engine);
        }
    }

    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        let ended = self.shared.state().ended;
        self.shared.pump(engine);
        let mut state = self.shared.state();
        while state.ended == ended {
            if state.stopping {
                return Err(Closed::Store.into());
            }
            if state.workers == 0 {
                return Err(no_relief(engine));
            }
            state = self.shared.wait(state);
        }
        Ok(())
    }

    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        while !done(engine) {
            let ended = self.shared.state().ended;
            self.shared.pump(engine);
            let mut state = self.shared.state();
            while state.ended == ended && state.workers > 0 {
                state = self.shared.wait(state);
            }
            if state.ended == ended {
                return engine.failure().map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    fn stop(&self, _engine: &Arc<Engine>) {
        let mut state = self.shared.state();
        state.stopping = true;
        self.shared.changed.notify_all();
        while state.workers > 0 {
            state = self.shared.wait(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Options};
    use std::sync::mpsc::{Sender, channel};

    #[test]
    fn background_work_leaves_a_processor_and_takes_at_most_eight() {
        let workers_of = [0, 1, 2, 4, 9, 64].map(workers_of);
        assert_eq!(workers_of, [1, 1, 1, 3, 8, 8]);
        assert!((1..=8).contains(&workers()));
    }

    #[test]
    fn a_kind_of_job_without_a_place_left_is_missed_until_it_is_searched_for_again() {
        let mut state = State::default();
        let missed = |state: &mut State| KINDS.map(|kind| state.places(kind).missed);
        assert_eq!(state.free(2), [true; 3]);
        assert_eq!(missed(&mut state), [false; 3]);
        (state.flushes.taken, state.merges.taken) = (1, 1);
        assert_eq!(state.free(2), [false, true, true]);
        assert_eq!(missed(&mut state), [true, false, false]);
        (state.flushes.taken, state.removals.taken, state.merges.taken) = (0, 1, 2);
        assert_eq!(state.free(2), [true, false, false]);
        assert_eq!(missed(&mut state), [true; 3]);
    }

    /// Keeps all threads busy until what is returned is dropped.
    fn busy(executor: &ThreadExecutor) -> Sender<()> {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..executor.shared.merges_max + 2 {
            let receiver = receiver.clone();
            let wait = move || {
                let _ = lock(&receiver).recv();
            };
            executor.shared.pool.as_ref().unwrap().spawn(wait);
        }
        sender
    }

    #[test]
    fn any_number_of_wakes_queue_one_worker_and_none_after_a_stop() {
        let executor = Arc::new(ThreadExecutor::new(1));
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let db = Db::open_storage(storage, Options::small(), executor.clone()).unwrap();
        db.wait_until_idle().unwrap();
        let workers_after = |wakes| {
            let busy = busy(&executor);
            (0..wakes).for_each(|_| executor.shared.pump(db.engine()));
            let workers = executor.shared.state().workers;
            drop(busy);
            workers
        };
        assert_eq!(workers_after(5), 1);
        executor.stop(db.engine());
        assert_eq!(workers_after(1), 0);
    }
}
