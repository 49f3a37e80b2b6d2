//! Snapshots: the whole store as it was at one moment.

use crate::db::{Db, Inner, Keyspace};
use crate::entry::Seq;
use crate::error::{Closed, Result};
use crate::keyspace::KeyspaceId;
use crate::read;
use crate::read::{Cursor, Get, Lookup, Scan, Versioned};
use crate::write::Condition;
use std::sync::Arc;
use terrane_table::read::{KeyRange, Reader, Trace};

/// A consistent picture of every keyspace. Values that had not expired when it was taken stay in it. It keeps old
/// versions from being dropped: drop it when done. A table is rewritten after the release of its snapshots if an eighth
/// or more of it was kept only for them.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes");
/// # use terrane::{Db, Durability, Options};
/// # let db = Db::open(path, Options::default())?;
/// let notes = db.default_keyspace();
/// notes.put("key", "before", Durability::Buffered)?;
/// let snapshot = db.snapshot();
/// notes.put("key", "after", Durability::Buffered)?;
///
/// assert_eq!(snapshot.get(&notes, "key")?, Some(b"before".to_vec()));
/// assert_eq!(snapshot.scan(&notes, ..)?.count(), 1);
/// assert_eq!(notes.get("key")?, Some(b"after".to_vec()));
/// # Ok(())
/// # }
/// ```
pub struct Snapshot {
    db: Db,
    reader: Reader,
}

impl Db {
    /// Takes a snapshot of the whole store as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.clone())
    }

    /// Returns the last sequence number that reads see.
    #[must_use]
    pub fn latest_sequence(&self) -> Seq {
        self.inner.engine.snapshots.visible()
    }
}

impl Snapshot {
    pub(crate) fn new(db: Db) -> Self {
        let engine = db.engine();
        let reader = engine.snapshots.hold(engine.jobs.events.micros());
        Snapshot { db, reader }
    }

    /// Refuses a keyspace of another store.
    pub(super) fn id_of(&self, keyspace: &Keyspace) -> Result<KeyspaceId> {
        let is_own = Arc::ptr_eq(&self.db.inner, &keyspace.db.inner);
        if is_own { Ok(keyspace.id()) } else { Err(Closed::Keyspace.into()) }
    }

    /// A get in a keyspace as it was.
    pub(super) fn getting<'a>(&self, keyspace: &'a Keyspace) -> Result<Get<'a>> {
        self.id_of(keyspace)?;
        Ok(keyspace.getting(Some(self.reader)))
    }

    pub(super) fn db(&self) -> &Db {
        &self.db
    }

    /// Returns the last sequence number that is visible in it.
    #[must_use]
    pub fn sequence(&self) -> Seq {
        self.reader.at
    }

    /// Returns the value that a key had.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped since, or is of another store.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.getting(keyspace)?.value(key.as_ref())
    }

    /// Returns the value that a key had with the sequence number of the batch that wrote it, and its time of expiry.
    ///
    /// # Errors
    /// The errors of [`Snapshot::get`].
    pub fn get_versioned(
        &self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<Versioned>> {
        self.getting(keyspace)?.versioned(key.as_ref())
    }

    /// Returns the condition that no batch has written into the range since the snapshot was taken, for
    /// [`Db::write_if`](crate::Db::write_if). A delete of a key that was not there counts; an expiry does not.
    #[must_use]
    pub fn unchanged(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Condition<'_> {
        Condition::unchanged(self.db.engine(), keyspace.id(), range.into(), self.sequence())
    }

    /// Returns the value that a key had and every step that led to it.
    ///
    /// # Errors
    /// The errors of [`Snapshot::get`].
    pub fn trace_get(
        &self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
    ) -> Result<(Option<Vec<u8>>, Trace)> {
        read::trace_get(self.db.engine(), self.id_of(keyspace)?, key.as_ref(), Some(self.reader))
    }

    /// Returns the values that several keys had, in the order of the keys.
    ///
    /// # Errors
    /// The errors of [`Snapshot::get`].
    pub fn get_many(
        &self,
        keyspace: &Keyspace,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        read::get_many(self.db.engine(), self.id_of(keyspace)?, keys, Some(self.reader))
    }

    /// Returns a lookup of about `keys` keys, one by one, in a keyspace as it was.
    ///
    /// # Errors
    /// A keyspace that was dropped since.
    pub fn lookup(&self, keyspace: &Keyspace, keys: usize) -> Result<Lookup<'_>> {
        read::lookup(self.db.engine(), self.id_of(keyspace)?, keys, Some(self.reader))
    }

    /// Returns an iterator over a range as it was.
    ///
    /// # Errors
    /// A keyspace that was dropped since.
    pub fn scan(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<Scan> {
        self.cursor(keyspace, range).map(Scan::new)
    }

    /// Returns a cursor over a range as it was.
    ///
    /// # Errors
    /// A keyspace that was dropped since.
    pub fn cursor(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<Cursor> {
        read::cursor(self.db.engine(), self.id_of(keyspace)?, range.into(), Some(self.reader))
    }

    /// Returns the steps by which a scan of this range finds its first row or, if `reverse`, its last.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped since.
    pub fn trace_seek(
        &self,
        keyspace: &Keyspace,
        range: impl Into<KeyRange>,
        reverse: bool,
    ) -> Result<Trace> {
        read::trace_seek(
            self.db.engine(),
            self.id_of(keyspace)?,
            range.into(),
            reverse,
            Some(self.reader),
        )
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Inner { engine, executor, .. } = &*self.db.inner;
        if engine.release_snapshot(self.reader.at) {
            executor.wake(engine);
        }
    }
}
