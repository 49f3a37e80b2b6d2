//! Under loom: its locks and atomics, and a cell by which it sees reads of memory that is not
//! published to the reader.

pub(crate) use loom::sync::{Mutex, atomic};

use loom::cell::UnsafeCell;
use loom::sync::MutexGuard;
use std::sync::PoisonError;

/// See [`super::lock`].
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks memory that is written once, before others can see it, and then read without atomics.
pub(crate) struct Published(UnsafeCell<()>);

impl Published {
    /// The memory is written.
    pub fn new() -> Self {
        Published(UnsafeCell::new(()))
    }

    /// The memory is about to be read: loom panics if its writing does not happen before.
    pub fn read(&self) {
        self.0.with(|_| ());
    }
}
