//! How a command ends: an exit code, and one sentence on standard error where it failed.

use crate::output;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use terrane::Error;

/// The exit codes, as `--help` shows them.
pub const TABLE: &str = "\
Exit codes:
  0    done; what was written is on the medium
  1    get: the store has no such key
  2    the command line is not understood
  3    a row is malformed, an argument is over its limit, a new place is taken, or bench did not
       make the store
  4    there is no such store or keyspace, or the store is of a later release
  5    another process has the store open; to read it, one that may write
  6    the store is damaged; repair: not all of it could be read
  7    the system refused: permission, no space left, a failing medium, a missing input file, no
       memory left
  130  interrupted by Ctrl-C or SIGTERM; of a load, whole batches are in the store";

/// Why a command did not do all that it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Whoever read the output has gone: there is nobody left to tell, and nothing is wrong.
    ClosedPipe = 0,
    /// No such key.
    NotFound = 1,
    /// The command line is not understood.
    Usage = 2,
    /// A malformed row, an argument over its limit, or something where a new store was to be.
    Input = 3,
    /// No such store or keyspace, or a later release's.
    NoStore = 4,
    /// Another process has the store open, in a way that keeps this one out.
    InUse = 5,
    /// Damage.
    Damage = 6,
    /// The system refused.
    Io = 7,
    /// Ctrl-C, or SIGTERM.
    Interrupted = 130,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    sentence: String,
}

impl Failure {
    /// A failure with its sentence, which says what was expected and what was found.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Failure { exit, sentence: sentence.into() }
    }

    /// Damage, and what can be done.
    pub fn damage(sentence: &str) -> Self {
        let help = "`terrane repair` puts what can still be read into a new store";
        Failure::new(Exit::Damage, format!("{sentence}; {help}"))
    }

    /// Something stands where something new was to be made.
    pub fn taken(place: &Path) -> Self {
        let place = place.display();
        let sentence = format!("expected a name not taken, found {place} there already");
        Failure::new(Exit::Input, sentence)
    }

    /// What the system said of `action`, such as "read names.tsv".
    pub fn io(action: &str, error: &io::Error) -> Self {
        Failure::new(Exit::Io, format!("could not {action}: {error}"))
    }

    /// What the system said of a write to standard output.
    pub fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(Exit::ClosedPipe, "");
        }
        Failure::io("write to standard output", error)
    }

    /// Says the sentence and gives the code.
    pub fn report(&self) -> ExitCode {
        if self.exit != Exit::ClosedPipe {
            output::say(&self.sentence);
        }
        ExitCode::from(self.exit as u8)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match exit(&error) {
            Exit::Damage => Failure::damage(&error.to_string()),
            exit => Failure::new(exit, error.to_string()),
        }
    }
}

fn exit(error: &Error) -> Exit {
    match error {
        Error::InvalidArgument(_) => Exit::Input,
        Error::NoStore(_) | Error::NewerFormat(_) => Exit::NoStore,
        Error::Busy(_) => Exit::InUse,
        Error::Corrupt(_) => Exit::Damage,
        Error::Poisoned(cause) => exit(cause),
        _ => Exit::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_log_closed_by_a_full_disk_exits_as_a_full_disk_does() {
        let full = Error::no_space("000001.log", 512);
        assert_eq!(exit(&full), Exit::Io);
        assert_eq!(exit(&Error::Poisoned(Box::new(full))), Exit::Io);
        let denied = Error::Io(Box::new(terrane::Refused {
            action: "open",
            file: "LOCK".into(),
            source: Arc::new(io::ErrorKind::PermissionDenied.into()),
        }));
        assert_eq!(exit(&denied), Exit::Io);
    }
}
