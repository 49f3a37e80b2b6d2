//! Keys, values and batches as they cross from JavaScript and back: one buffer each.
//!
//! * A byte string is its length (`u32`, little-endian), then its bytes.
//! * Keys are byte strings one after the other; a page is keys and values in turn.
//! * Values looked up are byte strings too; the length [`MISSING`] says that there is none.
//! * A batch is operations: a byte 1, key and value for a put; a byte 0 and a key for a delete.

use terrane::codec::Decoder;
use terrane::{Error, Keyspace, Result, WriteBatch};

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

    fn take(&mut self) -> Result<&'a [u8]> {
        let left = self.rest.rest().len();
        let string = self.rest.u32().and_then(|length| self.rest.take(length as usize));
        string.ok_or_else(|| malformed("a length and as many bytes", format!("{left} bytes")))
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.take())
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
pub(crate) fn batch(bytes: &[u8], keyspace: &Keyspace) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    let mut strings = Strings::new(bytes);
    while let Some(kind) = strings.rest.u8() {
        let key = strings.take()?;
        match kind {
            0 => batch.delete(keyspace.id(), key)?,
            1 => batch.put(keyspace.id(), key, strings.take()?)?,
            _ => return Err(malformed("an operation 0 or 1", format!("{kind}"))),
        }
    }
    Ok(batch)
}

fn malformed(expected: &str, found: String) -> Error {
    Error::InvalidArgument { what: "packed bytes", expected: expected.to_owned(), found }
}
