//! A bound on the bytes that jobs flush and merge a second, in two lanes.
//!
//! 1. Whatever is granted takes its time at the rate, one grant after the other; a job waits until the time
//!    of those before it is over. What was not used is not saved up.
//! 2. Flushes wait only for flushes, and merges for all: so merges get what flushes leave.

/// Time at which the granted bytes are used up, in microseconds.
#[derive(Default)]
pub(super) struct RateLimiter {
    flushes: u64,
    all: u64,
}

impl RateLimiter {
    /// Asks at `now`, in microseconds, for `bytes` of a flush or of another job. Grants them, or returns the
    /// time to ask again.
    pub fn request(&mut self, now: u64, rate: u64, flush: bool, bytes: u64) -> Result<(), u64> {
        let free = if flush { self.flushes } else { self.all };
        if free > now {
            return Err(free);
        }
        let micros = u128::from(bytes) * 1_000_000 / u128::from(rate.max(1));
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        if flush {
            self.flushes = now.saturating_add(micros);
        }
        self.all = self.all.max(now).saturating_add(micros);
        Ok(())
    }

    /// Forgets what was granted: there is another rate.
    pub fn restart(&mut self) {
        *self = RateLimiter::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn merges_get_what_flushes_leave_and_both_at_most_the_rate() {
        let mut limiter = RateLimiter::default();
        let mut ask = |now, flush| limiter.request(now * SECOND, 100, flush, 100);
        assert_eq!(ask(1, false), Ok(()));
        assert_eq!(ask(1, false), Err(2 * SECOND), "a merge waits for the one before");
        assert_eq!(ask(1, true), Ok(()), "a flush does not");
        assert_eq!(ask(1, true), Err(2 * SECOND), "but for the flush before");
        assert_eq!(ask(2, false), Err(3 * SECOND), "and the merge for both");
        assert_eq!(ask(2, true), Ok(()));
        assert_eq!(ask(3, false), Err(4 * SECOND));
        assert_eq!(ask(9, false), Ok(()));
        assert_eq!(ask(9, false), Err(10 * SECOND), "nothing is saved up");
    }

    #[test]
    fn a_restart_forgets_what_the_old_rate_had_granted() {
        let mut limiter = RateLimiter::default();
        assert_eq!(limiter.request(SECOND, 1, true, 100), Ok(()));
        let waits = [true, false].map(|flush| limiter.request(SECOND, 1, flush, 1));
        assert_eq!(waits, [Err(101 * SECOND); 2]);
        limiter.restart();
        let waits = [false, true].map(|flush| limiter.request(SECOND, 100, flush, 1));
        assert_eq!(waits, [Ok(()); 2]);
    }
}
