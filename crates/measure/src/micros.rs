//! Latencies as reports show them.

use serde::{Deserialize, Serialize};
use terrane_workload::Latencies;

/// Latencies of operations, in microseconds. Quantiles are at most 2 % too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Micros {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// Nine of ten take at most this.
    pub p90: f64,
    /// 99 of 100 take at most this.
    pub p99: f64,
    /// 999 of 1000 take at most this.
    pub p999: f64,
    /// 9999 of 10,000 take at most this.
    pub p9999: f64,
    /// The greatest.
    pub max: f64,
}

impl Micros {
    /// Returns the figures of `latencies`, which are 0 if nothing was counted.
    #[must_use]
    pub fn of(latencies: &Latencies) -> Self {
        let at = |share| latencies.quantile(share) as f64 / 1e3;
        let mean = latencies.figures().map_or(0.0, |latency| latency.mean * 1e6);
        let [p50, p90, p99, p999, p9999, max] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0].map(at);
        Micros { mean, p50, p90, p99, p999, p9999, max }
    }
}
