//! Keyspaces: named trees of one store that share its log and its memory budget.

use crate::error::{Error, Result};
pub use terrane_types::KeyspaceId;

/// The longest name of a keyspace, in bytes of UTF-8.
pub const MAX_KEYSPACE_NAME_BYTES: usize = 1024;

/// The keyspace that every store has.
pub const DEFAULT_KEYSPACE: &str = "default";

/// The first character of the names of keyspaces in which the engine's owners keep records of their own.
pub(crate) const RESERVED: char = '\0';

/// Whether a name is that of a keyspace with records of the engine's owner, which no list shows.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(RESERVED)
}

/// Returns the name, if it is not reserved.
///
/// # Errors
/// A reserved name.
pub(crate) fn unreserved(name: &str) -> Result<&str> {
    if is_reserved(name) {
        return Err(Error::invalid("name of a keyspace", "no U+0000 at its start", "one"));
    }
    Ok(name)
}
