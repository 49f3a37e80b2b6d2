//! Bounds of requests, connections and memory.
//!
//! 1. Requests and replies hold memory of a budget that both doors share, each for its bytes beyond 16 KiB.
//! 2. A request that finds too little is refused, and has no effect.

use crate::Config;
use crate::pace::Pace;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use terrane::batch::MAX_BATCH_BYTES;
use terrane::entry::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of each request and each reply that need no memory of the budget, so that short ones succeed while long ones
/// use it up.
pub(crate) const FREE_BYTES: usize = 16 << 10;

/// Bounds that both doors keep.
pub struct Limits {
    /// The longest key, in bytes.
    pub key_bytes: usize,
    /// The longest value, in bytes; no more than the memory for requests.
    pub value_bytes: usize,
    /// The most bytes of a transaction or a batch; no more than the memory for requests.
    pub batch_bytes: usize,
    /// Time for the head of a request, and between requests of HTTP.
    pub head_time: Duration,
    /// Span of time in which a long request must bring 1 KiB for each of its seconds.
    pub pace_span: Duration,
    /// Time after which a connection is closed if its peer reads nothing of a reply.
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
            pace_span: config.pace_span,
            reader_patience: config.reader_patience,
            budget: Arc::new(Budget { bytes_max: config.buffer_bytes, bytes: AtomicUsize::new(0) }),
        }
    }

    /// Takes the place of a connection. Returns `None` if all places are taken.
    pub(crate) fn connect(&self) -> Option<OwnedSemaphorePermit> {
        self.connections.clone().try_acquire_owned().ok()
    }

    /// Returns the number of open connections of both doors.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections_max - self.connections.available_permits()
    }

    /// Returns the greatest number of connections.
    #[must_use]
    pub fn connections_max(&self) -> usize {
        self.connections_max
    }

    /// Returns the longest body of a batch, which takes its memory twice.
    pub(crate) fn batch_body_bytes(&self) -> usize {
        self.batch_bytes.min(self.budget.bytes_max / 2)
    }

    /// Returns the bytes that requests and replies hold.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.budget.bytes.load(Ordering::Relaxed)
    }

    /// Returns an empty part of the memory for requests and replies.
    #[must_use]
    pub fn hold_nothing(&self) -> Held {
        Held { budget: self.budget.clone(), bytes: 0 }
    }

    /// Takes memory for a reply of `bytes`. Returns `None` if too little is left.
    #[must_use]
    pub fn hold(&self, bytes: usize) -> Option<Held> {
        let mut held = self.hold_nothing();
        held.cover_reply(bytes).then_some(held)
    }

    /// Returns the least pace of a long request that starts now.
    pub(crate) fn pace(&self) -> Pace {
        Pace::new(self.pace_span)
    }
}

/// Memory for requests that arrive or run, and for replies that are not sent yet.
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
    /// Grows to cover `bytes` in all. Returns whether enough memory was left.
    #[must_use]
    pub fn cover(&mut self, bytes: usize) -> bool {
        self.grow(bytes.saturating_sub(FREE_BYTES).saturating_sub(self.bytes))
    }

    /// Grows to cover a reply of `bytes`. A reply that exceeds the whole budget takes the whole budget: its value may
    /// have been written under another bound.
    #[must_use]
    pub fn cover_reply(&mut self, bytes: usize) -> bool {
        self.cover(bytes.min(self.budget.bytes_max))
    }

    /// Adds another part to this one.
    pub fn absorb(&mut self, mut other: Held) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let taken =
            |now: usize| now.checked_add(bytes).filter(|after| *after <= self.budget.bytes_max);
        let order = Ordering::Relaxed;
        let is_left = bytes == 0 || self.budget.bytes.fetch_update(order, order, taken).is_ok();
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

    const MOST: usize = 100_000;

    fn small() -> Limits {
        Limits::new(&Config { connections: 1, buffer_bytes: MOST, ..Config::default() })
    }

    #[test]
    fn memory_is_held_up_to_its_bound_and_returned() {
        let limits = small();
        let mut held = limits.hold(FREE_BYTES + 60_000).unwrap();
        assert!(limits.hold(FREE_BYTES + 40_001).is_none() && limits.hold(MOST + 1).is_none());
        assert!(held.cover(FREE_BYTES + MOST) && !held.cover(FREE_BYTES + MOST + 1));
        assert_eq!(limits.held_bytes(), MOST);
        // A short request takes nothing.
        let mut short = limits.hold(FREE_BYTES).unwrap();
        assert!(short.cover(FREE_BYTES) && !short.cover(FREE_BYTES + 1));
        short.absorb(held);
        assert_eq!(limits.held_bytes(), MOST);
        drop(short);
        assert_eq!(limits.held_bytes(), 0);
        assert!(limits.hold(MOST + 1).is_some());
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
