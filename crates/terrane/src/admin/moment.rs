//! A moment between two events: what they add to.

use crate::db::Keyspace;
use crate::engine::Engine;
use crate::error::{Closed, Result};
use crate::keyspace::KeyspaceId;
use crate::sync::lock;
use std::sync::Arc;
use terrane_policy::{PolicyStatus, Shape};

/// A keyspace between two events: what was told before is in it, and what is told after is not.
pub struct Moment {
    /// When it is, as events have their times.
    pub micros: u64,
    /// The keyspace's tree.
    pub shape: Arc<Shape>,
    /// What its policy allows and remembers.
    pub status: PolicyStatus,
}

impl Engine {
    /// Calls `look` with a moment of a keyspace. No event that changes the tree or the status is told
    /// meanwhile. `look` must not call the store.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn between_events<T>(
        &self,
        keyspace: KeyspaceId,
        look: impl FnOnce(Moment) -> T,
    ) -> Result<T> {
        // Those events are told under this lock.
        let state = lock(&self.state);
        let keyspaces = self.keyspaces.load();
        let inner = keyspaces.get(&keyspace).ok_or(Closed::Keyspace)?;
        let record = state.version_set.keyspaces.get(&keyspace).ok_or(Closed::Keyspace)?;
        let status = inner.policy.load().status(&record.shape, &record.policy_state);
        // Or a change back to what was told last would not be told.
        lock(&inner.status_told).clone_from(&status);
        let shape = inner.super_version.load().tree.shape().clone();
        Ok(look(Moment { micros: self.jobs.events.micros(), shape, status }))
    }
}

impl Keyspace {
    /// Calls `look` with a moment between two events, so that a listener which begins to pass them on in it
    /// knows what they add to. `look` must not call the store.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn between_events<T>(&self, look: impl FnOnce(Moment) -> T) -> Result<T> {
        self.db.inner.engine.between_events(self.id(), look)
    }
}
