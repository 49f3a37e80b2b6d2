//! Keyspaces: named trees of one store that share its log and its memory budget.

use std::fmt;

/// Names a keyspace in the log and in the manifest; numbers are never reused, so entries of a
/// dropped keyspace that still lie in the log belong to nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct KeyspaceId(pub u32);

impl fmt::Display for KeyspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keyspace {}", self.0)
    }
}

/// The longest name of a keyspace, in bytes of UTF-8.
pub const MAX_KEYSPACE_NAME_BYTES: usize = 1024;

/// The keyspace that every store has.
pub const DEFAULT_KEYSPACE: &str = "default";
