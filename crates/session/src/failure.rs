//! Errors as JavaScript sees them: a code and a message.

use std::io;
use terrane::{Error, ErrorKind};

/// Returns the message of an error; for a policy that this build lacks, only what it lacks: the npm packages have the
/// sentence.
#[must_use]
pub fn message(error: &Error) -> String {
    match error.kind() {
        ErrorKind::LeftOut(what) => what.to_string(),
        _ => error.to_string(),
    }
}

/// Returns the message for a keyspace that does not exist.
#[must_use]
pub fn no_keyspace(name: &str) -> String {
    format!("the store has no keyspace \"{name}\"")
}

/// Returns the stable code of an error; the npm packages have a class for each.
#[must_use]
pub fn code(error: &Error) -> &'static str {
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
        ErrorKind::Cursor(_) => "cursor-gone",
        _ if error.io_kind() == Some(io::ErrorKind::ReadOnlyFilesystem) => "read-only",
        _ if error.io_kind() == Some(io::ErrorKind::StaleNetworkFileHandle) => NOT_FOUND,
        _ => "io",
    }
}

/// The code for a name that does not exist.
pub const NOT_FOUND: &str = "not-found";

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

    #[test]
    fn a_write_to_a_read_only_store_has_its_own_code() {
        assert_eq!(code(&Error::read_only("write to", "a")), "read-only");
        assert_eq!(code(&Error::io("write to", "a", 0, io::ErrorKind::Other.into())), "io");
    }

    #[test]
    fn a_file_that_was_removed_with_its_store_is_not_found() {
        let gone = Error::io("write to", "a", 0, io::ErrorKind::StaleNetworkFileHandle.into());
        assert_eq!(code(&gone), NOT_FOUND);
        assert_eq!(code(&Error::poisoned(&gone)), NOT_FOUND);
    }
}
