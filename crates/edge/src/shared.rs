//! What every connection has in common.

use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::tokens::Tokens;
use std::time::Instant;
use terrane::Durability;
use terrane_tokio::Db;
use tokio_util::sync::CancellationToken;

/// A store and the state of its server, for all connections of both doors.
pub struct Shared {
    /// The store.
    pub db: Db,
    /// Durability of writes that ask for none.
    pub durability: Durability,
    /// The tokens that are accepted.
    pub tokens: Tokens,
    /// Bounds of requests and connections.
    pub limits: Limits,
    /// Counters.
    pub metrics: Metrics,
    /// Cancelled when the drain starts: a connection answers what it has read, and closes.
    pub stopping: CancellationToken,
    /// Cancelled to ask for a drain, as by SIGTERM; for SHUTDOWN.
    pub shutdown: CancellationToken,
    /// Time of the start.
    pub started: Instant,
}
