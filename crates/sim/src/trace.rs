//! Events of a simulated store.

use terrane_types::KeyspaceId;

/// The only keyspace of a simulated store.
pub(crate) const KEYSPACE: KeyspaceId = KeyspaceId(0);
