//! A moment between two events: the state that they change.

use crate::db::Keyspace;
use crate::engine::{Engine, WriteWaits};
use crate::error::{Closed, Result};
use crate::keyspace::KeyspaceId;
use crate::sync::lock;
use std::sync::Arc;
use terrane_policy::{PolicyStatus, Shape};

/// A keyspace between two events: events reported before are in it, later ones are not.
pub struct Moment {
    /// Time of the moment, on the clock of events.
    pub micros: u64,
    /// The keyspace's tree.
    pub shape: Arc<Shape>,
    /// Limits and state of its policy.
    pub status: PolicyStatus,
}

/// Calls `look` with a moment of a keyspace. Meanwhile no event that changes the tree or the status is
/// reported. `look` must not call the store.
///
/// # Errors
/// A keyspace that was dropped.
pub(crate) fn with_events_paused<T>(
    engine: &Engine,
    keyspace: KeyspaceId,
    look: impl FnOnce(Moment) -> T,
) -> Result<T> {
    // Those events are reported under this lock.
    let state = engine.state.lock();
    let keyspaces = engine.keyspaces.load();
    let inner = keyspaces.get(&keyspace).ok_or(Closed::Keyspace)?;
    let record = state.version_set.keyspaces.get(&keyspace).ok_or(Closed::Keyspace)?;
    let status = inner.policy.load().status(&record.shape, &record.policy_state);
    // Or a change back to the last reported status would not be reported.
    lock(&inner.status_reported).clone_from(&status);
    let shape = inner.super_version.load().tree.shape().clone();
    Ok(look(Moment { micros: engine.jobs.events.micros(), shape, status }))
}

impl Keyspace {
    /// Calls `look` with a moment between two events, so that a listener which starts to pass them on then
    /// knows the state that they change. `look` must not call the store.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn with_events_paused<T>(&self, look: impl FnOnce(Moment) -> T) -> Result<T> {
        with_events_paused(&self.db.inner.engine, self.id(), look)
    }

    /// Returns the waits of writes to the store since it was opened, and the time of events, in microseconds. Takes
    /// no lock.
    #[must_use]
    pub fn write_waits(&self) -> (u64, WriteWaits) {
        let engine = &self.db.inner.engine;
        (engine.jobs.events.micros(), engine.counters.waits.stats())
    }
}
