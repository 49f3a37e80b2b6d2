//! The memory of all memtables, and of those that wait to be flushed.

use crate::sync::atomic::{AtomicU64, Ordering};

/// The bytes that memtables take.
#[derive(Default)]
pub(crate) struct MemtableBytes {
    all: AtomicU64,
    /// Those of `all` that sealed memtables take, until their flush is installed.
    sealed: AtomicU64,
}

impl MemtableBytes {
    /// Returns the bytes of all memtables.
    pub fn all(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    /// Returns the bytes of sealed memtables.
    pub fn sealed(&self) -> u64 {
        self.sealed.load(Ordering::Relaxed)
    }

    /// Returns the bytes of memtables that take writes.
    pub fn active(&self) -> u64 {
        let sealed = self.sealed();
        self.all().saturating_sub(sealed)
    }

    /// Whether memtables take more than their share, and flushes are about to give some back.
    pub fn is_full(&self, share: u64) -> bool {
        self.sealed() > 0 && self.all() > share
    }

    /// Counts entries of `bytes` that were inserted.
    pub fn add(&self, bytes: u64) {
        self.all.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a memtable of `bytes` as sealed.
    pub fn seal(&self, bytes: u64) {
        self.sealed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Forgets sealed memtables of `bytes`.
    pub fn free_sealed(&self, bytes: u64) {
        // In this order: a writer in between must not take what is left for more than it is.
        self.all.fetch_sub(bytes, Ordering::Relaxed);
        self.sealed.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Forgets a memtable of `bytes` that was not sealed.
    pub fn free_active(&self, bytes: u64) {
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Sets the bytes of all memtables.
    #[cfg(test)]
    pub fn set_all(&self, bytes: u64) {
        self.all.store(bytes, Ordering::Relaxed);
    }

    /// Sets the bytes of sealed memtables.
    #[cfg(test)]
    pub fn set_sealed(&self, bytes: u64) {
        self.sealed.store(bytes, Ordering::Relaxed);
    }
}
