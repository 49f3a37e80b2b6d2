//! Keys, values and batches as they cross from JavaScript and back: one buffer each.
//!
//! * A byte string is its length (`u32`, little-endian), then its bytes.
//! * Keys are byte strings one after the other; a page is keys and values in turn.
//! * Values looked up are byte strings too; the length [`MISSING`] says that there is none.
//! * A batch is operations: a byte 1, key and value for a put; a byte 0 and a key for a delete.

use terrane::codec::Decoder;
use terrane::{Error, KeyspaceId, Result, WriteBatch};

/// Stands for the length of a value that is not there.
const MISSING: u32 = u32::MAX;

/// Takes byte strings off the front of a buffer.
pub(crate) struct Strings<'a> {
    rest: Decoder<'a>,
}

impl<'a> Strings<'a> {
    /// Starts at the front of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Strings { rest: Decoder::new(bytes) }
    }

    fn string(&mut self) -> Result<&'a [u8]> {
        let left = self.rest.rest().len();
        let string = self.rest.u32().and_then(|length| self.rest.take(length as usize));
        string.ok_or_else(|| malformed("a length and as many bytes", format!("{left} bytes")))
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.string())
    }
}

/// Appends a byte string.
pub(crate) fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    // Keys and values are far shorter than 4 GiB.
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends that there is no value.
pub(crate) fn put_missing(out: &mut Vec<u8>) {
    out.extend_from_slice(&MISSING.to_le_bytes());
}

/// Reads a batch for one keyspace.
pub(crate) fn batch(bytes: &[u8], keyspace: KeyspaceId) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    let mut strings = Strings::new(bytes);
    while let Some(kind) = strings.rest.u8() {
        let key = strings.string()?;
        match kind {
            0 => batch.delete(keyspace, key)?,
            1 => batch.put(keyspace, key, strings.string()?)?,
            _ => return Err(malformed("an operation 0 or 1", format!("{kind}"))),
        }
    }
    Ok(batch)
}

fn malformed(expected: &str, found: String) -> Error {
    Error::InvalidArgument { what: "packed bytes", expected: expected.to_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::entry::Kind;

    #[test]
    fn operations_of_a_packed_batch_keep_their_order() {
        let mut packed = vec![1];
        put_string(&mut packed, b"a");
        put_string(&mut packed, b"");
        packed.push(0);
        put_string(&mut packed, b"b");
        let batch = batch(&packed, KeyspaceId(0)).unwrap();
        let found: Vec<_> = batch.iter().map(|e| e.map(|(kind, _, k, v)| (kind, k, v))).collect();
        let expected = [(Kind::Put, &b"a"[..], &b""[..]), (Kind::Delete, b"b", b"")];
        assert_eq!(found, expected.map(Ok));
    }

    #[test]
    fn a_batch_cut_anywhere_is_refused() {
        let mut packed = vec![1];
        put_string(&mut packed, b"key");
        put_string(&mut packed, b"value");
        for cut in 1..packed.len() {
            assert!(batch(&packed[..cut], KeyspaceId(0)).is_err(), "cut at {cut}");
        }
        assert!(batch(&[2, 0, 0, 0, 0], KeyspaceId(0)).is_err());
    }
}
