//! Synchronization primitives: those of the standard library, or models of them under which
//! `tests/concurrency` explores interleavings.
//!
//! * `--cfg shuttle`: random schedules from a seed. The block cache, reference counts and orderings
//!   weaker than sequential consistency are not modelled.
//! * `--cfg loom`: every schedule, and every value that the memory model allows a load to return, for
//!   the users of `lock_free`: the memtable, and pointers that are swapped under pins.

#[cfg(any(shuttle, all(target_arch = "wasm32", not(target_feature = "atomics"))))]
mod locked;

#[cfg(not(any(shuttle, all(target_arch = "wasm32", not(target_feature = "atomics")))))]
pub use arc_swap::ArcSwap;
/// A borrowed value of an [`ArcSwap`].
#[cfg(not(any(shuttle, all(target_arch = "wasm32", not(target_feature = "atomics")))))]
pub type Loaded<T> = arc_swap::Guard<std::sync::Arc<T>>;
#[cfg(any(shuttle, all(target_arch = "wasm32", not(target_feature = "atomics"))))]
pub use locked::{ArcSwap, Loaded};
#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, atomic};
#[cfg(not(shuttle))]
pub use std::sync::{Condvar, Mutex, MutexGuard, RwLock, atomic};

use std::sync::{PoisonError, TryLockError};

/// Locks, and ignores poisoning: every step of a change under a lock leaves the data consistent.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(all(
        any(target_feature = "atomics", test, feature = "testing"),
        not(any(loom, shuttle))
    ))]
    if let Some(guard) = serving::lock(mutex) {
        return guard;
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks, if that waits for nobody; ignores poisoning as [`lock`] does.
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Whether a thread panicked while it held the lock: for those few that guard more than memory.
#[cfg(not(any(target_arch = "wasm32", shuttle)))]
pub fn is_poisoned<T>(mutex: &Mutex<T>) -> bool {
    mutex.is_poisoned()
}

/// A model catches no panics, and none outlives a panic in a browser.
#[cfg(any(target_arch = "wasm32", shuttle))]
pub fn is_poisoned<T>(_: &Mutex<T>) -> bool {
    false
}

#[cfg(all(any(target_feature = "atomics", test, feature = "testing"), not(any(loom, shuttle))))]
pub mod serving;

#[cfg(loom)]
mod epoch_model;
/// Primitives of the lock-free structures.
#[cfg_attr(loom, path = "loomed.rs")]
pub(crate) mod lock_free;
#[cfg(not(loom))]
pub(crate) mod swap;
#[cfg(loom)]
pub mod swap;
mod tallies;

pub use swap::Swap;
#[cfg(not(target_arch = "wasm32"))]
pub use swap::{Pin, Pinned};
pub use tallies::{Own, Tallies};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_poisoned_once_a_thread_panicked_while_it_held_it() {
        let mutex = Mutex::new(());
        drop(lock(&mutex));
        assert!(!is_poisoned(&mutex));
        let panics = || {
            let _held = lock(&mutex);
            panic!("while it holds the lock");
        };
        assert!(std::thread::scope(|threads| threads.spawn(panics).join().is_err()));
        assert!(is_poisoned(&mutex));
    }
}
