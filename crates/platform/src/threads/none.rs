//! Threads of a browser's module: JavaScript starts them, so there is nothing here to start or suspend one with.

use std::time::Duration;
use terrane_table::sync::{Condvar, MutexGuard};

/// A pool that has no thread.
pub struct Pool(());

impl Pool {
    /// Returns `None`: no thread can be spawned.
    #[must_use]
    pub fn new(_threads: usize) -> Option<Self> {
        None
    }

    /// Returns `None`: no thread is of a pool.
    #[must_use]
    pub fn thread() -> Option<usize> {
        None
    }

    /// Drops `job`.
    pub fn spawn(&self, _job: impl FnOnce() + Send + 'static) {}
}

/// A moment of no clock.
#[derive(Clone, Copy)]
pub struct Instant(());

impl Instant {
    /// Returns a moment.
    #[must_use]
    pub fn now() -> Self {
        Instant(())
    }

    /// Returns no time.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// Returns `false`: no thread can be spawned.
pub fn spawn(_name: &str, _body: impl FnOnce() + Send + 'static) -> bool {
    false
}

/// Suspends no thread: a browser's main thread must not sleep.
pub fn pause(_lasting: Duration) {}

/// Waits for nothing: no other thread is there to change it.
pub fn wait_at_most<'a, T>(
    _changed: &Condvar,
    guard: MutexGuard<'a, T>,
    _most: Duration,
    _waits: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    guard
}
