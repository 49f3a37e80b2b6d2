//! The locks of a thread that others ask for what only it can do, such as access to files: one of them
//! may hold the lock while it waits for the other, so that a thread that waits for a lock serves them.

use super::{Mutex, MutexGuard};
use std::cell::Cell;
use std::sync::{PoisonError, TryLockError};

thread_local! {
    static SERVE: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// From now on this thread calls `serve` for as long as it waits for a lock. `serve` itself must take
/// none of the store's locks.
pub fn while_locking(serve: fn()) {
    SERVE.set(Some(serve));
}

/// Locks, if this thread serves others.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let serve = SERVE.try_with(Cell::get).ok().flatten()?;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => {
                return Some(PoisonError::into_inner(poisoned));
            }
            Err(TryLockError::WouldBlock) => serve(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sync::{Mutex, lock};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    static ASKED: AtomicBool = AtomicBool::new(false);
    static SERVED: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_thread_serves_the_one_that_holds_the_lock_it_waits_for() {
        let (mutex, held) = (Mutex::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut guard = lock(&mutex);
                held.store(true, Ordering::Release);
                ASKED.store(true, Ordering::Release);
                while !SERVED.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                *guard = 1;
            });
            scope.spawn(|| {
                super::while_locking(|| {
                    SERVED.fetch_or(ASKED.load(Ordering::Acquire), Ordering::AcqRel);
                });
                while !held.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                assert_eq!(*lock(&mutex), 1);
            });
        });
    }
}
