//! Metrics: counters of the doors.
//!
//! * `scrape` - these counters and the store's statistics at one moment, as text for Prometheus.

mod scrape;

pub(crate) use scrape::text;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::{counter, family::Family, histogram::Histogram};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the times of requests, in seconds.
const SECONDS: [f64; 10] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0];

/// A number that only grows.
#[derive(Debug, Default)]
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
#[derive(Debug)]
pub struct Metrics {
    /// Commands of Redis's protocol that were answered.
    pub resp_commands: Counter,
    /// Connections that were accepted, of both doors.
    pub connections_accepted: Counter,
    /// Connections that were refused since there were too many.
    pub connections_refused: Counter,
    http_requests: Family<Answered, counter::Counter>,
    http_seconds: Histogram,
}

/// Labels of answered requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    status: u16,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            resp_commands: Counter::default(),
            connections_accepted: Counter::default(),
            connections_refused: Counter::default(),
            http_requests: Family::default(),
            http_seconds: Histogram::new(SECONDS),
        }
    }
}

impl Metrics {
    /// Counts a request of HTTP whose answer started after `time`. Methods that no route has are counted together.
    pub(crate) fn count_request(&self, method: &str, status: u16, time: Duration) {
        let known = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"];
        let method = known.into_iter().find(|known| *known == method).unwrap_or("other");
        self.http_requests.get_or_create(&Answered { method, status }).inc();
        self.http_seconds.observe(time.as_secs_f64());
    }
}
