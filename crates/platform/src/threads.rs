//! Threads of the operating system: a pool that runs jobs, and timed waits.
//!
//! A build with `--cfg shuttle` has a model of them, and a browser's module none: its threads are workers that
//! JavaScript starts.

use std::sync::PoisonError;
use std::thread::Builder;
use std::time::Duration;
pub use std::time::Instant;
use terrane_table::sync::{Condvar, MutexGuard};

/// Threads that wait for jobs.
pub struct Pool(rayon::ThreadPool);

impl Pool {
    /// Starts `threads` threads, or returns `None` if none can be spawned.
    #[must_use]
    pub fn new(threads: usize) -> Option<Self> {
        let named = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("terrane-{i}"));
        named.num_threads(threads).build().ok().map(Pool)
    }

    /// Returns the number of the current thread in its pool, if it is of one.
    #[must_use]
    pub fn thread() -> Option<usize> {
        rayon::current_thread_index()
    }

    /// Runs `job` on one of them.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        self.0.spawn(job);
    }
}

/// Runs `body` on a thread of its own; returns whether the system gives one.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    Builder::new().name(name.to_owned()).spawn(body).is_ok()
}

/// Suspends this thread.
pub fn pause(lasting: Duration) {
    std::thread::sleep(lasting);
}

/// Waits while `waits` returns `true`, `most` at most.
pub fn wait_at_most<'a, T>(
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    most: Duration,
    waits: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    changed.wait_timeout_while(guard, most, waits).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::Pool;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier};

    #[test]
    fn a_pool_thread_knows_its_index_and_other_threads_have_none() {
        assert_eq!(Pool::thread(), None);
        let pool = Pool::new(2).unwrap();
        let (sender, numbers) = channel();
        // No thread takes both jobs.
        let barrier = Arc::new(Barrier::new(2));
        for _ in 0..2 {
            let (sender, barrier) = (sender.clone(), barrier.clone());
            pool.spawn(move || {
                barrier.wait();
                sender.send(Pool::thread()).unwrap();
            });
        }
        let mut numbers = [(); 2].map(|()| numbers.recv().unwrap());
        numbers.sort_unstable();
        assert_eq!(numbers, [Some(0), Some(1)]);
    }
}
