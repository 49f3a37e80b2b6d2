//! Failures to start a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// An address that others reach, without tokens.
    #[error(
        "expected a loopback address or a file of tokens, found {address} without tokens; for \
         example: 127.0.0.1:4540"
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// A file that cannot be read.
    #[error("could not read {}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A directory that cannot be created.
    #[error("could not create {}: {source}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A malformed file.
    #[error("{place}: {sentence}")]
    Malformed {
        /// The file, and the line in it.
        place: String,
        /// Sentence about what was expected and found.
        sentence: String,
    },
    /// A failure to start the server's threads, or to listen for signals.
    #[error("could not {action}: {source}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A failure to start the backup.
    #[error("the backup: {0}")]
    Backup(#[from] terrane_backup::Error),
    /// A failure of the store.
    #[error(transparent)]
    Store(#[from] terrane::Error),
}
