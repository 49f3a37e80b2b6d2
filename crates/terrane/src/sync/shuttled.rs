//! Under shuttle: each use of a lock, an atomic or a swapped pointer may be where another thread
//! continues.

pub(crate) use super::locked::ArcSwap;
pub(crate) use shuttle::sync::{Condvar, RwLock};

use super::MutexGuard;
use shuttle::rand::{Rng, thread_rng};
use std::sync::PoisonError;
use std::time::Duration;

/// A thread for each job: the executor bounds how many there are.
pub(crate) struct Pool;

impl Pool {
    pub fn new(_threads: usize) -> Option<Self> {
        Some(Pool)
    }

    pub fn thread() -> Option<usize> {
        None
    }

    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        shuttle::thread::spawn(job);
    }
}

/// Runs `body` on a thread of its own.
pub(crate) fn spawn(_name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    shuttle::thread::spawn(body);
    true
}

/// Lets another thread continue.
pub(crate) fn pause(_lasting: Duration) {
    shuttle::thread::yield_now();
}

/// Waits while `waits` says so; there is no time, so the wait ends early as chance will.
pub(crate) fn wait_at_most<'a, T>(
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
