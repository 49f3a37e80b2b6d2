//! An atomic `Option<Arc<T>>`: readers follow the pointer while others replace it. With threads it is
//! `arc-swap`'s, whose readers share no counter; without, a lock costs nothing. It is not modelled,
//! nor is the cache, which empties slots under its own locks.

use std::sync::Arc;

/// A pointer to a `T`, or to nothing.
pub(crate) struct Swap<T>(imp::Place<T>);

impl<T> Swap<T> {
    pub fn empty() -> Self {
        Swap(imp::Place::default())
    }

    pub fn store(&self, value: Option<Arc<T>>) {
        imp::store(&self.0, value);
    }

    /// Borrows the value.
    #[inline]
    pub fn load(&self) -> imp::Held<T> {
        imp::load(&self.0)
    }

    /// Clones the pointer.
    pub fn load_full(&self) -> Option<Arc<T>> {
        imp::load(&self.0).clone()
    }
}

#[cfg(any(not(target_arch = "wasm32"), target_feature = "atomics"))]
mod imp {
    use std::sync::Arc;

    pub type Place<T> = arc_swap::ArcSwapOption<T>;
    pub type Held<T> = arc_swap::Guard<Option<Arc<T>>>;

    pub fn store<T>(place: &Place<T>, value: Option<Arc<T>>) {
        place.store(value);
    }

    #[inline]
    pub fn load<T>(place: &Place<T>) -> Held<T> {
        place.load()
    }
}

#[cfg(all(target_arch = "wasm32", not(target_feature = "atomics")))]
mod imp {
    use std::sync::{Arc, PoisonError, RwLock};

    pub struct Place<T>(RwLock<Option<Arc<T>>>);
    pub type Held<T> = Option<Arc<T>>;

    impl<T> Default for Place<T> {
        fn default() -> Self {
            Place(RwLock::new(None))
        }
    }

    pub fn store<T>(place: &Place<T>, value: Option<Arc<T>>) {
        let mut held = place.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *held, value);
        drop(held);
        drop(before);
    }

    pub fn load<T>(place: &Place<T>) -> Held<T> {
        place.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
