//! The keyspaces that batches name, as they were when the batches were read from the log.
//!
//! A batch has ids. The keyspace of an id is live, or was dropped by a batch that the feed still has: the version set
//! keeps such keyspaces in mind. Both are looked up in the version set under the lock under which the log was found, so
//! that no keyspace is forgotten in between.

use crate::keyspace::KeyspaceId;
use crate::version::{Change, KeyspaceRecord, VersionSet};
use std::sync::Arc;
use terrane_types::SharedMap;

/// The keyspaces of one moment, live and dropped.
#[derive(Clone, Default)]
pub(crate) struct Names {
    live: SharedMap<KeyspaceId, Arc<KeyspaceRecord>>,
    dropped: SharedMap<KeyspaceId, Arc<KeyspaceRecord>>,
}

/// A keyspace that a batch names, for copies of the store that replay the batch.
#[derive(Clone, Debug)]
pub struct NamedKeyspace {
    /// Its id.
    pub id: KeyspaceId,
    name: String,
    policy: String,
    features: u32,
}

impl Names {
    pub fn of(version_set: &VersionSet) -> Self {
        Names { live: version_set.keyspaces.clone(), dropped: version_set.dropped.clone() }
    }

    fn record(&self, id: KeyspaceId) -> Option<&KeyspaceRecord> {
        self.live.get(&id).or_else(|| self.dropped.get(&id)).map(|record| &**record)
    }

    /// Returns the name of a keyspace.
    pub fn name(&self, id: KeyspaceId) -> Option<&str> {
        self.record(id).map(|record| record.name.as_str())
    }

    /// Returns a keyspace.
    pub fn keyspace(&self, id: KeyspaceId) -> Option<NamedKeyspace> {
        let KeyspaceRecord { name, policy, features, .. } = self.record(id)?.clone();
        Some(NamedKeyspace { id, name, policy, features })
    }
}

impl NamedKeyspace {
    /// Returns the changes that give a store the keyspace as it is now, where `before` is what the store has of it.
    pub(crate) fn additions(self, before: Option<&KeyspaceRecord>) -> impl Iterator<Item = Change> {
        let NamedKeyspace { id, name, policy, features } = self;
        let created = before.is_none().then_some(Change::CreateKeyspace { id, name, policy });
        let has = before.map_or(0, |before| before.features);
        let added = Change::KeyspaceFeatures { keyspace: id, features };
        created.into_iter().chain((has != features).then_some(added))
    }
}
