//! Reads and writes of commands, wherever they run.
//!
//! * [`Present`] - reads what memory has, in place.
//! * [`Moment`] - reads the store at one moment, on a reader's thread.
//! * [`Changes`] - reads and writes of a transaction.
//! * [`Blind`] - writes that read nothing, as one batch.
//! * [`Nowhere`] - a database whose keyspace does not exist.

use super::failure::Failure;
use std::ops::ControlFlow;
use std::time::Duration;
use terrane::entry::{Millis, Seq};
use terrane::{Db, KeyRange, Keyspace, Lookup, Snapshot, Transaction, TryGet, WriteBatch};

type Result<T> = std::result::Result<T, Failure>;

/// A value, as a command finds it.
pub(crate) struct Value {
    pub bytes: Vec<u8>,
    /// The sequence number of the batch that wrote it; `None` if the same transaction did.
    pub seq: Option<Seq>,
    pub expires_at: Option<Millis>,
}

/// A consumer of rows, which may end the scan.
pub(crate) type EachRow<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// The store, as a command reads and changes it. An access fails with [`Failure::WouldWait`] where the command must run
/// on another one, which may wait.
pub(crate) trait Access {
    /// Returns the time, in milliseconds since the epoch.
    fn now(&mut self) -> Millis;

    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>>;

    fn put(&mut self, _: &Keyspace, _key: &[u8], _value: &[u8], _: Option<Millis>) -> Result<()> {
        Err(Failure::WouldWait)
    }

    fn delete(&mut self, _: &Keyspace, _key: &[u8]) -> Result<()> {
        Err(Failure::WouldWait)
    }

    fn delete_range(&mut self, _: &Keyspace, _: KeyRange) -> Result<()> {
        Err(Failure::WouldWait)
    }

    /// Reads a range in key order, or against it.
    fn scan(&mut self, _: &Keyspace, _: KeyRange, _reverse: bool, _: &mut EachRow) -> Result<()> {
        Err(Failure::WouldWait)
    }
}

/// Returns the time by the store's clock.
pub(crate) fn now(db: &Db) -> Millis {
    db.expires_in(Duration::ZERO).unwrap_or(0)
}

/// The part of a keyspace that is in memory, at one moment.
pub(crate) struct Present<'a> {
    db: &'a Db,
    keyspace: &'a Keyspace,
    lookup: Lookup<'a>,
}

impl<'a> Present<'a> {
    pub fn new(db: &'a Db, keyspace: &'a Keyspace, keys: usize) -> Result<Self> {
        Ok(Present { db, keyspace, lookup: keyspace.lookup(keys)? })
    }
}

impl Access for Present<'_> {
    fn now(&mut self) -> Millis {
        now(self.db)
    }

    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>> {
        if keyspace.id() != self.keyspace.id() {
            return Err(Failure::WouldWait);
        }
        match self.lookup.try_get_versioned(key)? {
            TryGet::Value(found) => Ok(Some(Value {
                bytes: found.value,
                seq: Some(found.seq),
                expires_at: found.expires_at,
            })),
            TryGet::Absent => Ok(None),
            TryGet::WouldRead => Err(Failure::WouldWait),
        }
    }
}

/// The store at one moment.
pub(crate) struct Moment {
    now: Millis,
    snapshot: Snapshot,
}

impl Moment {
    pub fn new(db: &Db) -> Self {
        Moment { snapshot: db.snapshot(), now: now(db) }
    }
}

impl Access for Moment {
    fn now(&mut self) -> Millis {
        self.now
    }

    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>> {
        let found = self.snapshot.get_versioned(keyspace, key)?;
        Ok(found.map(|found| Value {
            bytes: found.value,
            seq: Some(found.seq),
            expires_at: found.expires_at,
        }))
    }

    fn scan(
        &mut self,
        keyspace: &Keyspace,
        range: KeyRange,
        reverse: bool,
        each: &mut EachRow,
    ) -> Result<()> {
        let mut cursor = self.snapshot.cursor(keyspace, range)?;
        while let Some((key, value)) = if reverse { cursor.prev()? } else { cursor.next()? } {
            if each(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A transaction.
pub(crate) struct Changes<'a> {
    pub transaction: &'a mut Transaction,
    /// Bytes of the longest value that it may read or write here.
    value_bytes: usize,
}

impl<'a> Changes<'a> {
    pub fn new(transaction: &'a mut Transaction) -> Self {
        Changes { transaction, value_bytes: usize::MAX }
    }

    /// A transaction for which others wait: it fails with [`Failure::WouldWait`] at a value over `value_bytes`.
    pub fn short(transaction: &'a mut Transaction, value_bytes: usize) -> Self {
        Changes { transaction, value_bytes }
    }

    fn check(&self, value: &[u8]) -> Result<()> {
        if value.len() > self.value_bytes { Err(Failure::WouldWait) } else { Ok(()) }
    }
}

impl Access for Changes<'_> {
    fn now(&mut self) -> Millis {
        self.transaction.now()
    }

    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>> {
        let Some(found) = self.transaction.get_versioned(keyspace, key)? else { return Ok(None) };
        self.check(&found.value)?;
        let (bytes, expires_at) = (found.value, found.expires_at);
        Ok(Some(Value { bytes, seq: found.seq, expires_at }))
    }

    fn put(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        value: &[u8],
        expires_at: Option<Millis>,
    ) -> Result<()> {
        self.check(value)?;
        match expires_at {
            Some(at) => self.transaction.put_expiring_at(keyspace, key, value, at)?,
            None => self.transaction.put(keyspace, key, value)?,
        }
        Ok(())
    }

    fn delete(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<()> {
        Ok(self.transaction.delete(keyspace, key)?)
    }

    fn delete_range(&mut self, keyspace: &Keyspace, range: KeyRange) -> Result<()> {
        Ok(self.transaction.delete_range(keyspace, range)?)
    }

    fn scan(
        &mut self,
        keyspace: &Keyspace,
        range: KeyRange,
        reverse: bool,
        each: &mut EachRow,
    ) -> Result<()> {
        let mut scan = self.transaction.scan(keyspace, range)?;
        while let Some(row) = if reverse { scan.next_back() } else { scan.next() } {
            let (key, value) = row?;
            if each(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A batch that is written.
pub(crate) struct Blind<'a> {
    db: &'a Db,
    pub batch: WriteBatch,
}

impl<'a> Blind<'a> {
    pub fn new(db: &'a Db) -> Self {
        Blind { db, batch: WriteBatch::new() }
    }
}

impl Access for Blind<'_> {
    fn now(&mut self) -> Millis {
        now(self.db)
    }

    fn get(&mut self, _: &Keyspace, _key: &[u8]) -> Result<Option<Value>> {
        Err(Failure::WouldWait)
    }

    fn put(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        value: &[u8],
        expires_at: Option<Millis>,
    ) -> Result<()> {
        match expires_at {
            Some(at) => self.batch.put_expiring_at(keyspace, key, value, at)?,
            None => self.batch.put(keyspace, key, value)?,
        }
        Ok(())
    }

    fn delete(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<()> {
        Ok(self.batch.delete(keyspace, key)?)
    }

    fn delete_range(&mut self, keyspace: &Keyspace, range: KeyRange) -> Result<()> {
        Ok(self.batch.delete_range(keyspace, range)?)
    }
}

/// A database whose keyspace does not exist: it is empty, and takes no value.
pub(crate) struct Nowhere {
    now: Millis,
    database: usize,
}

impl Nowhere {
    pub fn new(db: &Db, database: usize) -> Self {
        Nowhere { now: now(db), database }
    }
}

impl Access for Nowhere {
    fn now(&mut self) -> Millis {
        self.now
    }

    fn get(&mut self, _: &Keyspace, _key: &[u8]) -> Result<Option<Value>> {
        Ok(None)
    }

    fn put(&mut self, _: &Keyspace, _key: &[u8], _value: &[u8], _: Option<Millis>) -> Result<()> {
        Err(Failure::NoDatabase(self.database))
    }

    fn delete(&mut self, _: &Keyspace, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    fn delete_range(&mut self, _: &Keyspace, _: KeyRange) -> Result<()> {
        Ok(())
    }

    fn scan(&mut self, _: &Keyspace, _: KeyRange, _reverse: bool, _: &mut EachRow) -> Result<()> {
        Ok(())
    }
}
