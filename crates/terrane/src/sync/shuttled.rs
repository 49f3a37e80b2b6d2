//! Under shuttle: each use of a lock, an atomic or a swapped pointer may be where another thread
//! goes on.

pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, atomic};

use shuttle::rand::{Rng, thread_rng};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A pointer that is read and replaced as a whole.
pub(crate) struct ArcSwap<T>(RwLock<Arc<T>>);

impl<T> ArcSwap<T> {
    pub fn from_pointee(value: T) -> Self {
        ArcSwap(RwLock::new(Arc::new(value)))
    }

    pub fn load_full(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn load(&self) -> Arc<T> {
        self.load_full()
    }

    pub fn store(&self, value: Arc<T>) {
        let mut place = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, value);
        drop(place);
        // What goes with it may take locks.
        drop(before);
    }
}

/// A thread for each job: the driver bounds how many there are.
pub(crate) struct Pool;

impl Pool {
    pub fn new(_threads: usize) -> Option<Self> {
        Some(Pool)
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
