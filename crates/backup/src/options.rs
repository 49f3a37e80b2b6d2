//! Options of a backup.

use std::time::Duration;

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
            removal_age: Duration::from_secs(3600),
        }
    }
}

impl Options {
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

    /// Sets the bytes of logs after which a fresh base is made.
    #[must_use]
    pub fn base_bytes(mut self, bytes: u64) -> Self {
        self.base_bytes = bytes;
        self
    }
}
