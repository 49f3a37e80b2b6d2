//! The least pace of a long request that arrives: while it is under way, others lack the memory that it takes.
//!
//! 1. Time is cut into spans. In each, [`RATE`] bytes a second must arrive; once they have, the next span starts.
//! 2. A request that was fast at first has no advantage from it later.

use std::time::Duration;
use tokio::time::Instant;

/// Least bytes of a request in a second.
pub(crate) const RATE: u64 = 1024;

/// The pace of a request.
pub(crate) struct Pace {
    span: Duration,
    /// End of the span.
    deadline: Instant,
    /// Bytes that are missing in it.
    missing: usize,
}

impl Pace {
    /// Starts with a span.
    pub fn new(span: Duration) -> Self {
        let mut pace = Pace { span, deadline: Instant::now(), missing: 0 };
        pace.start_span();
        pace
    }

    /// Returns the time by which more must have arrived.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Notes bytes that have arrived.
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
        // What is more than a span needs is of no use for the next.
        pace.arrived(50 << 20);
        let second = pace.deadline();
        pace.arrived(10_239);
        assert_eq!(pace.deadline(), second);
    }
}
