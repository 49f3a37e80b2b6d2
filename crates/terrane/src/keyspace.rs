//! Keyspaces: named trees of one store that share its log and its memory budget.

pub use terrane_types::KeyspaceId;

/// The longest name of a keyspace, in bytes of UTF-8.
pub const MAX_KEYSPACE_NAME_BYTES: usize = 1024;

/// The keyspace that every store has.
pub const DEFAULT_KEYSPACE: &str = "default";
