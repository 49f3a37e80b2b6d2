//! Transactions: reads at a snapshot, and writes that are committed as one conditional batch.
//!
//! 1. Each get records its key, and each scan its range from where it started through the last key that it looked
//!    at, or to the range's bound if it ended, whether it found rows or none.
//! 2. The commit is a batch under the condition that nothing recorded has changed since the snapshot. So it takes
//!    effect as if all of the transaction ran at that moment: transactions are serializable.
//! 3. If something has changed, the body runs again, on a new snapshot.
//!
//! What is recorded is bounded: beyond that, neighbours are joined to the ranges that cover them. A transaction may
//! then conflict with a write that it would not have seen, but never misses one.

mod reads;
mod scan;
mod trying;
mod written;

pub use scan::TransactionScan;

use crate::batch::WriteBatch;
use crate::db::{Db, Keyspace, Snapshot, handle::to_millis};
use crate::entry::{Millis, Seq, check_limits};
use crate::error::{Error, ErrorKind, Result};
use crate::keyspace::KeyspaceId;
use crate::operand::{MergeOperator, Operand};
use crate::options::Durability;
use crate::read::Versioned;
use crate::vec_map::VecMap;
use crate::write::Condition;
use reads::{Reads, only};
use scan::{Ends, Row};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;
use terrane_table::read::KeyRange;
use terrane_types::range_deletes::{End, RangeDeletes};
use written::{Base, Place, Written};

/// The most times that a body runs.
const TRIES_MAX: u32 = 10;
impl Db {
    /// Runs `body`, and commits what it writes, all or nothing, if nothing that it read has changed meanwhile.
    /// Otherwise `body` runs again, up to ten times in all, so it should change nothing but the transaction. Retries
    /// run one at a time.
    ///
    /// Transactions are serializable: they take effect one after another, with other writes in between. One that
    /// writes nothing reads a snapshot, and never conflicts. Reads and
    /// `ttl` use the time at which the transaction started; a value that expires meanwhile is no conflict.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("bank");
    /// use terrane::{Db, Durability, Options};
    ///
    /// let db = Db::open(path, Options::default())?;
    /// let accounts = db.create_keyspace("accounts")?;
    /// accounts.put("ada", "70", Durability::Buffered)?;
    ///
    /// let left = db.transact(Durability::Sync, |tx| -> terrane::Result<u64> {
    ///     let balance = |found: Option<Vec<u8>>| {
    ///         String::from_utf8(found.unwrap_or_default()).unwrap().parse().unwrap_or(0)
    ///     };
    ///     let (from, to) = (balance(tx.get(&accounts, "ada")?), balance(tx.get(&accounts, "bob")?));
    ///     tx.put(&accounts, "ada", (from - 20).to_string())?;
    ///     tx.put(&accounts, "bob", (to + 20).to_string())?;
    ///     Ok(from - 20)
    /// })?;
    /// assert_eq!((left, accounts.get("bob")?), (50, Some(b"20".to_vec())));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// * an error of `body`, after which nothing is written
    /// * [`ErrorKind::Conflict`] if reads conflicted with other writes in all ten runs
    /// * the errors of [`Db::write`]: among them a merge, or a value that expires, in a keyspace that the other has
    ///   claimed
    pub fn transact<T, E: From<Error>>(
        &self,
        durability: Durability,
        mut body: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut turn = None;
        for tries in 0..TRIES_MAX {
            back_off(tries);
            if tries > 0 && turn.is_none() {
                turn = Some(self.inner.retries.wait());
            }
            let mut transaction = Transaction::new(self);
            let value = body(&mut transaction)?;
            if transaction.commit(durability)? {
                return Ok(value);
            }
        }
        Err(Error::from(ErrorKind::Conflict).into())
    }
}

/// Lets the writers that were faster finish.
fn back_off(tries: u32) {
    if let Some(doublings) = tries.checked_sub(1) {
        crate::sync::pause(std::time::Duration::from_micros(50 << doublings));
    }
}

/// A transaction under way; see [`Db::transact`]. It reads the store as it was when it started, with its own writes.
pub struct Transaction {
    snapshot: Snapshot,
    /// The time when it started, by which its own writes have expired.
    now: Millis,
    /// The writes to each key that the batch will have.
    writes: BTreeMap<Place, Written>,
    /// The range deletes, which come before the other writes.
    range_deletes: VecMap<KeyspaceId, RangeDeletes>,
    reads: RefCell<Reads>,
    /// Present in one that may touch no file: whether it would have.
    would_read: Option<Cell<bool>>,
}

/// A value that a transaction reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransactionValue {
    /// The value.
    pub value: Vec<u8>,
    /// The sequence number of the batch that wrote it; `None` if the transaction did.
    pub seq: Option<Seq>,
    /// The time at which it expires, in milliseconds since the epoch; `None` if it does not.
    pub expires_at: Option<Millis>,
}

impl Transaction {
    fn new(db: &Db) -> Self {
        let snapshot = db.snapshot();
        Transaction {
            now: db.engine().snapshots.clock.read(),
            snapshot,
            writes: BTreeMap::new(),
            range_deletes: VecMap::default(),
            reads: RefCell::default(),
            would_read: None,
        }
    }

    /// Returns the time at which the transaction started, in milliseconds since the epoch; 0 in a store without a
    /// [wall clock](crate::Options::wall_clock).
    #[must_use]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Whether a range delete of the transaction removes a key, unless it writes the key after.
    fn removes(&self, keyspace: KeyspaceId, key: &[u8]) -> bool {
        self.range_deletes.get(&keyspace).is_some_and(|list| list.covers(key))
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.get_versioned(keyspace, key)?.map(|found| found.value))
    }

    /// Returns the value of a key with its version and its time of expiry.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`].
    pub fn get_versioned(
        &self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<TransactionValue>> {
        let (id, key) = (self.snapshot.id_of(keyspace)?, key.as_ref());
        let written =
            if self.writes.is_empty() { None } else { self.writes.get(&(id, key.to_vec())) };
        match written {
            None if self.removes(id, key) => Ok(None),
            None => self.stored(keyspace, key),
            Some(written) => {
                let is_base = written.base.is_some();
                let stored = if is_base { None } else { self.stored(keyspace, key)? };
                let stored = stored.map(|found| found.value);
                let value = written.seen(stored, self.now, self.operator())?;
                let expires_at = written.expires_at();
                Ok(value.map(|value| TransactionValue { value, seq: None, expires_at }))
            }
        }
    }

    /// Returns whether a key was written between a snapshot and the start of the transaction, deletes included: also a
    /// key that had no value then and has none now.
    ///
    /// # Errors
    /// Damage, an I/O error, a keyspace that was dropped, or a snapshot of another store.
    pub fn has_changed(
        &self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        since: &Snapshot,
    ) -> Result<bool> {
        since.id_of(keyspace)?;
        let id = self.snapshot.id_of(keyspace)?;
        trying::refuse_files(self.would_read.as_ref())?;
        self.reads.borrow_mut().add(id, only(key.as_ref()));
        self.snapshot.lookup(keyspace, 1)?.has_changed(key.as_ref(), since.sequence())
    }

    /// Reads a key of the snapshot.
    fn stored(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<TransactionValue>> {
        let found = match &self.would_read {
            None => {
                self.reads.borrow_mut().add(keyspace.id(), only(key));
                self.snapshot.get_versioned(keyspace, key)?
            }
            // Nothing can change what it reads.
            Some(would_read) => trying::cached(&self.snapshot, keyspace, key, would_read)?,
        };
        Ok(found.map(|Versioned { value, seq, expires_at }| TransactionValue {
            value,
            seq: Some(seq),
            expires_at,
        }))
    }

    fn operator(&self) -> Option<&MergeOperator> {
        self.snapshot.db().engine().options.merge_operator.as_ref()
    }

    /// Returns the values of several keys, in the order of the keys.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`].
    pub fn get_many(
        &self,
        keyspace: &Keyspace,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter().map(|key| self.get(keyspace, key)).collect()
    }

    /// Returns `true` if the key has a value.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`].
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(keyspace, key)?.is_some())
    }

    /// Returns an iterator over a range, from either end.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn scan(
        &self,
        keyspace: &Keyspace,
        range: impl Into<KeyRange>,
    ) -> Result<TransactionScan<'_>> {
        let (id, range) = (keyspace.id(), range.into());
        trying::refuse_files(self.would_read.as_ref())?;
        let stored = Ends::new(self.snapshot.scan(keyspace, &range)?);
        // A map refuses a range whose start is past its end.
        let bounds = if range.half_open().is_none() {
            (Bound::Included((id, Vec::new())), Bound::Excluded((id, Vec::new())))
        } else {
            let first = Bound::Included((id, Vec::new()));
            let end = id.0.checked_add(1).map(|next| (KeyspaceId(next), Vec::new()));
            let end = end.map_or(Bound::Unbounded, Bound::Excluded);
            (place(id, &range.from, first), place(id, &range.to, end))
        };
        let written = Ends::new(self.writes.range(bounds));
        let (reads, removed) = (&self.reads, self.range_deletes.get(&id).cloned());
        let operator = self.operator();
        let number = reads.borrow_mut().start_scan(id, range.clone());
        let (ended, first, last) = (false, None, None);
        Ok(TransactionScan {
            keyspace: id,
            number,
            range,
            stored,
            written,
            now: self.now,
            removed,
            operator,
            ended,
            first,
            last,
            reads,
        })
    }

    /// Returns the first row of a range: its key and its value.
    ///
    /// # Errors
    /// The errors of [`Transaction::scan`], damage, or an I/O error.
    pub fn first(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<Option<Row>> {
        self.scan(keyspace, range)?.next().transpose()
    }

    /// Returns the last row of a range: its key and its value.
    ///
    /// # Errors
    /// The errors of [`Transaction::first`].
    pub fn last(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<Option<Row>> {
        self.scan(keyspace, range)?.next_back().transpose()
    }

    /// Returns `true` if no key of a range has a value.
    ///
    /// # Errors
    /// The errors of [`Transaction::first`].
    pub fn is_empty(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<bool> {
        Ok(self.first(keyspace, range)?.is_none())
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a key or value over its limit; [`ErrorKind::Closed`] for a keyspace of
    /// another store, here and below.
    pub fn put(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (key, value) = (key.as_ref().to_vec(), value.as_ref().to_vec());
        check_limits(&key, &value)?;
        self.writes.insert((self.snapshot.id_of(keyspace)?, key), Base::Put(value).into());
        Ok(())
    }

    /// Sets the value of a key for a time: once `ttl` has passed since the transaction started, the key has no value.
    ///
    /// # Errors
    /// The errors of [`Transaction::put`]; a store without a [wall clock](crate::Options::wall_clock). A keyspace that
    /// has had a merge refuses the commit.
    pub fn put_expiring(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<()> {
        self.put_expiring_at(keyspace, key, value, self.now.saturating_add(to_millis(ttl)))
    }

    /// Sets the value of a key until a time, in milliseconds since the epoch.
    ///
    /// # Errors
    /// The errors of [`Transaction::put_expiring`].
    pub fn put_expiring_at(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expires_at: Millis,
    ) -> Result<()> {
        let id = self.snapshot.id_of(keyspace)?;
        let (key, value) = (key.as_ref().to_vec(), value.as_ref().to_vec());
        self.snapshot.db().engine().snapshots.clock.needed()?;
        // The same checks as those of the commit.
        WriteBatch::new().put_expiring_at(id, &key, &value, expires_at)?;
        self.writes.insert((id, key), Base::PutExpiring(value, expires_at).into());
        Ok(())
    }

    /// Merges an operand into the value of a key, without reading it, so it conflicts with no other write. A later read
    /// of the key does. A value that is not a decimal integer is replaced by [`Operand::Add`], [`Operand::Min`] and
    /// [`Operand::Max`]: see [`WriteBatch::merge`](crate::WriteBatch::merge).
    ///
    /// # Errors
    /// The errors of [`WriteBatch::merge`](crate::WriteBatch::merge). A keyspace that has had values that expire, or
    /// merges of another kind, refuses the commit.
    pub fn merge(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        operand: Operand<'_>,
    ) -> Result<()> {
        let (id, key) = (self.snapshot.id_of(keyspace)?, key.as_ref().to_vec());
        // The same checks as those of the commit.
        WriteBatch::new().merge(id, &key, operand)?;
        let base = self.removes(id, &key).then_some(Base::Delete);
        let none = Written { base, operands: Vec::new() };
        self.writes.entry((id, key)).or_insert(none).operands.push(operand.encode());
        Ok(())
    }

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a key over its limit.
    pub fn delete(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref().to_vec();
        check_limits(&key, &[])?;
        self.writes.insert((self.snapshot.id_of(keyspace)?, key), Base::Delete.into());
        Ok(())
    }

    /// Removes all keys of a range, including those that the transaction wrote earlier.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a bound that is longer than a key.
    pub fn delete_range(&mut self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<()> {
        let range = range.into();
        // The same checks as those of the commit.
        let id = self.snapshot.id_of(keyspace)?;
        WriteBatch::new().delete_range(id, &range)?;
        let Some((from, to)) = range.half_open() else { return Ok(()) };
        let end = End::before(to.as_deref());
        self.range_deletes.update(id, |list: &mut RangeDeletes| list.add(&from, &end, 1));
        self.writes.retain(|(of, key), _| *of != id || !range.contains(key));
        Ok(())
    }

    /// Writes the transaction; returns `false` if something that it read has changed.
    fn commit(mut self, durability: Durability) -> Result<bool> {
        let batch = self.take_batch()?;
        if batch.is_empty() {
            return Ok(true);
        }
        let Transaction { snapshot, reads, .. } = self;
        let (db, since) = (snapshot.db(), snapshot.sequence());
        let reads = reads.into_inner().into_ranges();
        let conditions = reads
            .map(|(keyspace, range)| Condition::unchanged(db.engine(), keyspace, range, since));
        Ok(db.write_if(conditions, batch, durability)?.written().is_some())
    }

    /// Takes all writes, as a batch.
    fn take_batch(&mut self) -> Result<WriteBatch> {
        let mut batch = WriteBatch::new();
        for (keyspace, list) in self.range_deletes.iter() {
            for fragment in list.fragments() {
                let to = fragment.to.key().map_or(Bound::Unbounded, Bound::Excluded);
                batch.delete_range(*keyspace, (Bound::Included(&*fragment.from), to))?;
            }
        }
        for ((keyspace, key), written) in std::mem::take(&mut self.writes) {
            match &written.base {
                Some(Base::Put(value)) => batch.put(keyspace, &key, value)?,
                Some(Base::PutExpiring(value, at)) => {
                    batch.put_expiring_at(keyspace, &key, value, *at)?;
                }
                Some(Base::Delete) => batch.delete(keyspace, &key)?,
                None => {}
            }
            for operand in written.operands() {
                batch.merge(keyspace, &key, operand)?;
            }
        }
        Ok(batch)
    }
}

/// Returns the place of a bound, or `open` for an unbounded one.
fn place(keyspace: KeyspaceId, bound: &Bound<Vec<u8>>, open: Bound<Place>) -> Bound<Place> {
    match bound {
        Bound::Included(key) => Bound::Included((keyspace, key.clone())),
        Bound::Excluded(key) => Bound::Excluded((keyspace, key.clone())),
        Bound::Unbounded => open,
    }
}

#[cfg(test)]
mod tests;
