//! What threads share memory by: the locks and atomics of the standard library, or models of them,
//! under which `tests/concurrency` tries many interleavings:
//!
//! * `--cfg shuttle`: orders drawn from a seed. Not modelled are the block cache, reference counts
//!   and memory weaker than sequentially consistent.
//! * `--cfg loom`: every order, and every value that the memory model lets a load find, for what is
//!   taken from `lock_free`: the memtable.

#[cfg(shuttle)]
pub use shuttle::sync::{Mutex, MutexGuard, atomic};
#[cfg(not(shuttle))]
pub use std::sync::{Mutex, MutexGuard, atomic};

use std::sync::PoisonError;

/// Locks; a thread that panicked while it held the lock does not make the data worse, since every
/// change under a lock is made of steps that each leave it sound.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a structure that readers use without locks is made of.
#[cfg_attr(loom, path = "loomed.rs")]
pub(crate) mod lock_free;
pub(crate) mod swap;
