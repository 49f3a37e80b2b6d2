//! Write batches: operations over any keyspaces that take effect together.
//!
//! A batch is encoded as it lies in the log, one entry after another:
//!
//! ```text
//! kind u8 | keyspace varint | key length varint, key | value length varint, value (not for deletes)
//! 2       | keyspace varint | from length varint, from | to length + 1 varint, to (0 for an open end)
//! 6       | keyspace varint | name length varint, name of the keyspace, which is dropped
//! ```
//!
//! The value of a put that expires starts with its time: 8 bytes, milliseconds since the epoch, little-endian. That
//! of a merge is its [`Operand`].
//!
//! Its entries share one sequence number, given when the batch is committed. Of several entries of one key the last
//! counts; a range delete removes what comes before it. An entry that drops a keyspace is the first of its batch.

mod combined;
mod decode;
mod effective;
mod operation;

pub(crate) use combined::combined;
pub use decode::{BatchDamage, Entries, decode};
pub(crate) use effective::{effective, range_deletes};
pub use operation::{Entry, Operation};

use crate::coding::{put_bytes, put_varint};
use crate::entry::{
    EXPIRY_BYTES, Kind, MAX_KEY_BYTES, MAX_VALUE_BYTES, Millis, check_limits, expiring, left_out,
};
use crate::error::{Error, Result};
use crate::features::RANGE_DELETES;
use crate::keyspace::KeyspaceId;
use crate::operand::{self, Operand};
use std::ops::Bound;
use terrane_table::read::KeyRange;

/// The longest batch, in encoded bytes.
pub const MAX_BATCH_BYTES: usize = 256 << 20;

/// The most that an entry takes besides its key and value: kind, keyspace and the two lengths.
const HEAD_BYTES: usize = 1 + 5 + 3 + 4;
/// The longest value that expires: its time takes the rest.
const MAX_EXPIRING_BYTES: usize = MAX_VALUE_BYTES - EXPIRY_BYTES;
/// The kind of a range delete.
const RANGE_DELETE: u8 = 2;
/// The kind of the entry that drops its keyspace.
const DROP_KEYSPACE: u8 = 6;
/// The longest bound of a range delete: the key after the longest.
const MAX_BOUND_BYTES: usize = MAX_KEY_BYTES + 1;

/// Operations that are committed as one: after a crash all of them are there, or none.
///
/// A batch names keyspaces by their ids, and does not know a store. A handle of another store names the keyspace that
/// has the same id in the store that the batch is written to.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes");
/// use terrane::{Db, Durability, Options, WriteBatch};
///
/// let db = Db::open(path, Options::default())?;
/// let (notes, index) = (db.default_keyspace(), db.create_keyspace("by-title")?);
///
/// let mut batch = WriteBatch::new();
/// batch.put(&notes, "17", "Rain since noon")?;
/// batch.put(&index, "Rain", "17")?;
/// batch.delete(&index, "Untitled")?;
/// db.write(batch, Durability::Sync)?;
///
/// assert_eq!(index.get("Rain")?, Some(b"17".to_vec()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    entries: usize,
    /// The keyspaces of the entries, without repetition, each with the features of a store that its entries need: the
    /// first, and the others. Most batches have one, which takes no memory so.
    keyspace: Option<(KeyspaceId, u32)>,
    others: Vec<(KeyspaceId, u32)>,
    /// The features that all entries need.
    features: u32,
}

impl WriteBatch {
    /// Returns a batch without operations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a put into a keyspace, which is named by its handle or its id.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a key, value or batch over its limit; the batch stays
    /// as it was.
    pub fn put(
        &mut self,
        keyspace: impl Into<KeyspaceId>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.push(keyspace.into(), Operation::Put(key.as_ref(), value.as_ref()))
    }

    /// Adds a put of a value that expires at a time, in milliseconds since the epoch: from then on the key has no
    /// value. A time that is past deletes the key. A later put without a time stays. The store that takes the batch
    /// must have a [wall clock](crate::Options::wall_clock), and its keyspace must have had no merge.
    ///
    /// A batch has no clock, so it takes a time rather than a duration: [`Db::expires_in`](crate::Db::expires_in)
    /// returns the time after one.
    ///
    /// # Errors
    /// The errors of [`WriteBatch::put`]; the longest value is 8 bytes shorter than a value without expiry.
    pub fn put_expiring_at(
        &mut self,
        keyspace: impl Into<KeyspaceId>,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        expires_at: Millis,
    ) -> Result<()> {
        let value = value.as_ref();
        if value.len() > MAX_EXPIRING_BYTES {
            let expected = format_args!("at most {MAX_EXPIRING_BYTES} bytes");
            let found = format_args!("{} bytes", value.len());
            return Err(Error::invalid("value that expires", expected, found));
        }
        let stored = expiring(expires_at, value);
        self.push(keyspace.into(), Operation::PutExpiring(key.as_ref(), &stored))
    }

    /// Adds a merge: at commit `operand` is applied to the key's value, without a read.
    ///
    /// [`Operand::Add`], [`Operand::Min`] and [`Operand::Max`] take a value that is a decimal integer, as in `41` or
    /// `-3`. They replace every other value, such as `041`, `41` with a line feed, or the bytes of a `u64`.
    ///
    /// A keyspace takes merges of numbers, merges with the store's [merge operator](crate::Options::merge_operator), or
    /// values that expire. The first of these fixes the choice for good: deletes and compactions do not undo it, only
    /// dropping the keyspace and creating it again does. The default keyspace cannot be dropped, so merges belong into
    /// a keyspace of their own.
    ///
    /// # Errors
    /// The errors of [`WriteBatch::put`]; the longest operand is 16 bytes shorter than a value. A build without the
    /// feature `all` has no merges.
    pub fn merge(
        &mut self,
        keyspace: impl Into<KeyspaceId>,
        key: impl AsRef<[u8]>,
        operand: Operand<'_>,
    ) -> Result<()> {
        if !operand::AVAILABLE {
            return Err(left_out());
        }
        self.push(keyspace.into(), Operation::Merge(key.as_ref(), &operand.encode()))
    }

    /// Adds a delete from a keyspace, which is named by its handle or its id.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a key or batch over its limit; the batch stays as it
    /// was.
    pub fn delete(&mut self, keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>) -> Result<()> {
        self.push(keyspace.into(), Operation::Delete(key.as_ref()))
    }

    /// Adds a delete of all keys of a range, which costs the same however many there are. It removes what was written
    /// into the range before, including by this batch. An empty range adds nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a bound that is longer than a key, or a batch over its limit; the
    /// batch stays as it was.
    pub fn delete_range(
        &mut self,
        keyspace: impl Into<KeyspaceId>,
        range: impl Into<KeyRange>,
    ) -> Result<()> {
        let range = range.into();
        for bound in [&range.from, &range.to] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                check_limits(key, &[])?;
            }
        }
        let Some((from, to)) = range.half_open() else { return Ok(()) };
        self.push(keyspace.into(), Operation::DeleteRange(&from, to.as_deref()))
    }

    /// Adds an operation.
    pub(crate) fn push(&mut self, keyspace: KeyspaceId, operation: Operation<'_>) -> Result<()> {
        let (kind, key, rest) = operation.parts();
        operation.check()?;
        let after = self.bytes.len() + HEAD_BYTES + key.len() + rest.len();
        if after > MAX_BATCH_BYTES {
            return Err(Error::invalid(
                "batch",
                format_args!("at most {MAX_BATCH_BYTES} bytes"),
                format_args!("{after} bytes"),
            ));
        }
        self.bytes.reserve(after - self.bytes.len());
        self.bytes.push(kind);
        put_varint(&mut self.bytes, u64::from(keyspace.0));
        put_bytes(&mut self.bytes, key);
        match operation {
            Operation::Put(_, value)
            | Operation::PutExpiring(_, value)
            | Operation::Merge(_, value) => put_bytes(&mut self.bytes, value),
            Operation::Delete(_) | Operation::DropKeyspace(_) => {}
            Operation::DeleteRange(_, to) => {
                put_varint(&mut self.bytes, to.map_or(0, |to| to.len() as u64 + 1));
                self.bytes.extend_from_slice(to.unwrap_or_default());
            }
        }
        self.took(keyspace, operation);
        Ok(())
    }

    fn took(&mut self, keyspace: KeyspaceId, operation: Operation<'_>) {
        self.entries += 1;
        let features = operation.features();
        self.features |= features;
        if matches!(operation, Operation::DropKeyspace(_)) {
            // No memtable takes it.
            return;
        }
        // Batches name few keyspaces, and mostly the same as the entry before.
        let first = self.keyspace.get_or_insert((keyspace, features));
        match Some(first).into_iter().chain(&mut self.others).rfind(|(id, _)| *id == keyspace) {
            Some((_, needed)) => *needed |= features,
            None => self.others.push((keyspace, features)),
        }
    }

    /// Takes over a batch that was encoded elsewhere, as [`WriteBatch::bytes`] returns it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where the bytes are no batch, or an entry is over its limit.
    pub fn from_encoded(bytes: Vec<u8>) -> Result<Self> {
        WriteBatch::from_encoded_for(bytes, |keyspace, _| Ok(keyspace))
    }

    /// Takes over a batch as [`WriteBatch::from_encoded`] does, with the keyspace that `id` returns for each operation
    /// in place of the one that the bytes name.
    ///
    /// # Errors
    /// The errors of [`WriteBatch::from_encoded`] and of `id`.
    #[doc(hidden)]
    pub fn from_encoded_for(
        bytes: Vec<u8>,
        mut id: impl FnMut(KeyspaceId, Operation<'_>) -> Result<KeyspaceId>,
    ) -> Result<Self> {
        let refuse = |found: String| {
            Error::invalid(
                "batch",
                format_args!("an encoded batch of at most {MAX_BATCH_BYTES} bytes"),
                found,
            )
        };
        if bytes.len() > MAX_BATCH_BYTES {
            return Err(refuse(format!("{} bytes", bytes.len())));
        }
        let mut batch = WriteBatch::new();
        // Entries are copied from the first one on whose keyspace has another id.
        let mut copies = false;
        let mut entries = decode(&bytes);
        loop {
            let at = entries.offset();
            let Some(entry) = entries.next() else { break };
            let (named, operation) = entry.map_err(|damage| match damage.newer {
                Some(kind) if kind == Kind::Merge as u8 => left_out(),
                _ => refuse(damage.to_string()),
            })?;
            if let Operation::DropKeyspace(_) = operation {
                return Err(refuse("the removal of a keyspace".to_owned()));
            }
            let keyspace = id(named, operation)?;
            if !copies && keyspace != named {
                copies = true;
                batch.bytes.extend_from_slice(bytes.get(..at).unwrap_or_default());
            }
            if copies {
                batch.push(keyspace, operation)?;
            } else {
                operation.check()?;
                batch.took(keyspace, operation);
            }
        }
        if !copies {
            batch.bytes = bytes;
        }
        Ok(batch)
    }

    /// Returns the keyspaces that the batch names, without one that it drops.
    pub fn keyspaces(&self) -> impl Iterator<Item = KeyspaceId> {
        self.features_by_keyspace().map(|(id, _)| id)
    }

    /// Returns the features of a store that the entries need.
    pub(crate) fn features(&self) -> u32 {
        self.features
    }

    /// Returns the features that the entries need, keyspace by keyspace.
    pub(crate) fn features_by_keyspace(&self) -> impl Iterator<Item = (KeyspaceId, u32)> {
        self.keyspace.iter().chain(&self.others).copied()
    }

    /// Whether the batch has a range delete.
    #[must_use]
    pub fn deletes_range(&self) -> bool {
        self.features & RANGE_DELETES != 0
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether the batch holds no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns the encoded entries, as the log has them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes every entry and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.others.clear();
        (self.keyspace, self.entries, self.features) = (None, 0, 0);
    }

    /// Returns the entries in order.
    #[must_use]
    pub fn iter(&self) -> Entries<'_> {
        decode(&self.bytes)
    }
}

impl<'a> IntoIterator for &'a WriteBatch {
    type Item = Result<Entry<'a>, BatchDamage>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests;
