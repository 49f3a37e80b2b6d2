//! Threads that wait for batches to be written and to be durable.
//!
//! A writer takes a lock only if somebody waits. A waiter registers before it checks the last sequence number, and a
//! writer checks for waiters after it has stored that number. Fences keep both in that order, so that one of them sees
//! the other.

use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::{Condvar, Mutex, lock};
use std::time::Duration;
use terrane_platform::THREADS;
use terrane_platform::threads::wait_at_most;

/// Waiters for one kind of progress of a store's log.
#[derive(Default)]
pub(crate) struct SyncWatch {
    waiters: AtomicUsize,
    turn: Mutex<()>,
    changed: Condvar,
}

impl SyncWatch {
    /// Wakes all waiters, so that they check their condition again.
    #[inline]
    pub fn notify(&self) {
        if !THREADS {
            return;
        }
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) > 0 {
            drop(lock(&self.turn));
            self.changed.notify_all();
        }
    }

    /// Waits while `waits` returns `true`, for at most `most`.
    pub fn wait(&self, most: Duration, waits: impl Fn() -> bool) {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let guard = lock(&self.turn);
        drop(wait_at_most(&self.changed, guard, most, |()| waits()));
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}
