//! Errors. Each is shown as a sentence that says what was expected and what was found.

use std::{fmt, io, sync::Arc};

#[doc(inline)]
pub use terrane_types::{Corruption, Stall};

/// The result of a call to the store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. The details are boxed, so that results stay small.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An I/O operation failed.
    #[error(transparent)]
    Io(Box<IoFailure>),
    /// The disk or the quota is full.
    #[error("{0}")]
    NoSpace(Box<NoSpace>),
    /// A read or write moved fewer bytes than asked for.
    #[error("{0}")]
    Short(Box<ShortIo>),
    /// Stored bytes are corrupt.
    #[error("{0}")]
    Corrupt(Box<Corruption>),
    /// There is no store at the given path, and none was to be created.
    #[error("{0}")]
    NoStore(Box<NoStore>),
    /// The store was written by a later release.
    #[error("{0}")]
    NewerFormat(Box<NewerFormat>),
    /// Another process, tab or worker holds the store.
    #[error("{0}")]
    Busy(Box<Busy>),
    /// An argument is invalid.
    #[error("{0}")]
    InvalidArgument(Box<InvalidArgument>),
    /// A keyspace has a policy that this build lacks: it was built without the feature `all`.
    #[error("the policy {0} is not in this build, which lacks the feature `all`")]
    // A pointer of one word, as the others are.
    #[allow(clippy::box_collection)]
    PolicyLeftOut(Box<String>),
    /// A write must wait until flushes or compactions have caught up. An executor runs jobs and
    /// retries the write.
    #[error("writes are stalled: {0}")]
    Stalled(Stall),
    /// An earlier write to the log failed, and what it left there is unknown. Reopen the store.
    #[error("the log is closed after a failed write ({0}); reopen the store")]
    Poisoned(Box<Error>),
    /// The object is closed or was dropped.
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
    /// A file handle.
    File,
    /// The thread that led a write group ended; whether the group was written is unknown.
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

/// A failed I/O operation.
#[derive(Clone, Debug, thiserror::Error)]
#[error("could not {action} {file}: {source}")]
pub struct IoFailure {
    /// The operation, as a verb: "read", "write", "sync".
    pub action: &'static str,
    /// The file.
    pub file: String,
    /// The error from the operating system or browser.
    pub source: Arc<io::Error>,
}

/// A message as the payload of an [`io::Error`]. A `String` would do, but its `Debug` code, which
/// escapes quotes, would have to be loaded by browsers.
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

/// A file that could not grow.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no space left for {file}{}", Needed(*.wanted))]
pub struct NoSpace {
    /// The file that could not grow.
    pub file: String,
    /// How many bytes were to be written; 0 if unknown.
    pub wanted: u64,
}

/// The part of the message that says how much did not fit, if that is known.
struct Needed(u64);

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            bytes => write!(f, ": {bytes} more bytes are needed"),
        }
    }
}

/// A read or write that moved fewer bytes than asked for.
#[derive(Clone, Debug, thiserror::Error)]
#[error("short {action} of {file} at {offset}: expected {expected} bytes, moved {found}")]
pub struct ShortIo {
    /// "read" or "write".
    pub action: &'static str,
    /// The file.
    pub file: String,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// Bytes asked for.
    pub expected: u64,
    /// Bytes moved; negative if the file system returned that.
    pub found: i64,
}

/// A place that holds no store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place} holds no Terrane store: {why}")]
pub struct NoStore {
    /// The directory, file or OPFS name.
    pub place: String,
    /// What was found instead.
    pub why: String,
}

/// Something that only a later release can read.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{file} was written by a later release: it has {found}, and this release knows {supported}"
)]
pub struct NewerFormat {
    /// The file it is in.
    pub file: String,
    /// What this release does not know: a version, a feature, a kind of file or entry.
    pub found: String,
    /// What this release knows.
    pub supported: String,
}

/// A store that is in use.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place} is in use by {holder}")]
pub struct Busy {
    /// The store.
    pub place: String,
    /// Who holds it, if known.
    pub holder: String,
}

/// An invalid argument.
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
    /// An I/O failure of `action` on `file`. A full disk or quota becomes [`Error::NoSpace`], with
    /// `wanted` bytes.
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

    /// Argument `what` should be `expected` and is `found`.
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

    /// A change refused because the store was opened read-only.
    #[must_use]
    pub fn read_only(action: &'static str, file: &str) -> Self {
        let why = Message("the store was opened read-only".to_owned());
        Error::io(action, file, 0, io::Error::new(io::ErrorKind::ReadOnlyFilesystem, why))
    }

    /// `file` has `found`, and this release only knows `supported`.
    #[cold]
    pub fn newer_format(
        file: &str,
        found: impl fmt::Display,
        supported: impl fmt::Display,
    ) -> Self {
        newer_format(file, &found, &supported)
    }

    /// `file` has required feature bits that are not among the `known` ones.
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
    fn an_io_failure_keeps_the_system_error_as_its_source() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let said = denied.to_string();
        let error = Error::io("read", "table", 0, denied);
        assert_eq!(error.source().map(ToString::to_string), Some(said.clone()));
        assert_eq!(error.to_string(), format!("could not read table: {said}"));
    }

    #[test]
    fn a_full_disk_says_how_much_is_needed_if_that_is_known() {
        assert_eq!(Error::no_space("log", 0).to_string(), "no space left for log");
        let known = "no space left for log: 512 more bytes are needed";
        assert_eq!(Error::no_space("log", 512).to_string(), known);
    }

    #[test]
    fn a_full_disk_or_quota_is_no_space_and_other_failures_are_not() {
        let of = |kind: io::ErrorKind| Error::io("write", "log", 9, kind.into());
        for full in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            assert!(matches!(of(full), Error::NoSpace(n) if n.file == "log" && n.wanted == 9));
        }
        assert!(matches!(of(io::ErrorKind::NotFound), Error::Io(_)));
    }

    #[test]
    fn a_newer_feature_is_named_by_its_first_unknown_bit() {
        let Error::NewerFormat(newer) = Error::newer_feature("log", 0b10110, 0b00110) else {
            panic!("another error");
        };
        assert_eq!((&*newer.found, &*newer.supported), ("required feature bit 4", "the bits 0x6"));
    }

    #[test]
    fn a_result_is_two_words_at_most() {
        assert!(size_of::<Result<(), Error>>() <= 2 * size_of::<usize>());
    }
}
