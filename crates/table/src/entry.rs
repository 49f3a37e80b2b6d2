//! Entries (internal keys and values) and their order.
//!
//! An entry is a user key, a [`Tag`] (sequence number and kind) and a value. Entries are ordered by
//! user key ascending, then by tag descending: the newest version of a key comes first.

use crate::error::{Error, ErrorKind, Result};
use std::cmp::Ordering;

pub use terrane_types::resolve::Kind;
pub use terrane_types::{Millis, Seq};

/// The greatest sequence number: 56 bits.
pub const MAX_SEQ: Seq = (1 << 56) - 1;
/// The longest key, in bytes. Keys may be empty.
pub const MAX_KEY_BYTES: usize = 65_535;
/// The longest value, in bytes, with the time before it if it expires. Values may be empty.
pub const MAX_VALUE_BYTES: usize = 64 << 20;
/// The length of the time before a value that expires, in bytes.
pub const EXPIRY_BYTES: usize = 8;

/// The error for an entry in `file` of a kind that this release does not know.
#[cold]
pub fn newer_kind(file: &str, byte: u8) -> Error {
    let known = "puts, deletes, merges and values that expire";
    match byte {
        2 => Error::newer_format(file, "a range delete", known),
        3 => left_out(),
        5 => Error::newer_format(file, "a separated value", known),
        other => Error::newer_format(file, format_args!("an entry of kind {other}"), known),
    }
}

/// The error for merges, in a build without them.
#[cold]
pub fn left_out() -> Error {
    ErrorKind::LeftOut("merges".to_owned()).into()
}

/// A sequence number and a kind in one word: `seq << 8 | kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

impl Tag {
    /// The tag of an entry that a scan has not read yet: newer than all versions of its key.
    pub(crate) const PROMISED: Tag = Tag(u64::MAX);
    /// The same in a scan backward: older than all versions of its key, since sequence numbers start at 1.
    pub(crate) const PROMISED_BACKWARD: Tag = Tag(0);

    /// The tag of an entry.
    #[must_use]
    pub fn new(seq: Seq, kind: Kind) -> Self {
        Tag(seq << 8 | kind as u64)
    }

    /// The greatest tag visible at `seq`: a seek to it finds the newest visible version.
    #[must_use]
    pub fn at(seq: Seq) -> Self {
        Tag(seq << 8 | 0xff)
    }

    /// The sequence number.
    #[must_use]
    pub fn seq(self) -> Seq {
        self.0 >> 8
    }

    /// The kind; `None` if this release does not know it.
    #[must_use]
    pub fn kind(self) -> Option<Kind> {
        Kind::from_byte(self.kind_byte())
    }

    /// The kind's number.
    #[must_use]
    pub fn kind_byte(self) -> u8 {
        (self.0 & 0xff) as u8
    }
}

/// Returns a value that expires as an entry stores it.
#[must_use]
pub fn expiring(expires_at: Millis, value: &[u8]) -> Vec<u8> {
    [&expires_at.to_le_bytes(), value].concat()
}

/// Splits what [`expiring`] returns into time and value; `None` for bytes that are too few for a time.
#[inline]
#[must_use]
pub fn split_expiring(stored: &[u8]) -> Option<(Millis, &[u8])> {
    let (time, value) = stored.split_first_chunk()?;
    Some((Millis::from_le_bytes(*time), value))
}

/// Returns the value of an entry without its time, and the time at which it expires, if it does.
#[inline]
#[must_use]
pub fn value_of(tag: Tag, stored: &[u8]) -> (&[u8], Option<Millis>) {
    if tag.kind_byte() != Kind::PutExpiring as u8 {
        return (stored, None);
    }
    split_expiring(stored).map_or((stored, None), |(time, value)| (value, Some(time)))
}

/// The order of entries: user key ascending, then tag descending.
#[inline]
pub fn compare(a_key: &[u8], a_tag: Tag, b_key: &[u8], b_tag: Tag) -> Ordering {
    compare_keys(a_key, b_key).then_with(|| b_tag.cmp(&a_tag))
}

/// The order of keys. They often differ in their first eight bytes: comparing those as integers saves a call.
#[inline]
pub(crate) fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    match (a.first_chunk(), b.first_chunk()) {
        (Some(a), Some(b)) if a != b => u64::from_be_bytes(*a).cmp(&u64::from_be_bytes(*b)),
        _ => a.cmp(b),
    }
}

/// The first eight bytes of a key as a big-endian integer, padded with zeros. Heads ascend as keys do, but different
/// keys may have the same.
#[inline]
#[must_use]
pub fn head(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(whole) => u64::from_be_bytes(*whole),
        None => key.iter().rev().fold(0, |head, &byte| head >> 8 | u64::from(byte) << 56),
    }
}

/// Returns what follows a prefix in a key; for a key that does not start with the prefix, the order of both. Prefixes
/// are short: this spares a call.
#[inline]
pub(crate) fn behind<'a>(key: &'a [u8], prefix: &[u8]) -> Result<&'a [u8], Ordering> {
    let shared = common_prefix(key, prefix);
    match (key.get(shared), prefix.get(shared)) {
        (_, None) => Ok(key.get(shared..).unwrap_or_default()),
        (found, wanted) => Err(found.cmp(&wanted)),
    }
}

/// Whether two keys are equal. Compares their ends first, where neighbours in key order usually differ.
#[inline]
pub(crate) fn same_key(a: &[u8], b: &[u8]) -> bool {
    let is_short = a.len() <= 16;
    a.len() == b.len()
        && a.last_chunk::<8>() == b.last_chunk()
        && match (a.first_chunk::<8>(), b.first_chunk()) {
            // Two chunks are the whole key.
            (Some(a), Some(b)) if is_short => a == b,
            _ => a == b,
        }
}

/// The length of the longest common prefix, in bytes.
#[inline]
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (mut equal, words) = (0, a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0));
    for (a, b) in words {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return equal + differing.trailing_zeros() as usize / 8;
        }
        equal += 8;
    }
    equal + a.iter().zip(b).skip(equal).take_while(|(a, b)| a == b).count()
}

/// Checks the lengths of a key and a value.
///
/// # Errors
/// [`crate::error::ErrorKind::InvalidArgument`] if one is over its limit.
pub fn check_limits(key: &[u8], value: &[u8]) -> Result<()> {
    let refuse = |what, limit: usize, found: usize| {
        Err(Error::invalid(
            what,
            format_args!("at most {limit} bytes"),
            format_args!("{found} bytes"),
        ))
    };
    if key.len() > MAX_KEY_BYTES {
        return refuse("key", MAX_KEY_BYTES, key.len());
    }
    if value.len() > MAX_VALUE_BYTES {
        return refuse("value", MAX_VALUE_BYTES, value.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_prefix_ends_at_the_first_byte_that_differs() {
        let whole: Vec<u8> = (0..40).collect();
        for len in 0..=whole.len() {
            let (a, longer) = (&whole[..len], &whole[..]);
            assert_eq!((common_prefix(a, longer), common_prefix(longer, a)), (len, len));
            for at in 0..len {
                let mut b = a.to_vec();
                b[at] ^= 1;
                assert_eq!(common_prefix(a, &b), at, "of {len}");
            }
        }
    }

    #[test]
    fn keys_are_compared_whole_at_any_length_and_difference() {
        let whole: Vec<u8> = (0..20).collect();
        let mut keys: Vec<Vec<u8>> = (0..=whole.len()).map(|len| whole[..len].to_vec()).collect();
        for len in [3, 8, 9, 16, 20] {
            for (at, byte) in (0..len).flat_map(|at| [(at, 0), (at, 0xff)]) {
                let mut key = whole[..len].to_vec();
                key[at] = byte;
                keys.push(key);
            }
        }
        for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
            assert_eq!(same_key(a, b), a == b, "{a:?} {b:?}");
            assert_eq!(compare(a, Tag(5), b, Tag(5)), a.cmp(b), "{a:?} {b:?}");
            let newer_first = a.cmp(b).then(Ordering::Greater);
            assert_eq!(compare(a, Tag(5), b, Tag(6)), newer_first, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_key_and_a_value_may_be_as_long_as_their_limits() {
        let (key, value) = (vec![0; MAX_KEY_BYTES + 1], vec![0; MAX_VALUE_BYTES + 1]);
        assert!(check_limits(&key[1..], &value[1..]).is_ok());
        assert!(check_limits(&key, b"").is_err());
        assert!(check_limits(b"", &value).is_err());
    }

    #[test]
    fn a_tag_keeps_its_sequence_number_and_its_kind() {
        for (seq, kind) in [(0, Kind::Delete), (1, Kind::Put), (MAX_SEQ, Kind::Put)] {
            let tag = Tag::new(seq, kind);
            assert_eq!((tag.seq(), tag.kind()), (seq, Some(kind)));
            assert!(tag <= Tag::at(seq) && (seq == 0 || tag > Tag::at(seq - 1)));
        }
    }
}
