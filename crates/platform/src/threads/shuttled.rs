//! Threads of a model: each use of a lock may be where another thread continues.

use shuttle::rand::{Rng, thread_rng};
use std::sync::PoisonError;
use std::time::Duration;
pub use std::time::Instant;
use terrane_table::sync::{Condvar, MutexGuard};

/// A thread for each job: the executor bounds how many there are.
pub struct Pool;

impl Pool {
    /// Returns a pool, which starts no thread yet.
    #[must_use]
    pub fn new(_threads: usize) -> Option<Self> {
        Some(Pool)
    }

    /// Returns `None`: threads have no numbers.
    #[must_use]
    pub fn thread() -> Option<usize> {
        None
    }

    /// Runs `job` on a thread of its own.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        shuttle::thread::spawn(job);
    }
}

/// Runs `body` on a thread of its own.
pub fn spawn(_name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    shuttle::thread::spawn(body);
    true
}

/// Lets another thread continue.
pub fn pause(_lasting: Duration) {
    shuttle::thread::yield_now();
}

/// Waits while `waits` returns `true`; there is no time, so the wait ends early as chance will.
pub fn wait_at_most<'a, T>(
    changed: &Condvar,
    mut guard: MutexGuard<'a, T>,
    _most: Duration,
    mut waits: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    while waits(&mut guard) && thread_rng().gen_bool(0.75) {
        guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
    }
    guard
}
