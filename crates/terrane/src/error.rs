//! Every way in which a call can fail, as a sentence that says what was expected and what was found.

use std::{fmt, io, sync::Arc};

/// The result of a call to the store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Cheap to clone: one failed sync answers every writer of its group.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The medium refused an operation.
    #[error("could not {action} {file}: {source}")]
    Io {
        /// The operation, as a verb: "read", "write", "sync".
        action: &'static str,
        /// The file, as the medium names it.
        file: String,
        /// What the operating system or browser said.
        source: Arc<io::Error>,
    },
    /// The medium is full, or the quota is reached.
    #[error("no space left for {file}: {wanted} more bytes are needed")]
    NoSpace {
        /// The file that could not grow.
        file: String,
        /// How many bytes were to be written.
        wanted: u64,
    },
    /// A read or write moved fewer bytes than it was given.
    #[error("short {action} of {file} at {offset}: expected {expected} bytes, moved {found}")]
    Short {
        /// "read" or "write".
        action: &'static str,
        /// The file.
        file: String,
        /// Where in the file, in bytes.
        offset: u64,
        /// Bytes asked for.
        expected: u64,
        /// Bytes moved; negative where the medium answered so.
        found: i64,
    },
    /// Stored bytes are not what was written.
    #[error("{0}")]
    Corrupt(Corruption),
    /// There is no store at the place given, and none was to be created.
    #[error("{place} holds no Terrane store: {why}")]
    NoStore {
        /// The directory, file or OPFS name.
        place: String,
        /// What was found instead.
        why: String,
    },
    /// The store was written by a later release.
    #[error("{file} has format {found}, and this release reads up to {supported}")]
    NewerFormat {
        /// The file that says so.
        file: String,
        /// The version, or the unknown required feature bits.
        found: String,
        /// What this release knows.
        supported: String,
    },
    /// Another process, tab or worker holds the store.
    #[error("{place} is in use by {holder}")]
    Busy {
        /// The store.
        place: String,
        /// Who holds it, as far as it said.
        holder: String,
    },
    /// An argument is outside its limits.
    #[error("{what}: expected {expected}, found {found}")]
    InvalidArgument {
        /// The argument.
        what: &'static str,
        /// What is allowed.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A write must wait until compaction or a flush has caught up; a driver runs jobs and retries.
    #[error("writes are stalled: {0}")]
    Stalled(Stall),
    /// An earlier write to the log failed: what it left there is unknown. Reopen the store.
    #[error("the log is closed after a failed write ({0}); reopen the store")]
    Poisoned(Box<Error>),
    /// The store, or the keyspace, is closed or dropped.
    #[error("{0} is closed")]
    Closed(&'static str),
}

/// Why writes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stall {
    /// As many sealed memtables wait for their flush as memory allows.
    Memtables,
    /// Level 0 holds as many runs as reads can bear.
    Level0,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stall::Memtables => "too many memtables wait to be flushed",
            Stall::Level0 => "too many runs wait in level 0",
        })
    }
}

/// Damage that was detected: where, what was expected there, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{file} is damaged at byte {offset}: expected {expected}, found {found}")]
pub struct Corruption {
    /// The file, as the storage names it.
    pub file: String,
    /// Offset in that file, in bytes.
    pub offset: u64,
    /// What a sound store has there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl Corruption {
    /// Damage in `file` at `offset`.
    pub fn new(
        file: impl Into<String>,
        offset: u64,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Corruption { file: file.into(), offset, expected: expected.into(), found: found.into() }
    }
}

impl From<Corruption> for Error {
    fn from(c: Corruption) -> Self {
        Error::Corrupt(c)
    }
}

impl Error {
    /// Wraps what the operating system said of `action` on `file`; a full disk or quota becomes
    /// [`Error::NoSpace`] (with `wanted` bytes).
    pub fn io(action: &'static str, file: &str, wanted: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::NoSpace { file: file.to_owned(), wanted }
            }
            _ => Error::Io { action, file: file.to_owned(), source: Arc::new(source) },
        }
    }
}
