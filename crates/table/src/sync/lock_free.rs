//! Without a model: the same as everywhere.

pub(crate) use super::{Mutex, atomic, lock};

/// Marks memory that is written once, before others can see it, and then read without atomics.
pub(crate) struct Published;

impl Published {
    /// The memory is written.
    pub fn new() -> Self {
        Published
    }

    /// The memory is about to be read.
    #[inline(always)]
    pub fn read(&self) {}
}
