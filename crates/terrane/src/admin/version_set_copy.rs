//! The version set of a copy: its keyspaces and tables, as an edit.
//!
//! Batches after the moment of the copy may need keyspaces, or kinds of entries, that it does not have. Edits before
//! the batches added them; [`VersionSetCopy::additions`] returns these as one edit. Keyspaces that were dropped since
//! are among them: a batch drops each, and the moments before that batch have it.

use crate::db::Db;
use crate::error::Result;
use crate::feed::{self, Lineage, NamedKeyspace, Names};
use crate::version::{Change, Edit, Features, VersionSet};

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

    /// Returns the edit that adds the keyspaces and the kinds of entries that a store has now, or that batches since
    /// the version set have `named`, beside those of the version set. Returns `None` if the store has another lineage.
    ///
    /// # Errors
    /// A closed store.
    pub fn additions<'a>(
        &self,
        db: &Db,
        named: impl Iterator<Item = &'a NamedKeyspace>,
    ) -> Result<Option<Vec<u8>>> {
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
        let names = Names::of(now);
        let live = now.keyspaces.iter().filter_map(|(id, _)| names.keyspace(*id));
        let gone = named.filter(|named| !now.keyspaces.contains_key(&named.id)).cloned();
        for keyspace in live.chain(gone) {
            let known = before.keyspaces.get(&keyspace.id);
            changes.extend(keyspace.additions(known.map(|known| &**known)));
        }
        Ok(Some(Edit { changes }.encode()))
    }
}
