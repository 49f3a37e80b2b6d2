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

use std::ops::Bound;
use terrane::codec::Decoder;
use terrane::vec_map::VecMap;
use terrane::{Closed, Error, KeyRange, Keyspace, KeyspaceId, Result, WriteBatch};

/// Stands for the length of a missing value.
const MISSING: u32 = u32::MAX;

/// Decodes byte strings from a buffer.
pub(crate) struct ByteStrings<'a> {
    rest: Decoder<'a>,
}

impl<'a> ByteStrings<'a> {
    /// Starts at the front of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
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
pub(crate) struct ByteList {
    lengths: Vec<u8>,
    bytes: Vec<u8>,
}

impl ByteList {
    /// Appends a byte string.
    pub(crate) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        // Keys and values are far shorter than 4 GiB.
        self.push_length(string.len() as u32);
    }

    /// Adds a byte string that `find` appends, or a missing one if it returns false.
    pub(crate) fn find(&mut self, find: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<()> {
        let before = self.bytes.len();
        let found = find(&mut self.bytes)?;
        self.push_length(if found { (self.bytes.len() - before) as u32 } else { MISSING });
        Ok(())
    }

    fn push_length(&mut self, length: u32) {
        self.lengths.extend_from_slice(&length.to_le_bytes());
    }

    /// The size of the encoded list in bytes.
    pub(crate) fn size(&self) -> usize {
        4 + self.lengths.len() + self.bytes.len()
    }

    /// Appends the encoded list.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.reserve(self.size());
        out.extend_from_slice(&(self.lengths.len() as u32 / 4).to_le_bytes());
        out.extend_from_slice(&self.lengths);
        out.extend_from_slice(&self.bytes);
    }
}

/// Decodes a range.
pub(crate) fn range(bytes: &[u8]) -> Result<KeyRange> {
    let mut strings = ByteStrings::new(bytes);
    Ok(KeyRange { from: strings.bound()?, to: strings.bound()? })
}

/// Decodes a batch, and replaces the caller's numbers of keyspaces by the engine's ids.
pub(crate) fn batch(bytes: Vec<u8>, keyspaces: &VecMap<u32, Keyspace>) -> Result<WriteBatch> {
    let id = |number: KeyspaceId| {
        keyspaces.get(&number.0).map(Keyspace::id).ok_or_else(|| Closed::Keyspace.into())
    };
    WriteBatch::from_encoded_for(bytes, id)
}

fn malformed(expected: &str, found: String) -> Error {
    Error::invalid("encoded bytes", expected.to_owned(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

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
