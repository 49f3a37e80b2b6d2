//! Exit codes: every one, what it means, and which error leads to it.

use crate::message;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use terrane::{Error, ErrorKind};

/// The exit codes, as `--help` lists them.
pub const TABLE: &str = "\
Exit codes:
  0    success; what was written is durable
  1    get: no such key; put, merge, delete: the condition does not hold
  2    malformed command line: options, ranges, policies
  3    malformed input: a row, an argument over its limit, a target that already exists,
       a directory that bench did not make
  4    no such store or keyspace, or the store was written by a later release
  5    another process has the store open; for a command that reads, one that may write
  6    the store is damaged; repair: some of it could not be read, and the new store holds the rest
  7    I/O failure: permission denied, no space left, a failing device, a missing input file,
       out of memory
  101  a defect in terrane itself: a thread panicked
  130  interrupted by Ctrl-C or SIGTERM; batches that were written stay";

/// Reason why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The reader of the output has gone (`terrane scan db | head`), which is no failure.
    ClosedPipe = 0,
    /// `get`: no such key; `put`, `merge` and `delete`: the condition does not hold.
    NotFound = 1,
    /// A malformed command line.
    Usage = 2,
    /// A malformed row, an argument over its limit, a target that already exists, or a directory that
    /// `bench` did not make.
    Input = 3,
    /// No such store or keyspace, or one written by a later release.
    NoStore = 4,
    /// Another process has the store open.
    InUse = 5,
    /// The store is damaged.
    Damage = 6,
    /// The operating system reported a failure.
    Io = 7,
    /// A thread panicked: the code that Rust gives a panic of the main thread.
    Defect = 101,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    sentence: String,
}

impl Failure {
    /// A failure, with a sentence that says what was expected and what was found.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Failure { exit, sentence: sentence.into() }
    }

    /// Damage, with what can be done about it.
    pub fn damage(sentence: &str) -> Self {
        let help = "`terrane repair` copies what can still be read into a new store";
        Failure::new(Exit::Damage, format!("{sentence}; {help}"))
    }

    /// A new store's place is taken.
    pub fn taken(place: &Path) -> Self {
        let place = place.display();
        let sentence = format!("expected a path that does not exist, found {place} there already");
        Failure::new(Exit::Input, sentence)
    }

    /// A failed `action`, such as "read names.tsv".
    pub fn io(action: &str, error: &io::Error) -> Self {
        let failure = Failure::new(Exit::Io, format!("could not {action}: {error}"));
        failure.with_limit(Some(error.kind()))
    }

    /// Adds the limit on file sizes to a failure that hit it.
    fn with_limit(self, kind: Option<io::ErrorKind>) -> Self {
        if kind != Some(io::ErrorKind::FileTooLarge) {
            return self;
        }
        self.and(&match file_bytes_max() {
            Some(bytes) => {
                format!("this process may not write files of more than {bytes} bytes (`ulimit -f`)")
            }
            None => "the file system allows no larger files".to_owned(),
        })
    }

    /// A failed write to standard output.
    pub fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(Exit::ClosedPipe, "");
        }
        Failure::io("write to standard output", error)
    }

    /// The failure with where it happened before its sentence, such as "line 3".
    pub fn at(self, place: &str) -> Self {
        Failure { sentence: format!("{place}: {}", self.sentence), ..self }
    }

    /// Adds a clause to the sentence.
    pub fn and(self, clause: &str) -> Self {
        Failure { sentence: format!("{}; {clause}", self.sentence), ..self }
    }

    /// Whether a signal caused the failure.
    pub fn is_interrupt(&self) -> bool {
        self.exit == Exit::Interrupted
    }

    /// Prints the sentence.
    pub fn print(&self) {
        if self.exit != Exit::ClosedPipe {
            message::error(&self.sentence);
        }
    }

    /// Prints the sentence and returns the code.
    pub fn report(&self) -> ExitCode {
        self.print();
        ExitCode::from(self.exit as u8)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match exit(&error) {
            Exit::Damage => Failure::damage(&error.to_string()),
            exit => Failure::new(exit, error.to_string()).with_limit(io_kind(&error)),
        }
    }
}

/// Returns the size to which this process may write a file, in bytes, if that is limited.
fn file_bytes_max() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Fsize).current
    }
    #[cfg(not(unix))]
    None
}

/// Returns the kind of the system's error: for a poisoned log, that of the write which failed.
fn io_kind(error: &Error) -> Option<io::ErrorKind> {
    match error.kind() {
        ErrorKind::Poisoned(cause) => io_kind(cause),
        _ => error.io_kind(),
    }
}

fn exit(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::InvalidArgument(_) | ErrorKind::LeftOut(_) => Exit::Input,
        ErrorKind::NoStore(_) | ErrorKind::NewerFormat(_) => Exit::NoStore,
        ErrorKind::Busy(_) => Exit::InUse,
        ErrorKind::Corrupt(_) => Exit::Damage,
        ErrorKind::Poisoned(cause) => exit(cause),
        _ => Exit::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of spaces and line ends are one space, as in a wrapped text.
    fn unwrapped(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_readme_lists_the_same_exit_codes() {
        let readme = include_str!("../README.md").replace('`', "");
        let (_, rows) = readme.split_once("| code | meaning |\n|---|---|\n").unwrap();
        let rows = rows.lines().map_while(|row| row.strip_prefix("| ")?.strip_suffix(" |"));
        let rows: Vec<_> = rows.map(|row| row.replacen(" | ", " ", 1)).collect();
        assert_eq!(rows.len(), 10);
        assert_eq!(unwrapped(TABLE), format!("Exit codes: {}", rows.join(" ")));
    }

    #[test]
    fn a_poisoned_log_exits_as_its_cause() {
        let full = Error::no_space("000001.log", 512);
        assert_eq!(exit(&full), Exit::Io);
        assert_eq!(exit(&Error::poisoned(&full)), Exit::Io);
        let denied = Error::io("open", "LOCK", 0, io::ErrorKind::PermissionDenied.into());
        assert_eq!(exit(&denied), Exit::Io);
    }
}
