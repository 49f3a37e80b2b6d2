//! Events of a simulated store.

use crate::config::Config;
use serde::Serialize;
use terrane_policy::PolicyOptions;
use terrane_types::KeyspaceId;

/// The only keyspace of a simulated store.
pub(crate) const KEYSPACE: KeyspaceId = KeyspaceId(0);

/// First line of a trace: what is recorded.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename = "header")]
pub struct Header<'a> {
    /// Always 0: it comes before every event.
    pub micros: u64,
    /// Release that wrote it.
    pub release: &'static str,
    /// Name of the keyspace.
    pub keyspace: &'static str,
    /// Policy at the start.
    pub policy: &'a PolicyOptions,
    /// Configuration of the simulation, with which `terrane simulate --config` repeats the trace.
    pub simulation: &'a Config,
}

impl<'a> Header<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        let (release, keyspace) = (env!("CARGO_PKG_VERSION"), "default");
        Header { micros: 0, release, keyspace, policy: &config.policy, simulation: config }
    }
}
