//! Entries of encoded batches.

use super::operation::{Entry, Operation};
use super::{DROP_KEYSPACE, MAX_BOUND_BYTES, RANGE_DELETE};
use crate::coding::Decoder;
use crate::entry::{EXPIRY_BYTES, Kind, MAX_KEY_BYTES, MAX_VALUE_BYTES, newer_kind};
use crate::error::{Corruption, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::operand::Operand;

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
    /// Returns the failure to read a batch that starts at `offset` of `file`.
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

/// Decodes the entries of encoded batches, one or several after another. Any bytes are safe to decode; the
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
    pub(super) fn offset(&self) -> usize {
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

/// Takes one entry. The caller adds to an error where the entry starts.
#[cfg_attr(not(target_arch = "wasm32"), inline)]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn entry<'a>(from: &mut Decoder<'a>) -> Result<Entry<'a>, BatchDamage> {
    let byte = from.u8().ok_or_else(|| cut("a kind", from))?;
    let kind = Kind::from_byte(byte);
    if kind.is_none() && byte != RANGE_DELETE && byte != DROP_KEYSPACE {
        let damage = damage("kind 0, 1, 2, 3, 4 or 6", format!("kind {byte}"));
        return Err(BatchDamage { newer: Some(byte), ..damage });
    }
    let id = from.varint().ok_or_else(|| cut("a keyspace", from))?;
    let id = u32::try_from(id).map_err(|_| damage("a keyspace below 2^32", id.to_string()))?;
    let key = from.bytes().ok_or_else(|| cut("a key", from))?;
    if byte == DROP_KEYSPACE {
        return Ok((KeyspaceId(id), Operation::DropKeyspace(key)));
    }
    let Some(kind) = kind else { return Ok((KeyspaceId(id), range(key, from)?)) };
    if key.len() > MAX_KEY_BYTES {
        return Err(damage("a key of at most 65535 bytes", format!("{} bytes", key.len())));
    }
    let value = match kind {
        Kind::Delete => &[],
        Kind::Put | Kind::Merge | Kind::PutExpiring => {
            from.bytes().ok_or_else(|| cut("a value", from))?
        }
    };
    if value.len() > MAX_VALUE_BYTES {
        return Err(damage("a value of at most 64 MiB", format!("{} bytes", value.len())));
    }
    let operation = match kind {
        Kind::Delete => Operation::Delete(key),
        Kind::Put => Operation::Put(key, value),
        Kind::Merge => merge(key, value)?,
        Kind::PutExpiring if value.len() < EXPIRY_BYTES => {
            let found = format!("{} bytes", value.len());
            return Err(damage("the time at which a value expires", found));
        }
        Kind::PutExpiring => Operation::PutExpiring(key, value),
    };
    Ok((KeyspaceId(id), operation))
}

/// Checks the operand of a merge.
fn merge<'a>(key: &'a [u8], bytes: &'a [u8]) -> Result<Operation<'a>, BatchDamage> {
    let expected =
        "an operator (0 add, 1 min, 2 max, 255 the store's) and its operand, of 8 bytes for 0 to 2";
    match (Operand::decode(bytes), bytes.first()) {
        (Some(_), _) => Ok(Operation::Merge(key, bytes)),
        (None, Some(operator)) => {
            Err(damage(expected, format!("operator {operator} and {} bytes", bytes.len() - 1)))
        }
        (None, None) => Err(damage(expected, "nothing".to_owned())),
    }
}

/// Takes the end of a range delete that starts at `start`.
fn range<'a>(start: &'a [u8], from: &mut Decoder<'a>) -> Result<Operation<'a>, BatchDamage> {
    let length = from.length().ok_or_else(|| cut("the end of a range", from))?;
    let to = match length.checked_sub(1) {
        None => None,
        Some(length) => Some(from.take(length).ok_or_else(|| cut("the end of a range", from))?),
    };
    let longest = start.len().max(to.map_or(0, <[u8]>::len));
    if longest > MAX_BOUND_BYTES {
        return Err(damage("bounds of at most 65536 bytes", format!("{longest} bytes")));
    }
    if to.is_some_and(|to| to <= start) {
        return Err(damage("a range that has keys", "an empty one".to_owned()));
    }
    Ok(Operation::DeleteRange(start, to))
}

#[cold]
fn damage(expected: &'static str, found: String) -> BatchDamage {
    BatchDamage { offset: 0, expected, found, newer: None }
}

#[cold]
fn cut(expected: &'static str, at: &Decoder<'_>) -> BatchDamage {
    damage(expected, format!("{} bytes that do not hold it", at.rest().len()))
}
