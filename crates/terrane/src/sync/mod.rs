//! Shared memory of threads: the locks and atomics of [`terrane_table::sync`], a pointer that is
//! swapped, and the threads.
//!
//! A product build has those of the standard library, `arc-swap` and `rayon` (`native`). A build
//! with `--cfg shuttle` has models of them.

#[cfg(any(shuttle, all(target_arch = "wasm32", not(target_feature = "atomics"))))]
mod locked;
#[cfg(not(shuttle))]
mod native;
#[cfg(shuttle)]
mod shuttled;

#[cfg(not(shuttle))]
pub(crate) use native::*;
#[cfg(shuttle)]
pub(crate) use shuttled::*;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use terrane_table::sync::is_poisoned;
pub(crate) use terrane_table::sync::{Mutex, MutexGuard, atomic, lock, try_lock};
