//! Threads for the jobs of one store or of several, in lanes.
//!
//! 1. Flushes, removals and merges have a lane each, which runs a number of tasks at once and queues the
//!    others. The pool has a thread for each task that may run: so a flush starts however many merges run,
//!    of whichever store, and no merge waits behind the removal of a large file.
//! 2. A task runs one job at most. A lane takes its tasks in their order, so that stores take turns.
//! 3. A store that closes takes its queued tasks back: it waits for none of another store.

use super::per_kind::PerKind;
use crate::schedule::JobFilter;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use std::collections::VecDeque;
use std::sync::Arc;
use terrane_platform::threads::Pool;

/// Threads that run the background jobs of stores, each of which has an executor
/// [in it](crate::executor::ThreadExecutor::in_pool). They end when no store and nobody else holds it.
#[derive(Clone)]
pub struct WorkerPool(Arc<Inner>);

struct Inner {
    /// `None` if the system gives none.
    threads: Option<Pool>,
    merges_max: usize,
    lanes: Mutex<PerKind<Lane>>,
    /// Busy time of each thread, in microseconds.
    busy_micros: Vec<AtomicU64>,
}

/// The tasks of one kind.
struct Lane {
    /// Threads that it may have.
    most: usize,
    /// Threads that it has.
    running: usize,
    queue: VecDeque<Task>,
}

/// A job to be looked for and run.
pub(super) struct Task {
    /// The store that it is for.
    pub owner: usize,
    pub run: Box<dyn FnOnce() + Send>,
}

impl Lane {
    fn new(most: usize) -> Self {
        Lane { most, running: 0, queue: VecDeque::new() }
    }
}

impl WorkerPool {
    /// A pool that runs up to `merges_max` merges at once, at least one, and besides them a flush for each
    /// four of these, and a removal.
    ///
    /// If the system gives no threads, jobs run on the threads of those who wait for them.
    #[must_use]
    pub fn new(merges_max: usize) -> Self {
        WorkerPool::with(merges_max, merges_max.div_ceil(4))
    }

    /// Starts a pool for `merges_max` merges and `flushes_max` flushes at once.
    pub(super) fn with(merges_max: usize, flushes_max: usize) -> Self {
        let [merges_max, flushes_max] = [merges_max, flushes_max].map(|most| most.max(1));
        let lanes = PerKind {
            flushes: Lane::new(flushes_max),
            removals: Lane::new(1),
            merges: Lane::new(merges_max),
        };
        let all = merges_max + flushes_max + 1;
        let (threads, lanes) = (Pool::new(all), Mutex::new(lanes));
        let busy_micros = (0..all).map(|_| AtomicU64::new(0)).collect();
        WorkerPool(Arc::new(Inner { threads, merges_max, lanes, busy_micros }))
    }

    /// Returns the number of merges that it runs at once.
    #[must_use]
    pub fn merges_max(&self) -> usize {
        self.0.merges_max
    }

    /// The thread that calls was busy.
    pub(super) fn count_busy(&self, micros: u64) {
        if let Some(busy) = Pool::thread().and_then(|number| self.0.busy_micros.get(number)) {
            busy.fetch_add(micros, Ordering::Relaxed);
        }
    }

    /// Returns the busy time of each thread, in microseconds.
    pub(super) fn busy_micros(&self) -> Vec<u64> {
        self.0.busy_micros.iter().map(|busy| busy.load(Ordering::Relaxed)).collect()
    }

    /// Runs the task on a thread once its lane has a free one. Returns whether there are threads.
    pub(super) fn spawn(&self, kind: JobFilter, task: Task) -> bool {
        let Some(threads) = &self.0.threads else { return false };
        let mut lanes = lock(&self.0.lanes);
        let lane = lanes.of_mut(kind);
        lane.queue.push_back(task);
        if lane.running < lane.most {
            lane.running += 1;
            let pool = self.clone();
            threads.spawn(move || pool.run(kind));
        }
        true
    }

    /// Runs tasks of a lane while there are any.
    fn run(&self, kind: JobFilter) {
        while let Some(task) = self.next(kind) {
            (task.run)();
        }
    }

    /// The next task of a lane; without one, the thread is no longer the lane's.
    fn next(&self, kind: JobFilter) -> Option<Task> {
        let mut lanes = lock(&self.0.lanes);
        let lane = lanes.of_mut(kind);
        let task = lane.queue.pop_front();
        lane.running -= usize::from(task.is_none());
        task
    }

    /// Takes back the tasks of a store that no thread has started; returns how many there were.
    pub(super) fn take_back(&self, owner: usize) -> usize {
        let mut lanes = lock(&self.0.lanes);
        let mut taken = Vec::new();
        for lane in lanes.all_mut() {
            let queue = std::mem::take(&mut lane.queue).into_iter();
            let (own, others): (Vec<_>, Vec<_>) = queue.partition(|task| task.owner == owner);
            lane.queue = others.into();
            taken.extend(own);
        }
        drop(lanes);
        // What a task holds is let go of without the lock.
        taken.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_lane_starts_threads_up_to_its_limit_and_queues_the_rest() {
        let pool = WorkerPool::with(2, 1);
        let (held, receiver) = channel::<()>();
        let receiver = Arc::new(Mutex::new(receiver));
        let running = [(); 4].map(|()| {
            let receiver = receiver.clone();
            let run = Box::new(move || {
                let _ = lock(&receiver).recv();
            });
            assert!(pool.spawn(JobFilter::Other, Task { owner: 1, run }));
            lock(&pool.0.lanes).of(JobFilter::Other).running
        });
        assert_eq!(running, [1, 2, 2, 2]);
        drop(held);
    }
}
