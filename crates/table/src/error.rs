//! Every way in which a call can fail, as a sentence that says what was expected and what was found.

use std::{fmt, io, sync::Arc};

#[doc(inline)]
pub use terrane_types::{Corruption, Stall};

/// The result of a call to the store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. What a variant tells lies behind a
/// pointer, so that a call that succeeds does not carry the room for it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused an operation.
    #[error(transparent)]
    Io(Box<IoFailure>),
    /// The file system is full, or the quota is reached.
    #[error("{0}")]
    NoSpace(Box<NoSpace>),
    /// A read or write moved fewer bytes than it was given.
    #[error("{0}")]
    Short(Box<ShortIo>),
    /// Stored bytes are not what was written.
    #[error("{0}")]
    Corrupt(Box<Corruption>),
    /// There is no store at the place given, and none was to be created.
    #[error("{0}")]
    NoStore(Box<NoStore>),
    /// The store was written by a later release.
    #[error("{0}")]
    NewerFormat(Box<NewerFormat>),
    /// Another process, tab or worker holds the store.
    #[error("{0}")]
    Busy(Box<Busy>),
    /// An argument is outside its limits.
    #[error("{0}")]
    InvalidArgument(Box<InvalidArgument>),
    /// A write must wait until compaction or a flush has caught up; a executor runs jobs and retries.
    #[error("writes are stalled: {0}")]
    Stalled(Stall),
    /// An earlier write to the log failed: what it left there is unknown. Reopen the store.
    #[error("the log is closed after a failed write ({0}); reopen the store")]
    Poisoned(Box<Error>),
    /// What was called is closed, or dropped.
    #[error("{0} is closed")]
    Closed(Closed),
}

/// What is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The store.
    Store,
    /// A keyspace that was dropped.
    Keyspace,
    /// A snapshot.
    Snapshot,
    /// A handle of a file.
    File,
    /// The thread that led a group of writes: what became of them is not known.
    Leader,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Closed::Store => "the store",
            Closed::Keyspace => "the keyspace",
            Closed::Snapshot => "the snapshot",
            Closed::File => "the file's handle",
            Closed::Leader => "the thread that led this write",
        })
    }
}

/// What a file system said.
#[derive(Clone, Debug, thiserror::Error)]
#[error("could not {action} {file}: {source}")]
pub struct IoFailure {
    /// The operation, as a verb: "read", "write", "sync".
    pub action: &'static str,
    /// The file, as the file system names it.
    pub file: String,
    /// The error of the operating system or browser.
    pub source: Arc<io::Error>,
}

/// A failure in a file system's own words, as an [`io::Error`] takes it. A plain text would do, but for
/// the code that shows one with its quotes escaped, which a browser would load.
pub struct Message(pub String);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Message {}

/// What did not fit.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no space left for {file}{}", Needed(*.wanted))]
pub struct NoSpace {
    /// The file that could not grow.
    pub file: String,
    /// How many bytes were to be written; 0 where that is not known.
    pub wanted: u64,
}

/// How much did not fit, where that is known.
struct Needed(u64);

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            bytes => write!(f, ": {bytes} more bytes are needed"),
        }
    }
}

/// What was read or written in part.
#[derive(Clone, Debug, thiserror::Error)]
#[error("short {action} of {file} at {offset}: expected {expected} bytes, moved {found}")]
pub struct ShortIo {
    /// "read" or "write".
    pub action: &'static str,
    /// The file.
    pub file: String,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// Bytes asked for.
    pub expected: u64,
    /// Bytes moved; negative where the file system returned that.
    pub found: i64,
}

/// Where a store was expected.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place} holds no Terrane store: {why}")]
pub struct NoStore {
    /// The directory, file or OPFS name.
    pub place: String,
    /// What was found instead.
    pub why: String,
}

/// What a later release wrote.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{file} was written by a later release: it has {found}, and this release knows {supported}"
)]
pub struct NewerFormat {
    /// The file that says so.
    pub file: String,
    /// What in it this release does not know: a version, a feature, a kind of file or entry.
    pub found: String,
    /// What this release knows.
    pub supported: String,
}

/// Who holds a store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place} is in use by {holder}")]
pub struct Busy {
    /// The store.
    pub place: String,
    /// Who holds it, as far as is known.
    pub holder: String,
}

/// An argument that was not taken.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct InvalidArgument {
    /// The argument.
    pub what: &'static str,
    /// What is allowed.
    pub expected: String,
    /// What was given.
    pub found: String,
}

impl From<Corruption> for Error {
    fn from(damage: Corruption) -> Self {
        Error::Corrupt(Box::new(damage))
    }
}

impl Error {
    /// Wraps the operating system's error from `action` on `file`; a full disk or quota becomes
    /// [`Error::NoSpace`] (with `wanted` bytes).
    #[cold]
    pub fn io(action: &'static str, file: &str, wanted: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::no_space(file, wanted)
            }
            _ => {
                let source = Arc::new(source);
                Error::Io(Box::new(IoFailure { action, file: file.to_owned(), source }))
            }
        }
    }

    /// `file` could not grow by `wanted` bytes.
    #[cold]
    #[inline(never)]
    pub fn no_space(file: &str, wanted: u64) -> Self {
        Error::NoSpace(Box::new(NoSpace { file: file.to_owned(), wanted }))
    }

    /// `what` is to be `expected`, and is `found`.
    #[cold]
    pub fn invalid(
        what: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        invalid(what, &expected, &found)
    }

    /// `action` moved `found` of `expected` bytes.
    #[cold]
    #[inline(never)]
    pub fn short(action: &'static str, file: &str, offset: u64, expected: u64, found: i64) -> Self {
        Error::Short(Box::new(ShortIo { action, file: file.to_owned(), offset, expected, found }))
    }

    /// A change that is refused, as the store was opened to be read only.
    #[must_use]
    pub fn read_only(action: &'static str, file: &str) -> Self {
        let why = Message("the store was opened read-only".to_owned());
        Error::io(action, file, 0, io::Error::new(io::ErrorKind::ReadOnlyFilesystem, why))
    }

    /// `file` has something that this release, which knows `supported`, does not know.
    #[cold]
    pub fn newer_format(
        file: &str,
        found: impl fmt::Display,
        supported: impl fmt::Display,
    ) -> Self {
        newer_format(file, &found, &supported)
    }

    /// `file` has required feature bits of which some are not among the `known` ones.
    #[cold]
    pub fn newer_feature(file: &str, required: u32, known: u32) -> Self {
        let bit = (required & !known).trailing_zeros();
        let found = format_args!("required feature bit {bit}");
        newer_format(file, &found, &format_args!("the bits {known:#x}"))
    }

    /// `holder` has `place`.
    #[cfg(not(target_arch = "wasm32"))]
    #[cold]
    pub fn busy(place: String, holder: String) -> Self {
        Error::Busy(Box::new(Busy { place, holder }))
    }

    /// `place` holds no store: `why`.
    #[cold]
    #[inline(never)]
    pub fn no_store(place: impl Into<String>, why: impl Into<String>) -> Self {
        Error::NoStore(Box::new(NoStore { place: place.into(), why: why.into() }))
    }
}

#[inline(never)]
fn newer_format(file: &str, found: &dyn fmt::Display, supported: &dyn fmt::Display) -> Error {
    let (found, supported) = (found.to_string(), supported.to_string());
    Error::NewerFormat(Box::new(NewerFormat { file: file.to_owned(), found, supported }))
}

#[inline(never)]
fn invalid(what: &'static str, expected: &dyn fmt::Display, found: &dyn fmt::Display) -> Error {
    let (expected, found) = (expected.to_string(), found.to_string());
    Error::InvalidArgument(Box::new(InvalidArgument { what, expected, found }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn a_refusal_of_the_vfs_keeps_what_the_system_said_as_its_source() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let said = denied.to_string();
        let error = Error::io("read", "table", 0, denied);
        assert_eq!(error.source().map(ToString::to_string), Some(said.clone()));
        assert_eq!(error.to_string(), format!("could not read table: {said}"));
    }

    #[test]
    fn a_full_vfs_says_how_much_is_needed_where_it_is_known() {
        assert_eq!(Error::no_space("log", 0).to_string(), "no space left for log");
        let known = "no space left for log: 512 more bytes are needed";
        assert_eq!(Error::no_space("log", 512).to_string(), known);
    }

    #[test]
    fn a_result_has_no_room_for_what_an_error_tells() {
        assert!(size_of::<Result<(), Error>>() <= 2 * size_of::<usize>());
    }
}
