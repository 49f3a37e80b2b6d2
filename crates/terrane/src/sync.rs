//! Shared memory of threads: locks, atomics and pointers that are swapped, or models of them.

pub(crate) use terrane_platform::threads::pause;
pub(crate) use terrane_table::sync::{
    ArcSwap, Condvar, Loaded, Mutex, MutexGuard, Own, RwLock, Tallies, atomic, is_poisoned, lock,
    try_lock,
};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use terrane_table::sync::{Pin, Pinned, Swap};
