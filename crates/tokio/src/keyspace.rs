//! A keyspace: its reads and writes.

use crate::db::Readers;
use crate::{Db, Scan};
use std::time::Duration;
use terrane::{
    Durability, KeyRange, KeyspaceId, Lookup, Operand, Result, Seq, TryGet, Versioned, WriteBatch,
};

/// An ordered map of a store; see [`terrane::Keyspace`].
#[derive(Clone)]
pub struct Keyspace {
    db: Db,
    inner: terrane::Keyspace,
}

impl From<&Keyspace> for KeyspaceId {
    fn from(keyspace: &Keyspace) -> Self {
        keyspace.inner.id()
    }
}

impl Keyspace {
    pub(crate) fn new(db: Db, inner: terrane::Keyspace) -> Self {
        Keyspace { db, inner }
    }

    /// Returns the keyspace itself, for transactions and for calls that may block.
    #[must_use]
    pub fn inner(&self) -> &terrane::Keyspace {
        &self.inner
    }

    /// Returns the value of a key: at once if memory has it, otherwise from a blocking thread.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let keyspace = self.inner.clone();
        let blocking = move |key: Vec<u8>| keyspace.get(key);
        read(self.db.readers(), self.inner.lookup(1), key.as_ref(), blocking).await
    }

    /// Returns the values of several keys at one moment, in the order of the keys.
    ///
    /// # Errors
    /// The errors of [`Keyspace::get`].
    pub async fn get_many(&self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Option<Vec<u8>>>> {
        if let Some(found) = try_get_many(self.inner.lookup(keys.len())?, keys)? {
            return Ok(found);
        }
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_ref().to_vec()).collect();
        let keyspace = self.inner.clone();
        self.db.readers().clone().run(move || keyspace.get_many(&keys)).await
    }

    /// Returns the value of a key and its version: at once if memory has it, otherwise from a blocking thread.
    ///
    /// # Errors
    /// The errors of [`Keyspace::get`].
    pub async fn get_versioned(&self, key: impl AsRef<[u8]>) -> Result<Option<Versioned>> {
        // Not held while the thread reads.
        match self.inner.lookup(1).and_then(|mut lookup| lookup.try_get_versioned(&key))? {
            TryGet::Value(found) => Ok(Some(found)),
            TryGet::Absent => Ok(None),
            TryGet::WouldRead => {
                let (keyspace, key) = (self.inner.clone(), key.as_ref().to_vec());
                self.db.readers().clone().run(move || keyspace.get_versioned(key)).await
            }
        }
    }

    /// Returns the pages of a range.
    #[must_use]
    pub fn scan(&self, range: impl Into<KeyRange>) -> Scan {
        let (keyspace, range) = (self.inner.clone(), range.into());
        Scan::new(self.db.readers().clone(), move || keyspace.scan(range))
    }

    /// Sets the value of a key, and returns the write's sequence number.
    ///
    /// # Errors
    /// A key or value over its limit, and the errors of [`Db::write`].
    pub async fn put(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.put(&self.inner, key, value)?;
        self.db.write(batch, durability).await
    }

    /// Sets the value of a key for a time, and returns the write's sequence number; see
    /// [`terrane::Keyspace::put_expiring`].
    ///
    /// # Errors
    /// The errors of [`Keyspace::put`]; a store without a wall clock; a keyspace that has had a merge.
    pub async fn put_expiring(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.put_expiring_at(&self.inner, key, value, self.db.inner().expires_in(ttl)?)?;
        self.db.write(batch, durability).await
    }

    /// Merges an operand into the value of a key, and returns the write's sequence number; see
    /// [`terrane::Keyspace::merge`] for the values that it replaces, and for what the first merge fixes for good.
    /// Where the new value is wanted, use [`Db::update`].
    ///
    /// # Errors
    /// The errors of [`WriteBatch::merge`](terrane::WriteBatch::merge) and [`Db::write`]; a keyspace that has had
    /// values that expire or merges of another kind.
    pub async fn merge(
        &self,
        key: impl AsRef<[u8]>,
        operand: Operand<'_>,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.merge(&self.inner, key, operand)?;
        self.db.write(batch, durability).await
    }

    /// Removes all keys of a range, and returns the write's sequence number; see [`terrane::Keyspace::delete_range`].
    ///
    /// # Errors
    /// A bound over the limit of a key, and the errors of [`Db::write`].
    pub async fn delete_range(
        &self,
        range: impl Into<KeyRange>,
        durability: Durability,
    ) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.delete_range(&self.inner, range)?;
        self.db.write(batch, durability).await
    }

    /// Removes a key, if it is there, and returns the write's sequence number.
    ///
    /// # Errors
    /// A key over its limit, and the errors of [`Db::write`].
    pub async fn delete(&self, key: impl AsRef<[u8]>, durability: Durability) -> Result<Seq> {
        let mut batch = WriteBatch::new();
        batch.delete(&self.inner, key)?;
        self.db.write(batch, durability).await
    }
}

/// Looks a key up: in memory, or else by `blocking` on a reader's thread.
pub(crate) async fn read(
    readers: &Readers,
    lookup: Result<Lookup<'_>>,
    key: &[u8],
    blocking: impl FnOnce(Vec<u8>) -> Result<Option<Vec<u8>>> + Send + 'static,
) -> Result<Option<Vec<u8>>> {
    // Not held while the thread reads.
    match lookup.and_then(|mut lookup| lookup.try_get(key))? {
        TryGet::Value(value) => Ok(Some(value)),
        TryGet::Absent => Ok(None),
        TryGet::WouldRead => {
            let key = key.to_vec();
            readers.clone().run(move || blocking(key)).await
        }
    }
}

/// Looks keys up in memory; `None` if one of them needs a file.
fn try_get_many(
    mut lookup: Lookup<'_>,
    keys: &[impl AsRef<[u8]>],
) -> Result<Option<Vec<Option<Vec<u8>>>>> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        found.push(match lookup.try_get(key)? {
            TryGet::Value(value) => Some(value),
            TryGet::Absent => None,
            TryGet::WouldRead => return Ok(None),
        });
    }
    Ok(Some(found))
}
