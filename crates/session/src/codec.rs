//! Keys, values, ranges and batches as they are exchanged with JavaScript: one buffer each.
//!
//! * A byte string is its length (`u32`, little-endian), then its bytes. Keys are passed as such, one
//!   after the other, and a single value is returned as such.
//! * Several are returned as a list: the number of byte strings, all their lengths, then all their
//!   bytes, so that JavaScript can decode many as one text. The length of a missing value is
//!   [`MISSING`]. A page is a list of keys, or one of values, or both.
//! * A range is its two bounds: a byte 0 for an unbounded end, 1 for an inclusive or 2 for an
//!   exclusive one, followed by the key unless it is 0.
//! * A batch is encoded as the engine encodes it, so that it is used as it is; keyspaces have the
//!   numbers that the caller assigned.
//! * A condition is a byte for its kind, the keyspace's number (a varint), then by kind: 0 absent and 1 present,
//!   the key; 2 version, the key and its sequence number (a double); 3 value, the key and the value; 4 unchanged, the
//!   snapshot's number (a varint) and the range. Keys, values and ranges here follow their length, a varint.
//! * The outcome of a conditional batch is its sequence number (a double) or, if it was refused, 0, the number of
//!   conditions that failed (`u32`), for each of these its index and the sequence number found (both doubles), then a
//!   list of the keys and one of the values. A value with its version is its sequence number (a double), then its
//!   bytes.

use crate::written::Written;
use std::ops::Bound;
use std::sync::Arc;
use terrane::coding::Decoder;
use terrane::vec_map::VecMap;
use terrane::{
    Closed, Condition, Error, KeyRange, Keyspace, KeyspaceId, Outcome, Result, Snapshot, Versioned,
    WriteBatch,
};

/// The keyspace of watches that every batch changes.
pub const EVERY: KeyspaceId = KeyspaceId(u32::MAX);
/// Stands for the length of a missing value.
const MISSING: u32 = u32::MAX;
/// The size of a length, and of the number of strings.
const LENGTH_BYTES: usize = 4;
/// The room for lengths that a list starts with, in bytes: those of a page of rows.
const LENGTHS_CAPACITY: usize = 512;

/// Decodes byte strings from a buffer.
pub struct ByteStrings<'a> {
    rest: Decoder<'a>,
}

impl<'a> ByteStrings<'a> {
    /// Starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        ByteStrings { rest: Decoder::new(bytes) }
    }

    fn bound(&mut self) -> Result<Bound<Vec<u8>>> {
        Ok(match self.rest.u8() {
            Some(0) => Bound::Unbounded,
            Some(1) => Bound::Included(self.string()?.to_vec()),
            Some(2) => Bound::Excluded(self.string()?.to_vec()),
            found => {
                return Err(malformed(
                    "a bound of a range, 0 to 2",
                    found.map_or_else(|| "none".to_owned(), |kind| kind.to_string()),
                ));
            }
        })
    }

    fn string(&mut self) -> Result<&'a [u8]> {
        let left = self.rest.rest().len();
        let string = self.rest.u32().and_then(|length| self.rest.take(length as usize));
        string.ok_or_else(|| malformed("a length and as many bytes", format!("{left} bytes")))
    }
}

impl<'a> Iterator for ByteStrings<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.string())
    }
}

/// A list of byte strings to return.
#[derive(Default)]
pub struct ByteList {
    lengths: Vec<u8>,
    bytes: Vec<u8>,
}

impl ByteList {
    /// Makes a list with room for strings of `bytes` bytes together.
    pub fn with_capacity(bytes: usize) -> Self {
        ByteList { lengths: Vec::with_capacity(LENGTHS_CAPACITY), bytes: Vec::with_capacity(bytes) }
    }

    /// Appends a byte string.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        // Keys and values are far shorter than 4 GiB.
        self.push_length(string.len() as u32);
    }

    fn push_length(&mut self, length: u32) {
        self.lengths.extend_from_slice(&length.to_le_bytes());
    }

    /// The size of the encoded list in bytes.
    pub fn size(&self) -> usize {
        4 + self.lengths.len() + self.bytes.len()
    }

    /// Appends the encoded list.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.reserve_exact(self.size());
        out.extend_from_slice(&(self.lengths.len() as u32 / 4).to_le_bytes());
        out.extend_from_slice(&self.lengths);
        out.extend_from_slice(&self.bytes);
    }
}

/// A list of a known number of values, encoded as they are added.
pub struct ValueList {
    list: Vec<u8>,
    /// The place of the next length.
    next: usize,
    /// The size of the list without its strings.
    head: usize,
}

impl ValueList {
    /// Makes a list of `count` values, all of which are missing.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let mut list = (count as u32).to_le_bytes().to_vec();
        let head = LENGTH_BYTES * (1 + count);
        // The bytes of `MISSING`.
        list.resize(head, u8::MAX);
        ValueList { list, next: LENGTH_BYTES, head }
    }

    /// Adds a value. Returns false, and adds nothing, if the values would have more than `most` bytes or there is no
    /// memory for it.
    pub fn push(&mut self, value: &[u8], most: usize) -> bool {
        let after = self.list.len() - self.head + value.len();
        if after > most || self.list.try_reserve(value.len()).is_err() {
            return false;
        }
        self.list.extend_from_slice(value);
        let next = self.next + LENGTH_BYTES;
        if let Some(length) = self.list.get_mut(self.next..next) {
            // Values are far shorter than 4 GiB.
            length.copy_from_slice(&(value.len() as u32).to_le_bytes());
        }
        self.next = next;
        true
    }

    /// Adds a missing value.
    pub fn push_missing(&mut self) {
        self.next += LENGTH_BYTES;
    }

    /// Returns the encoded list.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.list
    }
}

/// Decodes a range.
pub fn range(bytes: &[u8]) -> Result<KeyRange> {
    let mut strings = ByteStrings::new(bytes);
    Ok(KeyRange { from: strings.bound()?, to: strings.bound()? })
}

/// Decodes ranges, each after the number of its keyspace (`u32`), or that of [`EVERY`], and its own length (`u32`).
pub fn ranges(
    bytes: &[u8],
    keyspaces: &VecMap<u32, Keyspace>,
) -> Result<Vec<(KeyspaceId, KeyRange)>> {
    let mut strings = ByteStrings::new(bytes);
    let mut ranges = Vec::new();
    while let Some(number) = strings.rest.u32() {
        let keyspace = match number {
            number if number == EVERY.0 => EVERY,
            _ => keyspaces.get(&number).ok_or(Closed::Keyspace)?.id(),
        };
        ranges.push((keyspace, range(strings.string()?)?));
    }
    Ok(ranges)
}

/// Decodes a batch, and replaces the caller's numbers of keyspaces by the engine's ids. Adds what it changes to
/// `written`.
pub fn batch(
    bytes: Vec<u8>,
    keyspaces: &VecMap<u32, Keyspace>,
    mut written: Option<&mut Written>,
) -> Result<WriteBatch> {
    WriteBatch::from_encoded_for(bytes, |number, operation| {
        let id = keyspaces.get(&number.0).map(Keyspace::id).ok_or(Closed::Keyspace)?;
        if let Some(written) = &mut written {
            written.push(id, operation);
        }
        Ok(id)
    })
}

/// Decodes conditions.
pub fn conditions<'a>(
    bytes: &[u8],
    keyspaces: &VecMap<u32, Keyspace>,
    snapshots: &'a VecMap<u32, Arc<Snapshot>>,
) -> Result<Vec<Condition<'a>>> {
    let mut rest = Decoder::new(bytes);
    let mut conditions = Vec::new();
    while !rest.is_empty() {
        let left = rest.rest().len();
        let cut = || malformed("a condition", format!("{left} bytes"));
        let kind = rest.u8().ok_or_else(cut)?;
        let number = rest.varint().and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(cut)?;
        let keyspace = keyspaces.get(&number).ok_or(Closed::Keyspace)?;
        conditions.push(if kind == 4 {
            let snapshot = rest.varint().and_then(|number| u32::try_from(number).ok());
            let snapshot = snapshots.get(&snapshot.ok_or_else(cut)?).ok_or(Closed::Snapshot)?;
            snapshot.unchanged(keyspace, range(rest.bytes().ok_or_else(cut)?)?)
        } else {
            let key = rest.bytes().ok_or_else(cut)?;
            match kind {
                0 => Condition::absent(keyspace, key),
                1 => Condition::present(keyspace, key),
                2 => {
                    let seq = f64::from_bits(rest.u64().ok_or_else(cut)?);
                    Condition::version(keyspace, key, seq as u64)
                }
                3 => Condition::value(keyspace, key, rest.bytes().ok_or_else(cut)?),
                _ => return Err(malformed("a condition of kind 0 to 4", kind.to_string())),
            }
        });
    }
    Ok(conditions)
}

/// Encodes the outcome of a conditional batch.
pub fn outcome(outcome: Outcome) -> Vec<u8> {
    let refusals = match outcome {
        Outcome::Written(seq) => return number(seq).to_vec(),
        Outcome::Refused(refusals) => refusals,
    };
    let (mut keys, mut values) = (ByteList::default(), ByteList::default());
    let mut bytes = number(0).to_vec();
    bytes.extend_from_slice(&(refusals.len() as u32).to_le_bytes());
    for refusal in &refusals {
        let found = refusal.found.as_ref();
        bytes.extend_from_slice(&number(refusal.condition as u64));
        bytes.extend_from_slice(&number(found.map_or(0, |found| found.seq)));
        bytes.extend_from_slice(&number(found.and_then(|found| found.expires_at).unwrap_or(0)));
        keys.push(&refusal.key);
        match found {
            Some(found) => values.push(&found.value),
            None => values.push_length(MISSING),
        }
    }
    keys.encode(&mut bytes);
    values.encode(&mut bytes);
    bytes
}

/// Encodes a value with its version; no bytes if there is none.
pub fn versioned(found: Option<Versioned>) -> Vec<u8> {
    let Some(Versioned { value, seq, expires_at, .. }) = found else { return Vec::new() };
    [&number(seq)[..], &number(expires_at.unwrap_or(0)), &value].concat()
}

/// A sequence number or a time, which JavaScript represents exactly up to 2^53.
pub(crate) fn number(number: u64) -> [u8; 8] {
    (number as f64).to_le_bytes()
}

fn malformed(expected: &str, found: String) -> Error {
    Error::invalid("encoded bytes", expected.to_owned(), found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::executor::SliceExecutor;
    use terrane::storage::{Directory, vfs::MemoryVfs};
    use terrane::{Db, Durability, Options};

    #[test]
    fn a_value_over_the_bound_leaves_a_list_as_it_was() {
        let mut values = ValueList::new(4);
        assert!(values.push(b"abc", 5));
        values.push_missing();
        assert!(!values.push(b"def", 5));
        assert!(values.push(b"", 5) && values.push(b"de", 5));
        let mut expected = ByteList::default();
        expected.push(b"abc");
        expected.push_length(MISSING);
        expected.push(b"");
        expected.push(b"de");
        let mut list = Vec::new();
        expected.encode(&mut list);
        assert_eq!(values.into_bytes(), list);
    }

    #[test]
    fn conditions_cut_anywhere_are_refused_or_a_prefix() {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let keyspaces = VecMap::from_iter([(0, db.default_keyspace())]);
        let snapshots = VecMap::from_iter([(7, Arc::new(db.snapshot()))]);
        let parts = [
            &[0, 0, 1, b'k'][..],
            &[1, 0, 0],
            &[&[2, 0, 1, b'k'][..], &2f64.to_le_bytes()].concat(),
            &[3, 0, 1, b'k', 1, b'v'],
            &[4, 0, 7, 7, 0, 2, 1, 0, 0, 0, b'm'],
        ];
        let whole = parts.concat();
        let ends: Vec<usize> = (0..=parts.len()).map(|n| parts[..n].concat().len()).collect();
        for cut in 0..=whole.len() {
            let read = conditions(&whole[..cut], &keyspaces, &snapshots);
            let expected = ends.iter().position(|end| *end == cut);
            assert_eq!(read.ok().map(|conditions| conditions.len()), expected, "cut at {cut}");
        }
        // They mean what they say: the second does not hold.
        let all = conditions(&whole, &keyspaces, &snapshots).unwrap();
        let refused = db.write_if(all, WriteBatch::new(), Durability::Buffered).unwrap();
        let Outcome::Refused(refusals) = &refused else { panic!("written") };
        assert_eq!(refusals.iter().map(|r| r.condition).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(outcome(refused)[..12], [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
        for bad in [&[5, 0, 0][..], &[0, 1, 0], &[4, 0, 8, 2, 0, 0]] {
            assert!(conditions(bad, &keyspaces, &snapshots).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_range_round_trips_and_one_truncated_anywhere_is_rejected() {
        let encoded = [&[1, 1, 0, 0, 0][..], b"a", &[2, 2, 0, 0, 0], b"bc"].concat();
        let expected =
            KeyRange { from: Bound::Included(b"a".to_vec()), to: Bound::Excluded(b"bc".to_vec()) };
        assert_eq!(range(&encoded).unwrap(), expected);
        assert_eq!(range(&[0, 0]).unwrap(), KeyRange::default());
        for cut in 0..encoded.len() {
            assert!(range(&encoded[..cut]).is_err(), "cut at {cut}");
        }
        assert!(range(&[3, 0]).is_err());
    }
}
