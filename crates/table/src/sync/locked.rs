//! A pointer that is swapped under a lock: for a model of threads, and where there is one thread and
//! a lock costs nothing.

use super::RwLock;
use std::sync::{Arc, PoisonError};

/// A pointer that is read and replaced as a whole.
pub struct ArcSwap<T>(RwLock<Arc<T>>);

/// The value of an [`ArcSwap`].
pub type Loaded<T> = Arc<T>;

impl<T> ArcSwap<T> {
    /// Returns a pointer to `value`.
    pub fn from_pointee(value: T) -> Self {
        ArcSwap(RwLock::new(Arc::new(value)))
    }

    /// Clones the pointer.
    pub fn load_full(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Clones the pointer: there is none to borrow.
    pub fn load(&self) -> Arc<T> {
        self.load_full()
    }

    /// Replaces the pointer.
    pub fn store(&self, value: Arc<T>) {
        let mut place = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, value);
        drop(place);
        // What goes with it may take locks.
        drop(before);
    }
}
