//! The lines of a trace: the engine's events, with virtual time.

use serde::Serialize;
use terrane_policy::event::Event;
use terrane_types::KeyspaceId;

/// The only keyspace of a simulated store.
pub(crate) const KEYSPACE: KeyspaceId = KeyspaceId(0);

/// A line of the trace: an event and its time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TraceLine<'a> {
    /// The virtual second.
    pub seconds: f64,
    /// What happened.
    #[serde(flatten)]
    pub event: &'a Event,
}
