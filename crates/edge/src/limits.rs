//! Bounds of requests and connections.

use std::sync::Arc;
use terrane::entry::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds that both doors keep.
pub struct Limits {
    /// The longest key, in bytes.
    pub key_bytes: usize,
    /// The longest value, in bytes.
    pub value_bytes: usize,
    /// The most bytes of a transaction or a batch.
    pub batch_bytes: usize,
    connections_max: usize,
    connections: Arc<Semaphore>,
}

impl Limits {
    pub(crate) fn new(connections: usize) -> Self {
        let connections_max = connections.min(Semaphore::MAX_PERMITS);
        Limits {
            key_bytes: MAX_KEY_BYTES,
            value_bytes: MAX_VALUE_BYTES,
            batch_bytes: 256 << 20,
            connections_max,
            connections: Arc::new(Semaphore::new(connections_max)),
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
}
