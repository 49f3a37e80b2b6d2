//! Errors as JavaScript sees them: a code and a message.

use terrane::{Error, ErrorKind};

/// An error with the code by which the npm packages choose its class.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The stable code.
    pub code: &'static str,
    /// The message; for a policy that this build lacks, only what it lacks: the npm packages have the sentence.
    pub message: String,
    /// The damaged file and the offset in it, if the error is damage.
    pub damage: Option<(String, u64)>,
}

impl Failure {
    /// Returns a failure that is none of the engine's errors.
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), damage: None }
    }

    /// Returns the failure of opening a keyspace that does not exist.
    #[must_use]
    pub fn no_keyspace(name: &str) -> Self {
        Failure::new(NOT_FOUND, format!("the store has no keyspace \"{name}\""))
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let message = match error.kind() {
            ErrorKind::LeftOut(what) => what.to_string(),
            _ => error.to_string(),
        };
        let damage = match error.kind() {
            ErrorKind::Corrupt(damage) => Some((damage.file.clone(), damage.offset)),
            _ => None,
        };
        Failure { code: code(error), message, damage }
    }
}

/// The stable code of an error; the npm package has a class for each.
fn code(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NoSpace(_) => "quota",
        ErrorKind::Corrupt(_) => "corrupt",
        ErrorKind::NoStore(_) => NOT_FOUND,
        ErrorKind::NewerFormat(_) => "newer-format",
        ErrorKind::Busy(_) => "busy",
        ErrorKind::InvalidArgument(_) => "invalid-argument",
        ErrorKind::LeftOut(_) => "left-out",
        ErrorKind::Poisoned(cause) => code(cause),
        ErrorKind::Closed(_) => "closed",
        _ => "io",
    }
}

/// The code for a name that does not exist.
const NOT_FOUND: &str = "not-found";

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::Closed;

    #[test]
    fn a_poisoned_log_reports_the_original_error() {
        let full = Error::no_space("log", 1);
        assert_eq!(code(&full), "quota");
        assert_eq!(code(&Error::poisoned(&full)), "quota");
        assert_eq!(code(&Closed::Store.into()), "closed");
    }
}
