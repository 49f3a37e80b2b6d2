//! A keyspace in a caller's hands: its reads, its writes and its policy.

use crate::batch::WriteBatch;
use crate::db::{Db, Inner};
use crate::engine::KeyspaceReads;
use crate::entry::Seq;
use crate::error::Result;
use crate::install;
use crate::keyspace::KeyspaceId;
use crate::operand::Operand;
use crate::options::Durability;
use crate::read;
use crate::read::{Cursor, Get, Lookup, Scan, Versioned};
use std::sync::Arc;
use std::time::Duration;
use terrane_policy::{PolicyOptions, Shape};
use terrane_table::read::{KeyRange, Reader, Trace};

/// An ordered map of a store, with a name and a compaction policy of its own. All keyspaces of a
/// store share its log and its memory; a [`WriteBatch`] spans any of them.
///
/// Keys are at most 65 535 bytes, values 64 MiB; both are taken as anything that is bytes.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes");
/// # use terrane::{Db, Durability, Options};
/// # let db = Db::open(path, Options::default())?;
/// let readings = db.create_keyspace("readings")?;
/// for (minute, degrees) in [(0u64, 21.5f64), (1, 21.25), (2, 21.0)] {
///     // Big-endian integers sort as numbers do.
///     readings.put(minute.to_be_bytes(), degrees.to_le_bytes(), Durability::Buffered)?;
/// }
/// readings.delete(1u64.to_be_bytes(), Durability::Sync)?;
///
/// assert_eq!(readings.get(1u64.to_be_bytes())?, None);
/// assert_eq!(readings.scan(1u64.to_be_bytes()..)?.count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Keyspace {
    pub(crate) db: Db,
    pub(super) id: KeyspaceId,
    pub(super) name: Arc<str>,
    reads: Arc<KeyspaceReads>,
}

impl From<&Keyspace> for KeyspaceId {
    fn from(keyspace: &Keyspace) -> Self {
        keyspace.id
    }
}

impl Keyspace {
    pub(super) fn new(db: &Db, id: KeyspaceId, name: &str) -> Self {
        let reads = db.engine().keyspaces.reads(id);
        Keyspace { db: db.clone(), id, name: name.into(), reads }
    }

    /// A get in the keyspace as it is now, or was at a snapshot's sequence.
    pub(super) fn getting(&self, at: Option<Reader>) -> Get<'_> {
        Get { engine: &self.db.inner.engine, keyspace: self.id, reads: &self.reads, at }
    }

    /// Returns the id of the keyspace, by which batches name it.
    #[must_use]
    pub fn id(&self) -> KeyspaceId {
        self.id
    }

    /// Returns the name of the keyspace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.getting(None).value(key.as_ref())
    }

    /// Calls `work` with the value of a key, if there is one, and returns what it returned. The value is lent where it
    /// lies in memory, not copied. Values that are replaced meanwhile stay in memory until `work` ends, so `work`
    /// should be short.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # use terrane::{Db, Durability, Options};
    /// # let db = Db::open(dir.path().join("notes"), Options::default())?;
    /// let notes = db.default_keyspace();
    /// notes.put("2025-12", "text", Durability::Buffered)?;
    /// assert_eq!(notes.get_with("2025-12", |text| text.len())?, Some(4));
    /// assert_eq!(notes.get_with("2026-01", |text| text.len())?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get_with<R>(
        &self,
        key: impl AsRef<[u8]>,
        work: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        self.getting(None).with(key.as_ref(), work)
    }

    /// Returns the value of a key with the sequence number of the batch that wrote it, and its time of expiry.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get_versioned(&self, key: impl AsRef<[u8]>) -> Result<Option<Versioned>> {
        self.getting(None).versioned(key.as_ref())
    }

    /// Returns the value of a key and every step that led to it, for tools that explain reads.
    ///
    /// # Errors
    /// The errors of [`Keyspace::get`].
    pub fn trace_get(&self, key: impl AsRef<[u8]>) -> Result<(Option<Vec<u8>>, Trace)> {
        read::trace_get(&self.db.inner.engine, self.id, key.as_ref(), None)
    }

    /// Returns the values of several keys at one moment, in the order of the keys.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn get_many(&self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Option<Vec<u8>>>> {
        read::get_many(&self.db.inner.engine, self.id, keys, None)
    }

    /// Returns a lookup of about `keys` keys, one by one, in the keyspace as it is now.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn lookup(&self, keys: usize) -> Result<Lookup<'_>> {
        read::lookup(&self.db.inner.engine, self.id, keys, None)
    }

    /// Returns about how many bytes of tables hold the keys of a range. Bytes in memory do not count.
    ///
    /// # Errors
    /// A keyspace that was dropped; damage or an I/O error, since tables that the range cuts are
    /// read.
    pub fn approximate_size(&self, range: impl Into<KeyRange>) -> Result<u64> {
        self.db.engine().keyspaces.live(self.id)?.tree().approximate_size(&range.into())
    }

    /// Returns the shape of the keyspace's tree as it is now: levels of runs of tables.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn shape(&self) -> Result<Arc<Shape>> {
        self.db.inner.engine.keyspaces.shape(self.id)
    }

    /// Returns the policy in use, with its parameters.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn policy(&self) -> Result<PolicyOptions> {
        install::policy(&self.db.inner.engine.state, self.id)
    }

    /// Changes the keyspace's policy. Nothing is rewritten at once: the next plans move the tree toward the
    /// new shape.
    ///
    /// # Errors
    /// A parameter outside its range, or an I/O error.
    pub fn set_policy(&self, policy: &PolicyOptions) -> Result<()> {
        let Inner { engine, executor, .. } = &*self.db.inner;
        install::set_policy(engine, self.id, policy)?;
        executor.wake(engine);
        Ok(())
    }

    /// Sets the value of a key, and returns the write's sequence number.
    ///
    /// # Errors
    /// A key or value over its limit, and the errors of [`Db::write`].
    pub fn put(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.put(self.id, key, value)?;
        self.db.write(batch, durability)
    }

    /// Sets the value of a key for a time, and returns the write's sequence number. Once `ttl` has passed the key
    /// has no value; snapshots that were taken before keep it. A later put without a time stays. A keyspace that has
    /// had a merge takes no such value.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("sessions");
    /// use std::time::Duration;
    /// use terrane::{Db, Durability, Options};
    ///
    /// let db = Db::open(path, Options::default())?;
    /// let sessions = db.default_keyspace();
    /// let hour = Duration::from_secs(3600);
    /// sessions.put_expiring("ada", "token", hour, Durability::Sync)?;
    ///
    /// let found = sessions.get_versioned("ada")?.unwrap();
    /// assert!(found.expires_at.is_some());
    /// sessions.put_expiring("ada", "token", Duration::ZERO, Durability::Sync)?;
    /// assert_eq!(sessions.get("ada")?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A key or value over its limit, a store without a [wall clock](crate::Options::wall_clock), a keyspace that has
    /// had a merge, and the errors of [`Db::write`].
    pub fn put_expiring(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.put_expiring_at(self.id, key, value, self.db.expires_in(ttl)?)?;
        self.db.write(batch, durability)
    }

    /// Merges an operand into the value of a key, without reading it, and returns the write's sequence number.
    ///
    /// [`Operand::Add`], [`Operand::Min`] and [`Operand::Max`] take a value that is a decimal integer, as in `41` or
    /// `-3`. They replace every other value, such as `041`, `41` with a line feed, or the bytes of a `u64`.
    ///
    /// The first merge fixes for good that the keyspace takes no values that expire, and no merges of the other kind:
    /// see [`WriteBatch::merge`]. Where the new value is wanted, use [`Db::transact`].
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("counters");
    /// use terrane::{Db, Durability, Operand, Options};
    ///
    /// let db = Db::open(path, Options::default())?;
    /// let views = db.create_keyspace("views")?;
    /// for _ in 0..3 {
    ///     views.merge("/home", Operand::Add(1), Durability::Buffered)?;
    /// }
    /// views.merge("/home:slowest-ms", Operand::Max(170), Durability::Buffered)?;
    /// assert_eq!(views.get("/home")?, Some(b"3".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`WriteBatch::merge`], a keyspace that has had values that expire or merges of another kind, and
    /// the errors of [`Db::write`].
    pub fn merge(
        &self,
        key: impl AsRef<[u8]>,
        operand: Operand<'_>,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.merge(self.id, key, operand)?;
        self.db.write(batch, durability)
    }

    /// Removes a key, if it is there, and returns the write's sequence number.
    ///
    /// # Errors
    /// A key over its limit, and the errors of [`Db::write`].
    pub fn delete(&self, key: impl AsRef<[u8]>, durability: Durability) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.delete(self.id, key)?;
        self.db.write(batch, durability)
    }

    /// Removes all keys of a range, however many, at the cost of one write, and returns the write's sequence
    /// number. Their space is freed in the background, once no snapshot reads it.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("sessions");
    /// use terrane::{Db, Durability, KeyRange, Options};
    ///
    /// let db = Db::open(path, Options::default())?;
    /// let sessions = db.default_keyspace();
    /// for key in ["ada/1", "ada/2", "bob/1"] {
    ///     sessions.put(key, "token", Durability::Buffered)?;
    /// }
    /// sessions.delete_range(KeyRange::prefix("ada/"), Durability::Sync)?;
    /// assert_eq!((sessions.get("ada/2")?, sessions.scan(..)?.count()), (None, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A bound that is longer than a key, and the errors of [`Db::write`].
    pub fn delete_range(&self, range: impl Into<KeyRange>, durability: Durability) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.delete_range(self.id, range)?;
        self.db.write(batch, durability)
    }

    /// Returns an iterator over a range of the keyspace as it is now.
    ///
    /// # Errors
    /// A closed store.
    pub fn scan(&self, range: impl Into<KeyRange>) -> Result<Scan> {
        self.cursor(range).map(Scan::new)
    }

    /// Returns a cursor over a range of the keyspace as it is now: a scan that copies nothing and can change
    /// direction.
    ///
    /// # Errors
    /// A closed store.
    pub fn cursor(&self, range: impl Into<KeyRange>) -> Result<Cursor> {
        read::cursor(&self.db.inner.engine, self.id, range.into(), None)
    }

    /// Returns the steps by which a scan of this range finds its first row or, if `reverse`, its last.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn trace_seek(&self, range: impl Into<KeyRange>, reverse: bool) -> Result<Trace> {
        read::trace_seek(&self.db.inner.engine, self.id, range.into(), reverse, None)
    }
}
