//! Slots: cells for values that are loaded on demand and may be evicted. Readers reach a value through
//! a pointer, without a cache lookup.
//!
//! 1. A loaded value goes into its slot, and the slot into the cache, which accounts for its weight.
//!    The first reader of an empty slot loads the value; others wait for it.
//! 2. A reader of a full slot only sets a flag.
//! 3. Before it evicts a slot, the cache checks and clears the flag, and keeps a slot that was used in
//!    the meantime (second chance). So values in use outlive the blocks of a long scan.
//! 4. Eviction empties the slot. Readers that hold the value keep it alive.

use crate::error::Result;
#[cfg(not(target_arch = "wasm32"))]
use crate::sync::swap::Pinned;
use crate::sync::swap::Swap;
use crate::sync::{Mutex, lock};
use std::sync::Arc;
// Not modelled, since the cache, which checks the flag, is not either.
use std::sync::atomic::{AtomicBool, Ordering};

/// A cell that holds a `T` or is empty.
pub(super) struct Slot<T> {
    loaded: Swap<T>,
    used: AtomicBool,
    /// Held while a value is loaded.
    loading: Mutex<()>,
}

/// A slot of any type, as the cache sees it.
pub(super) trait Evict: Send + Sync {
    /// Whether it was used since the last call.
    fn was_used(&self) -> bool;
    /// Empties the slot.
    fn evict(&self);
}

impl<T: Send + Sync + 'static> Slot<T> {
    /// An empty slot.
    pub fn empty() -> Arc<Self> {
        let (used, loading) = (AtomicBool::new(false), Mutex::new(()));
        Arc::new(Slot { loaded: Swap::empty(), used, loading })
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<Arc<T>> {
        let loaded = self.loaded.load_full();
        if loaded.is_some() {
            self.touch();
        }
        loaded
    }

    /// The value, if there is one, for as long as this thread stays pinned.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn peek<'p>(&'p self, pinned: &'p Pinned) -> Option<&'p T> {
        let value = self.loaded.peek(pinned)?;
        self.touch();
        Some(value)
    }

    /// The value; if the slot is empty, `read` returns it with its weight in bytes, and `keep` adds
    /// the slot to the cache.
    pub fn load(
        &self,
        read: impl FnOnce() -> Result<(T, usize)>,
        keep: impl FnOnce(usize),
    ) -> Result<Arc<T>> {
        let _loading = lock(&self.loading);
        if let Some(loaded) = self.loaded.load_full() {
            return Ok(loaded);
        }
        let (value, weight) = read()?;
        let value = Arc::new(value);
        self.loaded.store(Some(Arc::clone(&value)));
        // If it does not fit the cache, the slot is emptied at once.
        keep(weight);
        Ok(value)
    }

    /// Calls `work` with the value, or with what `load` returns if the slot is empty.
    #[inline]
    pub fn with<R>(
        &self,
        load: impl FnOnce() -> Result<Arc<T>>,
        work: impl FnOnce(&T) -> Result<R>,
    ) -> Result<R> {
        // Counted rather than borrowed: `work` may read files, and what is borrowed holds up what others drop.
        work(&*self.get().map_or_else(load, Ok)?)
    }

    #[inline]
    fn touch(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

impl<T: Send + Sync + 'static> Evict for Slot<T> {
    fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    fn evict(&self) {
        self.loaded.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_was_used_once_for_all_reads_since_the_last_look() {
        let slot = Slot::empty();
        let load = || slot.load(|| Ok((7, 1)), |_| ());
        assert!(!slot.was_used());
        load().unwrap();
        for _ in 0..2 {
            assert_eq!(slot.with(|| panic!("it is full"), |value: &u32| Ok(*value)).unwrap(), 7);
            assert!(slot.get().is_some());
            assert!(slot.was_used() && !slot.was_used());
        }
        slot.evict();
        assert_eq!(slot.get(), None);
        assert_eq!(slot.with(load, |value| Ok(*value)).unwrap(), 7);
    }
}
