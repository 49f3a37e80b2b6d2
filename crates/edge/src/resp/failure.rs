//! Failures of commands, in Redis's words.

use std::borrow::Cow;
use terrane::{Error, ErrorKind};

/// A command that did nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Words of a reply, with their code.
    Words(Cow<'static, str>),
    /// An error of the store.
    Store(Error),
    /// A command that needs a file or another thread; it runs again where it may wait.
    WouldWait,
    /// A value for a database whose keyspace does not exist; the command runs again once it is created.
    NoDatabase(usize),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::WouldRead => Failure::WouldWait,
            _ => Failure::Store(error),
        }
    }
}

impl From<&'static str> for Failure {
    fn from(words: &'static str) -> Self {
        Failure::Words(words.into())
    }
}

impl From<String> for Failure {
    fn from(words: String) -> Self {
        Failure::Words(words.into())
    }
}

impl Failure {
    pub const SYNTAX: &'static str = "ERR syntax error";
    pub const NOT_AN_INTEGER: &'static str = "ERR value is not an integer or out of range";
    pub const NO_AUTH: &'static str = "NOAUTH Authentication required.";
    pub const NO_MEMORY: &'static str =
        "OOM command not allowed: the memory for requests and replies is in use";
    pub const READ_ONLY: &'static str = "READONLY You can't write against a read only replica.";
    pub const FENCED: &'static str = "READONLY another server continues the backup of this one";
    pub const LOADING: &'static str = "LOADING the replica loads the rows of its source";
    pub const NO_KEY_PERMISSION: &'static str =
        "NOPERM this user has no permissions to access one of the keys used as arguments";

    /// Returns the failure of a command with too few or too many arguments.
    pub fn arity(name: &str) -> Self {
        format!("ERR wrong number of arguments for '{}' command", name.to_lowercase()).into()
    }

    /// Returns the failure of an unknown subcommand.
    pub fn subcommand(name: &str, found: &[u8]) -> Self {
        let found = String::from_utf8_lossy(found.get(..128).unwrap_or(found));
        format!("ERR unknown subcommand '{found}'. Try {name} HELP.").into()
    }

    /// Returns the failure of a value over its limit.
    pub fn too_long(part: &str, found: usize, limit: usize) -> Self {
        format!("ERR {part} too long: expected at most {limit} bytes, found {found}").into()
    }

    /// Returns whether too little memory was left.
    pub fn is_no_memory(&self) -> bool {
        matches!(self, Failure::Words(words) if words == Failure::NO_MEMORY)
    }

    /// Returns the words of the reply.
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            Failure::Words(words) => Cow::Borrowed(words),
            Failure::Store(error) => match error.kind() {
                ErrorKind::NoSpace(_) | ErrorKind::Poisoned(_) => {
                    format!("MISCONF the store takes no writes: {error}").into()
                }
                _ => format!("ERR {error}").into(),
            },
            Failure::NoDatabase(_) => Cow::Borrowed("ERR the database does not exist; try again"),
            Failure::WouldWait => Cow::Borrowed("ERR the store is busy; try again"),
        }
    }
}
