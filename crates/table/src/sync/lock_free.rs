//! The primitives of lock-free structures, without a model.

pub(crate) use super::{Mutex, atomic, lock};

/// Marks memory that is written once, before others can see it, and then read without atomics.
pub(crate) struct Published;

impl Published {
    /// The memory has been written.
    pub fn new() -> Self {
        Published
    }

    /// The memory is about to be read.
    #[inline(always)]
    pub fn read(&self) {}
}
