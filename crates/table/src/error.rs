//! Errors. Each is shown as a sentence that says what was expected and what was found.

mod cursor;

pub use cursor::{CursorProblem, CursorRefused};

use std::{fmt, io, sync::Arc};

#[doc(inline)]
pub use terrane_types::{Corruption, Stall};

/// The result of a call to the store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a call; [`kind`](Error::kind) has the details. It is one pointer, so that results stay small
/// and errors can be cloned.
#[derive(Clone)]
pub struct Error(Arc<ErrorKind>);

/// Kind of an error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An I/O operation failed.
    #[error(transparent)]
    Io(IoFailure),
    /// The disk or the quota is full.
    #[error("{0}")]
    NoSpace(NoSpace),
    /// A read or write moved fewer bytes than asked for.
    #[error("{0}")]
    Short(ShortIo),
    /// Stored bytes are corrupt.
    #[error("{0}")]
    Corrupt(Corruption),
    /// There is no store at the given path, and `create` is off.
    #[error("{0}")]
    NoStore(NoStore),
    /// The store was written by a later release.
    #[error("{0}")]
    NewerFormat(NewerFormat),
    /// Another process, tab or worker holds the store.
    #[error("{0}")]
    Busy(Busy),
    /// An argument is invalid.
    #[error("{0}")]
    InvalidArgument(InvalidArgument),
    /// The store has something that this build lacks, a policy or merges: it was built without the feature `all`.
    #[error("this build lacks the feature `all`, and so {0}")]
    LeftOut(String),
    /// A transaction whose reads other writes changed before it could commit, each time that it ran.
    #[error("other writes changed what the transaction read, in each of its 10 tries")]
    Conflict,
    /// A lookup that may not touch a file needs one. Callers get it as a result.
    #[doc(hidden)]
    #[error("expected the key's blocks in the cache, found that a file must be read")]
    WouldRead,
    /// A write must wait until flushes or compactions have caught up. An executor runs jobs and
    /// retries the write.
    #[error("writes are stalled: {0}")]
    Stalled(Stall),
    /// An earlier write to the log failed, and what it left there is unknown. Reopen the store.
    #[error("the log is closed after a failed write ({0}); reopen the store")]
    Poisoned(Error),
    /// A background job panicked, and what it left in memory is unknown. Reads continue; reopen the store to
    /// write.
    #[cfg(not(target_arch = "wasm32"))]
    #[error("{0}")]
    JobPanicked(JobPanicked),
    /// The object is closed or was dropped.
    #[error("{0}")]
    Closed(Closed),
    /// The change feed cannot continue from a cursor.
    #[error("{0}")]
    Cursor(CursorRefused),
}

impl Error {
    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Whether the disk or the quota is full.
    #[must_use]
    pub fn is_no_space(&self) -> bool {
        matches!(self.kind(), ErrorKind::NoSpace(_))
    }

    /// Returns the kind of the operating system's or browser's error, if an I/O operation failed.
    #[must_use]
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self.kind() {
            ErrorKind::Io(failure) => Some(failure.source.kind()),
            _ => None,
        }
    }

    /// The damage, if stored bytes are corrupt.
    ///
    /// # Errors
    /// Any other error, as it is.
    pub fn into_corruption(self) -> Result<Corruption> {
        match self.kind() {
            ErrorKind::Corrupt(damage) => Ok(damage.clone()),
            _ => Err(self),
        }
    }

    /// Takes the kind of the error, with its details.
    #[must_use]
    pub fn into_kind(self) -> ErrorKind {
        Arc::unwrap_or_clone(self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    #[inline(never)]
    fn from(kind: ErrorKind) -> Self {
        Error(Arc::new(kind))
    }
}

impl From<Closed> for Error {
    #[cold]
    #[inline(never)]
    fn from(what: Closed) -> Self {
        ErrorKind::Closed(what).into()
    }
}

impl From<Corruption> for Error {
    #[cold]
    #[inline(never)]
    fn from(damage: Corruption) -> Self {
        ErrorKind::Corrupt(damage).into()
    }
}

/// The closed thing.
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
    /// The store, in a child process that was forked from the process that opened it.
    Forked,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Closed::Store => "the store is closed",
            Closed::Keyspace => "the keyspace was dropped",
            Closed::Snapshot => "the snapshot is closed",
            Closed::File => "the file's handle is closed",
            Closed::Leader => {
                "the thread committing this write died; whether it was committed is unknown"
            }
            Closed::Forked => "the store is closed in a child process forked by its owner",
        })
    }
}

/// A failed I/O operation.
#[derive(Clone, Debug, thiserror::Error)]
#[error("could not {action} {file}: {}", Cause(.source))]
pub struct IoFailure {
    /// The operation, as a verb: "read", "write", "sync".
    pub action: &'static str,
    /// The file.
    pub file: String,
    /// The error from the operating system or browser.
    pub source: Arc<io::Error>,
}

/// Message of the system. A browser's errors have a [`Message`], so that the words for all kinds, which
/// the standard library has, need not be loaded there.
struct Cause<'a>(&'a io::Error);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get_ref() {
            Some(message) => fmt::Display::fmt(message, f),
            None if cfg!(target_arch = "wasm32") => f.write_str("an I/O error"),
            None => self.0.fmt(f),
        }
    }
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
    /// Number of bytes that the write needed; 0 if unknown.
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

/// A background job that panicked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a background job panicked ({job}: {message}); reopen the store")]
pub struct JobPanicked {
    /// The job, such as "flush of keyspace default".
    pub job: String,
    /// The panic's message.
    pub message: String,
}

/// A place that holds no store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place} holds no Terrane store: {why}")]
pub struct NoStore {
    /// The directory, file or OPFS name.
    pub place: String,
    /// Content found instead.
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
    /// Unknown part: a version, a feature, a kind of file or entry.
    pub found: String,
    /// Known versions or features of this release.
    pub supported: String,
}

/// A store that is in use.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place} is in use by {holder}")]
pub struct Busy {
    /// The store.
    pub place: String,
    /// Holder of the store, if known.
    pub holder: String,
}

/// An invalid argument.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct InvalidArgument {
    /// The argument.
    pub what: &'static str,
    /// Allowed value.
    pub expected: String,
    /// Given value.
    pub found: String,
}

impl Error {
    /// An I/O failure of `action` on `file`. A full disk or quota becomes [`ErrorKind::NoSpace`], with
    /// `wanted` bytes.
    #[cold]
    pub fn io(action: &'static str, file: &str, wanted: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::no_space(file, wanted)
            }
            _ => {
                let source = Arc::new(source);
                ErrorKind::Io(IoFailure { action, file: file.to_owned(), source }).into()
            }
        }
    }

    /// An earlier failure, `cause`, left bytes in the log of which nothing is known. A panic says itself the
    /// remedy.
    #[cold]
    #[must_use]
    pub fn poisoned(cause: &Error) -> Self {
        #[cfg(not(target_arch = "wasm32"))]
        if matches!(cause.kind(), ErrorKind::JobPanicked(_)) {
            return cause.clone();
        }
        ErrorKind::Poisoned(cause.clone()).into()
    }

    /// `file` could not grow by `wanted` bytes.
    #[cold]
    #[inline(never)]
    pub fn no_space(file: &str, wanted: u64) -> Self {
        ErrorKind::NoSpace(NoSpace { file: file.to_owned(), wanted }).into()
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
        ErrorKind::Short(ShortIo { action, file: file.to_owned(), offset, expected, found }).into()
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

    /// `job` panicked with `message`.
    #[cfg(not(target_arch = "wasm32"))]
    #[cold]
    #[must_use]
    pub fn job_panicked(job: String, message: String) -> Self {
        ErrorKind::JobPanicked(JobPanicked { job, message }).into()
    }

    /// `job` panicked: a browser's module ends with a panic, and its store with the module.
    #[cfg(target_arch = "wasm32")]
    #[must_use]
    pub fn job_panicked(_job: String, _message: String) -> Self {
        Closed::Store.into()
    }

    /// `holder` has `place`.
    #[cold]
    pub fn busy(place: String, holder: String) -> Self {
        ErrorKind::Busy(Busy { place, holder }).into()
    }

    /// `place` holds no store: `why`.
    #[cold]
    #[inline(never)]
    pub fn no_store(place: impl Into<String>, why: impl Into<String>) -> Self {
        ErrorKind::NoStore(NoStore { place: place.into(), why: why.into() }).into()
    }
}

#[inline(never)]
fn newer_format(file: &str, found: &dyn fmt::Display, supported: &dyn fmt::Display) -> Error {
    let (found, supported) = (found.to_string(), supported.to_string());
    ErrorKind::NewerFormat(NewerFormat { file: file.to_owned(), found, supported }).into()
}

#[inline(never)]
fn invalid(what: &'static str, expected: &dyn fmt::Display, found: &dyn fmt::Display) -> Error {
    let (expected, found) = (expected.to_string(), found.to_string());
    ErrorKind::InvalidArgument(InvalidArgument { what, expected, found }).into()
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
            let error = of(full);
            assert!(
                matches!(error.kind(), ErrorKind::NoSpace(n) if n.file == "log" && n.wanted == 9)
            );
            assert_eq!((error.is_no_space(), error.io_kind()), (true, None));
        }
        let missing = of(io::ErrorKind::NotFound);
        assert!(matches!(missing.kind(), ErrorKind::Io(_)) && !missing.is_no_space());
        assert_eq!(missing.io_kind(), Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_newer_feature_is_named_by_its_first_unknown_bit() {
        let newer = Error::newer_feature("log", 0b10110, 0b00110);
        let ErrorKind::NewerFormat(newer) = newer.kind() else { panic!("{newer}") };
        assert_eq!((&*newer.found, &*newer.supported), ("required feature bit 4", "the bits 0x6"));
    }

    #[test]
    fn a_result_is_one_word() {
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }
}
