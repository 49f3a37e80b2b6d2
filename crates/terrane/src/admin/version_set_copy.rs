//! The version set of a copy: its keyspaces and tables, as an edit.
//!
//! Batches after the moment of the copy may need keyspaces, or kinds of entries, that it does not have. Edits before
//! the batches added them; [`VersionSetCopy::additions`] returns these as one edit.

use crate::db::Db;
use crate::error::Result;
use crate::feed::{self, Lineage};
use crate::version::{Change, Edit, Features, KeyspaceRecord, VersionSet};

/// Keyspaces and tables of a copy.
pub struct VersionSetCopy {
    version_set: VersionSet,
    /// Lineage of the store.
    lineage: Lineage,
}

impl VersionSetCopy {
    pub(super) fn new(version_set: VersionSet, lineage: Lineage) -> Self {
        VersionSetCopy { version_set, lineage }
    }

    /// Returns the edit that makes the version set.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.version_set.snapshot().encode()
    }

    /// Returns the edit that adds the keyspaces and the kinds of entries that a store has now beside those of the
    /// version set. No batch that was written before needs others. Returns `None` if the store has another
    /// lineage, as it has once a keyspace was removed.
    ///
    /// # Errors
    /// A closed store.
    pub fn additions(&self, db: &Db) -> Result<Option<Vec<u8>>> {
        let state = db.engine().state.lock_open()?;
        if feed::lineage(db.engine(), &state) != self.lineage {
            return Ok(None);
        }
        let before = &self.version_set;
        let now = &state.version_set;
        let mut changes = vec![Change::NextId(now.next_id)];
        if now.features != before.features {
            changes.push(Change::Features(Features { optional: 0, ..now.features }));
        }
        for (&id, record) in &now.keyspaces {
            let KeyspaceRecord { name, policy, features, .. } = &**record;
            let known = before.keyspaces.get(&id);
            if known.is_none() {
                let (name, policy) = (name.clone(), policy.clone());
                changes.push(Change::CreateKeyspace { id, name, policy });
            }
            if known.map_or(0, |known| known.features) != *features {
                changes.push(Change::KeyspaceFeatures { keyspace: id, features: *features });
            }
        }
        Ok(Some(Edit { changes }.encode()))
    }
}
