//! Failures to start a server.

use std::io;
use std::net::SocketAddr;

/// A failure to start or to end a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address on which the server cannot listen.
    #[error("could not listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A failure of the store.
    #[error(transparent)]
    Store(#[from] terrane::Error),
}
