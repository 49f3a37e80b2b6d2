//! Retries of transactions run one at a time, so that none starves.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// The longest wait for a turn. A transaction that waits longer runs without one, against a deadlock: its body may wait
/// for another store, whose transactions wait for this one.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// The turns of a store.
#[derive(Default)]
pub(crate) struct Retries {
    /// The thread that has the turn.
    owner: Mutex<Option<ThreadId>>,
    free: Condvar,
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a>(Option<&'a Retries>);

impl Retries {
    /// Waits for a turn. A transaction within the body of one that has the turn needs none.
    pub fn wait(&self) -> Turn<'_> {
        let this = std::thread::current().id();
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if *owner == Some(this) {
            return Turn(None);
        }
        let (mut owner, _) = self
            .free
            .wait_timeout_while(owner, WAIT_MAX, |owner| owner.is_some())
            .unwrap_or_else(PoisonError::into_inner);
        if owner.is_some() {
            return Turn(None);
        }
        *owner = Some(this);
        Turn(Some(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(retries) = self.0 {
            *retries.owner.lock().unwrap_or_else(PoisonError::into_inner) = None;
            retries.free.notify_one();
        }
    }
}
