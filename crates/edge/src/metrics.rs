//! Counters of the doors.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of a server since its start.
#[derive(Default)]
pub struct Metrics {
    /// Requests of HTTP that were answered.
    pub http_requests: Counter,
    /// Commands of Redis's protocol that were answered.
    pub resp_commands: Counter,
    /// Connections that were accepted, of both doors.
    pub connections_accepted: Counter,
    /// Connections that were refused since there were too many.
    pub connections_refused: Counter,
}
