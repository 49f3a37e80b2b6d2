//! The least pace at which a long request must arrive: until it is complete, others lack the memory that it takes.
//!
//! 1. Time is cut into spans. In each, [`RATE`] bytes a second must arrive; once they have, the next span starts.
//! 2. Bytes beyond those of a span do not count for the next: a fast start is no excuse for a stop.

use std::time::Duration;
use tokio::time::Instant;

/// Bytes of a request that must arrive in a second.
pub(crate) const RATE: u64 = 1024;

/// The pace of a request.
pub(crate) struct Pace {
    span: Duration,
    /// End of the current span.
    deadline: Instant,
    /// Bytes that the current span still lacks.
    missing: usize,
}

impl Pace {
    /// Starts the first span.
    pub fn new(span: Duration) -> Self {
        let mut pace = Pace { span, deadline: Instant::now(), missing: 0 };
        pace.start_span();
        pace
    }

    /// Returns the time by which the missing bytes must have arrived.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Counts `bytes` that have arrived.
    pub fn arrived(&mut self, bytes: usize) {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            self.start_span();
        }
    }

    fn start_span(&mut self) {
        let bytes = u128::from(RATE) * self.span.as_millis() / 1000;
        self.missing = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
        self.deadline = Instant::now() + self.span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ends_when_its_bytes_have_arrived() {
        let mut pace = Pace::new(Duration::from_secs(10));
        let first = pace.deadline();
        pace.arrived(10_239);
        assert_eq!(pace.deadline(), first);
        pace.arrived(1);
        assert!(pace.deadline() > first);
        // Bytes beyond those of a span do not count for the next.
        pace.arrived(50 << 20);
        let second = pace.deadline();
        pace.arrived(10_239);
        assert_eq!(pace.deadline(), second);
    }
}
