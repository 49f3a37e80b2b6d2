//! Options of a backup.

use crate::error::{Error, Result};
use std::time::Duration;

/// Intervals of uploads: a shorter one would upload without a pause, a longer one would lose more than an hour.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(3600);
/// Bytes of logs after which a fresh base is made.
const BASE_BYTES: u64 = 64 << 20;

/// Options of a backup.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The longest time between two uploads while batches are written.
    pub interval: Duration,
    /// Age up to which moments can be restored.
    pub retention: Duration,
    /// Bytes of logs after which a fresh base is made: a restore replays at most about as many.
    pub base_bytes: u64,
    /// Whether the store continues a backup that another store has written last, which is fenced, or starts anew where
    /// its own backups are gone, in a lineage of its own.
    pub take_over: bool,
    /// Age from which objects that no kept manifest names are removed.
    #[doc(hidden)]
    pub removal_age: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            interval: Duration::from_secs(1),
            retention: Duration::from_secs(7 * 24 * 3600),
            base_bytes: BASE_BYTES,
            take_over: false,
            removal_age: Duration::from_secs(3600),
        }
    }
}

impl Options {
    /// Refuses an interval of uploads below a millisecond or over an hour.
    ///
    /// # Errors
    /// [`Error::Invalid`], with the interval.
    pub fn check(&self) -> Result<()> {
        if INTERVALS.contains(&self.interval) {
            return Ok(());
        }
        let found = humantime::format_duration(self.interval);
        Err(Error::invalid("interval of uploads", "1ms to 1h", found))
    }

    /// Sets the longest time between two uploads while batches are written.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the age up to which moments can be restored.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets whether the store continues a backup that another store has written last, which is fenced, or starts anew
    /// where its own backups are gone. It starts a lineage then, and readers of its change feed start anew. An operator
    /// decides this: no store should be started with it each time.
    #[must_use]
    pub fn take_over(mut self, take_over: bool) -> Self {
        self.take_over = take_over;
        self
    }

    /// Sets the bytes of logs after which a fresh base is made.
    #[must_use]
    pub fn base_bytes(mut self, bytes: u64) -> Self {
        self.base_bytes = bytes;
        self
    }
}
