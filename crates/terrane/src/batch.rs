//! Write batches: operations over any keyspaces that take effect together.
//!
//! A batch is encoded as it lies in the log, one entry after another:
//!
//! ```text
//! kind u8 | keyspace varint | key length varint, key | value length varint, value (puts only)
//! ```
//!
//! Its entries share one sequence number, given when the batch is committed. Of several entries of
//! one key the last counts.

use crate::codec::{Decoder, put_bytes, put_varint};
use crate::entry::{Kind, MAX_KEY_BYTES, MAX_VALUE_BYTES, check_limits, newer_kind};
use crate::error::{Corruption, Error, Result};
use crate::keyspace::KeyspaceId;

/// The longest batch, in encoded bytes.
pub const MAX_BATCH_BYTES: usize = 256 << 20;

/// The most that an entry takes besides its key and value: kind, keyspace and the two lengths.
const HEAD_BYTES: usize = 1 + 5 + 3 + 4;

/// Operations that are committed as one: after a crash all of them are there, or none.
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
    /// The keyspaces of the entries, without repetition.
    keyspaces: Vec<KeyspaceId>,
}

impl WriteBatch {
    /// A batch without operations.
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
        self.push(Kind::Put, keyspace.into(), key.as_ref(), value.as_ref())
    }

    /// Adds a delete from a keyspace, which is named by its handle or its id.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a key or batch over its limit; the batch stays as it
    /// was.
    pub fn delete(&mut self, keyspace: impl Into<KeyspaceId>, key: impl AsRef<[u8]>) -> Result<()> {
        self.push(Kind::Delete, keyspace.into(), key.as_ref(), &[])
    }

    fn push(&mut self, kind: Kind, keyspace: KeyspaceId, key: &[u8], value: &[u8]) -> Result<()> {
        check_limits(key, value)?;
        let after = self.bytes.len() + HEAD_BYTES + key.len() + value.len();
        if after > MAX_BATCH_BYTES {
            return Err(Error::invalid(
                "batch",
                format_args!("at most {MAX_BATCH_BYTES} bytes"),
                format_args!("{after} bytes"),
            ));
        }
        self.bytes.reserve(after - self.bytes.len());
        self.bytes.push(kind as u8);
        put_varint(&mut self.bytes, u64::from(keyspace.0));
        put_bytes(&mut self.bytes, key);
        if kind == Kind::Put {
            put_bytes(&mut self.bytes, value);
        }
        self.entries += 1;
        self.names(keyspace);
        Ok(())
    }

    fn names(&mut self, keyspace: KeyspaceId) {
        // Batches name few keyspaces, and mostly the same as the entry before.
        if self.keyspaces.last() != Some(&keyspace) && !self.keyspaces.contains(&keyspace) {
            self.keyspaces.push(keyspace);
        }
    }

    /// Takes over a batch that was encoded elsewhere, as [`WriteBatch::bytes`] gives it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where the bytes are no batch, or an entry is over its limit.
    pub fn from_encoded(bytes: Vec<u8>) -> Result<Self> {
        WriteBatch::from_encoded_for(bytes, Ok)
    }

    /// As [`WriteBatch::from_encoded`], with the `id` of each keyspace that the bytes name in its place.
    ///
    /// # Errors
    /// As for [`WriteBatch::from_encoded`], and those of `id`.
    #[doc(hidden)]
    pub fn from_encoded_for(
        bytes: Vec<u8>,
        id: impl Fn(KeyspaceId) -> Result<KeyspaceId>,
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
            let (kind, named, key, value) = entry.map_err(|damage| refuse(damage.to_string()))?;
            let keyspace = id(named)?;
            if !copies && keyspace != named {
                copies = true;
                batch.bytes.extend_from_slice(bytes.get(..at).unwrap_or_default());
            }
            if copies {
                batch.push(kind, keyspace, key, value)?;
            } else {
                check_limits(key, value)?;
                batch.entries += 1;
                batch.names(keyspace);
            }
        }
        if !copies {
            batch.bytes = bytes;
        }
        Ok(batch)
    }

    /// The keyspaces that the batch names.
    #[must_use]
    pub fn keyspaces(&self) -> &[KeyspaceId] {
        &self.keyspaces
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether the batch holds no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The entries as they lie in the log.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes every entry and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.keyspaces.clear();
        self.entries = 0;
    }

    /// The entries in order.
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

/// An entry of a batch: kind, keyspace, key and value (empty for a delete).
pub type Entry<'a> = (Kind, KeyspaceId, &'a [u8], &'a [u8]);

/// Bytes that are no batch, or none that this release reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad batch entry at byte {offset}: expected {expected}, found {found}")]
pub struct BatchDamage {
    /// Offset of the entry, in bytes from the first entry.
    pub offset: usize,
    /// Expected content of the next field.
    pub expected: &'static str,
    /// Content found there.
    pub found: String,
    /// The entry's kind, if this release does not know it: a later one wrote it.
    pub newer: Option<u8>,
}

impl BatchDamage {
    /// The failure to read a batch that starts at `offset` of `file`.
    #[cold]
    pub fn within(self, file: &str, offset: u64) -> Error {
        match self.newer {
            Some(kind) => newer_kind(file, kind),
            None => {
                let at = offset + self.offset as u64;
                Corruption::new(file, at, self.expected, self.found).into()
            }
        }
    }
}

/// The entries of encoded batches, one or several after another. Any bytes are safe to decode; the
/// first damage ends the iteration.
#[must_use]
pub fn decode(bytes: &[u8]) -> Entries<'_> {
    Entries { rest: Decoder::new(bytes), total: bytes.len() }
}

/// Iterates over the entries of a batch; see [`decode`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: Decoder<'a>,
    total: usize,
}

impl Entries<'_> {
    /// Returns the offset of the next entry, in bytes from the first one.
    fn offset(&self) -> usize {
        self.total - self.rest.rest().len()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, BatchDamage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let offset = self.offset();
        let entry = entry(&mut self.rest);
        if entry.is_err() {
            self.rest = Decoder::new(&[]);
        }
        Some(entry.map_err(|damage| BatchDamage { offset, ..damage }))
    }
}

/// Takes one entry. Where it starts, an error leaves to the caller.
#[cfg_attr(not(target_arch = "wasm32"), inline)]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn entry<'a>(from: &mut Decoder<'a>) -> Result<Entry<'a>, BatchDamage> {
    let byte = from.u8().ok_or_else(|| cut("a kind", from))?;
    let kind = Kind::from_byte(byte).ok_or_else(|| BatchDamage {
        newer: Some(byte),
        ..damage("kind 0 or 1", format!("kind {byte}"))
    })?;
    let id = from.varint().ok_or_else(|| cut("a keyspace", from))?;
    let id = u32::try_from(id).map_err(|_| damage("a keyspace below 2^32", id.to_string()))?;
    let key = from.bytes().ok_or_else(|| cut("a key", from))?;
    if key.len() > MAX_KEY_BYTES {
        return Err(damage("a key of at most 65535 bytes", format!("{} bytes", key.len())));
    }
    let value = match kind {
        Kind::Put => from.bytes().ok_or_else(|| cut("a value", from))?,
        Kind::Delete => &[],
    };
    if value.len() > MAX_VALUE_BYTES {
        return Err(damage("a value of at most 64 MiB", format!("{} bytes", value.len())));
    }
    Ok((kind, KeyspaceId(id), key, value))
}

#[cold]
fn damage(expected: &'static str, found: String) -> BatchDamage {
    BatchDamage { offset: 0, expected, found, newer: None }
}

#[cold]
fn cut(expected: &'static str, at: &Decoder<'_>) -> BatchDamage {
    damage(expected, format!("{} bytes that do not hold it", at.rest().len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Closed;
    use crate::error::ErrorKind;
    use proptest::prelude::*;

    fn operation() -> impl Strategy<Value = (bool, u32, Vec<u8>, Vec<u8>)> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..200);
        (any::<bool>(), any::<u32>(), bytes(), bytes())
    }

    proptest! {
        #[test]
        fn entries_come_back_in_order(
            operations in prop::collection::vec(operation(), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut batch = WriteBatch::new();
            for (put, id, key, value) in &operations {
                match put {
                    true => batch.put(KeyspaceId(*id), key, value).unwrap(),
                    false => batch.delete(KeyspaceId(*id), key).unwrap(),
                }
            }
            prop_assert_eq!(batch.len(), operations.len());
            let written: Vec<Entry<'_>> = operations
                .iter()
                .map(|(put, id, key, value)| match put {
                    true => (Kind::Put, KeyspaceId(*id), &key[..], &value[..]),
                    false => (Kind::Delete, KeyspaceId(*id), &key[..], &[][..]),
                })
                .collect();
            let read: Vec<Entry<'_>> = batch.iter().map(Result::unwrap).collect();
            prop_assert_eq!(&read, &written);

            // Cut anywhere, what returns is a prefix, then at most one damage.
            let short = &batch.bytes()[..cut.index(batch.bytes().len() + 1)];
            let read: Vec<_> = decode(short).collect();
            let whole = read.iter().take_while(|entry| entry.is_ok()).count();
            prop_assert!(read.len() - whole <= 1);
            for (entry, written) in read.iter().zip(&written).take(whole) {
                prop_assert_eq!(entry.as_ref().unwrap(), written);
            }
        }

        #[test]
        fn any_bytes_decode_within_the_limits_or_are_damage(
            bytes in prop::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..64),
        ) {
            let entries: Vec<_> = decode(&bytes).collect();
            prop_assert!(entries.iter().rev().skip(1).all(Result::is_ok));
        }
    }

    #[test]
    fn an_entry_over_its_limit_is_refused_and_leaves_the_batch() {
        let mut batch = WriteBatch::new();
        batch.put(KeyspaceId(1), b"k", b"v").unwrap();
        let before = batch.clone();
        let long_key = vec![0; MAX_KEY_BYTES + 1];
        assert!(batch.put(KeyspaceId(1), &long_key, b"").is_err());
        assert!(batch.delete(KeyspaceId(1), &long_key).is_err());
        assert!(batch.put(KeyspaceId(1), b"", &vec![0; MAX_VALUE_BYTES + 1]).is_err());
        assert_eq!(batch, before);

        // Damage that no batch could hold is refused on the way back.
        let mut bytes = vec![Kind::Delete as u8, 1];
        put_bytes(&mut bytes, &long_key);
        assert!(decode(&bytes).next().unwrap().is_err());
    }

    #[test]
    fn a_batch_takes_its_limit_and_refuses_more_unchanged() {
        let mut batch = WriteBatch::new();
        let value = vec![7; MAX_VALUE_BYTES];
        for _ in 0..3 {
            batch.put(KeyspaceId(1), b"", &value).unwrap();
        }
        let held = batch.bytes().len();
        let room = MAX_BATCH_BYTES - HEAD_BYTES - held;
        assert!(batch.put(KeyspaceId(1), b"", &value[..room + 1]).is_err());
        assert!(batch.put(KeyspaceId(1), b"k", &value[..room]).is_err());
        assert_eq!((batch.len(), batch.bytes().len()), (3, held));
        batch.put(KeyspaceId(1), b"k", &value[..room - 1]).unwrap();
        assert!(batch.iter().all(|entry| entry.is_ok()) && batch.len() == 4);

        // Kinds, keyspaces and lengths may take less than is reckoned with above.
        let mut bytes = batch.bytes().to_vec();
        let left = MAX_BATCH_BYTES - bytes.len();
        let delete = |key_bytes: usize| {
            let mut entry = vec![Kind::Delete as u8, 1];
            put_bytes(&mut entry, &vec![0; key_bytes]);
            entry
        };
        bytes.extend(delete(left - delete(0).len()));
        assert_eq!(bytes.len(), MAX_BATCH_BYTES);
        assert_eq!(WriteBatch::from_encoded(bytes).unwrap().len(), 5);
        let over = vec![0; MAX_BATCH_BYTES + 1];
        let refused = WriteBatch::from_encoded(over).unwrap_err().to_string();
        assert!(refused.contains(&format!("{} bytes", MAX_BATCH_BYTES + 1)), "{refused}");
    }

    #[test]
    fn the_greatest_entry_takes_the_reckoned_bytes() {
        let mut batch = WriteBatch::new();
        let (key, value) = (vec![0; MAX_KEY_BYTES], vec![0; MAX_VALUE_BYTES]);
        batch.put(KeyspaceId(u32::MAX), &key, &value).unwrap();
        assert_eq!(batch.bytes().len(), HEAD_BYTES + key.len() + value.len());
    }

    #[test]
    fn the_longest_key_and_value_are_read_and_longer_are_damage() {
        let read = |kind: Kind, key_bytes: usize, value_bytes: usize| {
            let mut bytes = vec![kind as u8, 1];
            put_bytes(&mut bytes, &vec![1; key_bytes]);
            if kind == Kind::Put {
                put_bytes(&mut bytes, &vec![2; value_bytes]);
            }
            decode(&bytes).next().unwrap().map(|(_, _, key, value)| (key.len(), value.len()))
        };
        let most = (MAX_KEY_BYTES, MAX_VALUE_BYTES);
        assert_eq!(read(Kind::Put, most.0, most.1), Ok(most));
        assert_eq!(read(Kind::Delete, most.0, 0), Ok((most.0, 0)));
        for (kind, key_bytes, value_bytes) in [
            (Kind::Put, most.0 + 1, 0),
            (Kind::Put, most.0 + 2, 0),
            (Kind::Delete, most.0 + 1, 0),
            (Kind::Put, 0, most.1 + 1),
            (Kind::Put, 0, most.1 + 2),
        ] {
            assert!(read(kind, key_bytes, value_bytes).is_err(), "{key_bytes} {value_bytes}");
        }
    }

    #[test]
    fn damage_of_an_entry_is_located_in_the_file_of_the_batch() {
        let mut batch = WriteBatch::new();
        batch.put(KeyspaceId(1), b"key", b"value").unwrap();
        let bytes = [batch.bytes(), &[Kind::Delete as u8]].concat();
        let damage = decode(&bytes).nth(1).unwrap().unwrap_err();
        let told = damage.within("log", 1000).into_corruption().unwrap();
        assert_eq!((&told.file[..], told.offset), ("log", 1000 + batch.bytes().len() as u64));
    }

    #[test]
    fn a_batch_names_each_keyspace_once_and_none_after_clear() {
        let mut batch = WriteBatch::new();
        for id in [4, 2, 4, 4, 7, 2] {
            batch.delete(KeyspaceId(id), b"k").unwrap();
        }
        assert_eq!(batch.keyspaces(), [4, 2, 7].map(KeyspaceId));
        batch.clear();
        assert_eq!(batch, WriteBatch::new());
        assert!(batch.is_empty() && batch.iter().next().is_none());
    }

    #[test]
    fn a_batch_is_read_for_other_keyspace_ids_and_keeps_its_order() {
        let mut encoded = WriteBatch::new();
        encoded.put(KeyspaceId(0), b"a", b"1").unwrap();
        encoded.put(KeyspaceId(1), b"a", b"2").unwrap();
        encoded.delete(KeyspaceId(0), b"b").unwrap();
        let id = |named: KeyspaceId| match named.0 {
            0 => Ok(KeyspaceId(0)),
            1 => Ok(KeyspaceId(300)),
            _ => Err(Closed::Keyspace.into()),
        };
        let batch = WriteBatch::from_encoded_for(encoded.bytes().to_vec(), id).unwrap();
        let mut expected = WriteBatch::new();
        expected.put(KeyspaceId(0), b"a", b"1").unwrap();
        expected.put(KeyspaceId(300), b"a", b"2").unwrap();
        expected.delete(KeyspaceId(0), b"b").unwrap();
        assert_eq!(batch, expected);

        let up = |named: KeyspaceId| Ok(KeyspaceId(named.0 + 1));
        let all = WriteBatch::from_encoded_for(encoded.bytes().to_vec(), up).unwrap();
        let ids = all.iter().map(|entry| entry.unwrap().1.0);
        assert_eq!(ids.collect::<Vec<_>>(), [1, 2, 1]);

        encoded.put(KeyspaceId(2), b"a", b"").unwrap();
        let unknown = WriteBatch::from_encoded_for(encoded.bytes().to_vec(), id);
        assert!(matches!(unknown.map_err(Error::into_kind), Err(ErrorKind::Closed(_))));
    }
}
