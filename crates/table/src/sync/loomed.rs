//! The same under loom, with a cell that detects reads of memory before its publication.

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
    /// The memory has been written.
    pub fn new() -> Self {
        Published(UnsafeCell::new(()))
    }

    /// The memory is about to be read: loom panics unless its writing happened before.
    pub fn read(&self) {
        self.0.with(|_| ());
    }
}
