//! Bounds of requests, connections and memory.

use crate::Config;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use terrane::batch::MAX_BATCH_BYTES;
use terrane::entry::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds that both doors keep.
pub struct Limits {
    /// The longest key, in bytes.
    pub key_bytes: usize,
    /// The longest value, in bytes; no more than the memory for requests.
    pub value_bytes: usize,
    /// The most bytes of a transaction or a batch, likewise.
    pub batch_bytes: usize,
    /// Time for the head of a request, and between requests of HTTP.
    pub head_time: Duration,
    /// Time that the body of a request takes at most, beside a second for each KiB.
    pub body_grace: Duration,
    /// Time after which a connection is closed whose peer reads nothing of what it should.
    pub reader_patience: Duration,
    connections_max: usize,
    connections: Arc<Semaphore>,
    budget: Arc<Budget>,
}

impl Limits {
    pub(crate) fn new(config: &Config) -> Self {
        let connections_max = config.connections.min(Semaphore::MAX_PERMITS);
        Limits {
            key_bytes: MAX_KEY_BYTES,
            value_bytes: MAX_VALUE_BYTES.min(config.buffer_bytes),
            batch_bytes: MAX_BATCH_BYTES.min(config.buffer_bytes),
            connections_max,
            connections: Arc::new(Semaphore::new(connections_max)),
            head_time: config.head_time,
            body_grace: config.body_grace,
            reader_patience: config.reader_patience,
            budget: Arc::new(Budget { bytes_max: config.buffer_bytes, bytes: AtomicUsize::new(0) }),
        }
    }

    /// Takes the place of a connection; `None` if all are taken.
    pub(crate) fn connect(&self) -> Option<OwnedSemaphorePermit> {
        self.connections.clone().try_acquire_owned().ok()
    }

    /// Returns the number of open connections, of both doors.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections_max - self.connections.available_permits()
    }

    /// Returns the most connections.
    #[must_use]
    pub fn connections_max(&self) -> usize {
        self.connections_max
    }

    /// Returns the bytes of requests and replies that are held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.budget.bytes.load(Ordering::Relaxed)
    }

    /// Returns a part of the memory for requests and replies, empty at first.
    #[must_use]
    pub fn hold_nothing(&self) -> Held {
        Held { budget: self.budget.clone(), bytes: 0 }
    }

    /// Takes a part of the memory for requests and replies; `None` if too little is left. What exceeds all of it takes
    /// all of it: a value may have been written under another bound.
    #[must_use]
    pub fn hold(&self, bytes: usize) -> Option<Held> {
        let mut held = self.hold_nothing();
        held.grow(bytes.min(self.budget.bytes_max)).then_some(held)
    }
}

/// Memory for requests that are read or carried out, and for replies that are not sent yet.
struct Budget {
    bytes_max: usize,
    bytes: AtomicUsize,
}

/// A part of the memory for requests and replies, returned when dropped.
pub struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Held {
    /// Takes `bytes` more; returns whether they were left.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let taken =
            |now: usize| now.checked_add(bytes).filter(|after| *after <= self.budget.bytes_max);
        let order = Ordering::Relaxed;
        let is_left = self.budget.bytes.fetch_update(order, order, taken).is_ok();
        if is_left {
            self.bytes += bytes;
        }
        is_left
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Limits {
        Limits::new(&Config { connections: 1, buffer_bytes: 100, ..Config::default() })
    }

    #[test]
    fn memory_is_held_up_to_its_bound_and_returned() {
        let limits = small();
        let mut held = limits.hold(60).unwrap();
        assert!(limits.hold(41).is_none() && limits.hold(101).is_none());
        assert!(held.grow(40) && !held.grow(1));
        assert_eq!(limits.held_bytes(), 100);
        drop(held);
        assert_eq!(limits.held_bytes(), 0);
        assert!(limits.hold(101).is_some());
    }

    #[test]
    fn a_connection_takes_one_of_the_places() {
        let limits = small();
        let place = limits.connect().unwrap();
        assert!(limits.connect().is_none());
        assert_eq!((limits.connections(), limits.connections_max()), (1, 1));
        drop(place);
        assert!(limits.connect().is_some());
    }
}
