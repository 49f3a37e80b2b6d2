//! Locking, in the one way that the engine locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a thread that panicked while it held the lock does not make the data worse, since every
/// change under a lock is made of steps that each leave it sound.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
