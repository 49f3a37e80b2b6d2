//! Places for what is loaded on demand and may be evicted: readers reach it through a pointer, with
//! no look into the cache.
//!
//! 1. What is loaded is laid in its slot, and the slot in the cache, which counts its weight. Whoever
//!    finds the slot empty loads; others who come meanwhile wait for that.
//! 2. A reader that finds the slot full sets a flag, no more.
//! 3. The cache, when it is about to evict a slot, asks for the flag and clears it: one that was used
//!    since is kept (second chance). So what gets use outlives blocks that a scan passes through.
//! 4. Evicting empties the slot. Readers that hold what was in it keep it as long as they need it.

use crate::error::Result;
use crate::sync::swap::Swap;
use crate::sync::{Mutex, lock};
use std::sync::Arc;
// Not modelled: the cache, which asks for the flag, is not either.
use std::sync::atomic::{AtomicBool, Ordering};

/// A place for a `T`, full or empty.
pub(super) struct Slot<T> {
    loaded: Swap<T>,
    used: AtomicBool,
    /// Held by the one who loads.
    loading: Mutex<()>,
}

/// A slot, whatever it holds, as the cache sees it.
pub(super) trait Evict: Send + Sync {
    /// Whether it was used since this was last asked.
    fn was_used(&self) -> bool;
    /// Empties it.
    fn evict(&self);
}

impl<T> Slot<T> {
    /// An empty slot.
    pub fn empty() -> Arc<Self> {
        let (used, loading) = (AtomicBool::new(false), Mutex::new(()));
        Arc::new(Slot { loaded: Swap::empty(), used, loading })
    }

    /// What is in it, if it is full.
    pub fn get(&self) -> Option<Arc<T>> {
        self.touch();
        self.loaded.load_full()
    }

    /// What is in it; where it is empty `read` brings it, and says what it weighs in bytes, and
    /// `keep` puts the full slot into the cache.
    pub fn load(
        &self,
        read: impl FnOnce() -> Result<(T, usize)>,
        keep: impl FnOnce(usize),
    ) -> Result<Arc<T>> {
        let _loading = lock(&self.loading);
        if let Some(brought) = self.loaded.load_full() {
            return Ok(brought);
        }
        let (value, weight) = read()?;
        let value = Arc::new(value);
        self.loaded.store(Some(Arc::clone(&value)));
        // Where it does not fit, the slot is emptied at once.
        keep(weight);
        Ok(value)
    }

    /// Works with what is in it, or with what `load` brings.
    #[inline]
    pub fn with<R>(
        &self,
        load: impl FnOnce() -> Result<Arc<T>>,
        work: impl FnOnce(&T) -> Result<R>,
    ) -> Result<R> {
        let held = self.loaded.load();
        let brought;
        let value = match held.as_deref() {
            Some(value) => {
                self.touch();
                value
            }
            None => {
                brought = load()?;
                &*brought
            }
        };
        work(value)
    }

    #[inline]
    fn touch(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

impl<T: Send + Sync> Evict for Slot<T> {
    fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    fn evict(&self) {
        self.loaded.store(None);
    }
}
