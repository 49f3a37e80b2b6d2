//! The two-level index. The index of a *partition* is a block with one entry per data block; the top
//! level is a block with one entry per partition. The index of a partition follows the filter of the
//! keys in its blocks.
//!
//! The entries of both levels:
//!
//! * Key and tag: a *separator*, at or after the last entry of the data block and before the first
//!   entry of the next. If the two user keys differ, it is a short key between them with tag 0, which
//!   sorts after every version; if versions of one key span the blocks, it is the last entry itself.
//!   So the first separator at or after (key, tag) leads to the block with the newest version of the
//!   key at or below that tag, if there is one. The top level has the last separator of each
//!   partition.
//! * Value: the block's [`BlockHandle`], or the partition's [`PartitionHandle`].
//!
//! Both have a restart point at every entry, so that the binary search over restart points finds the
//! entry.

use crate::coding::{Decoder, put_varint};

/// The location of a data block and its number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHandle {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Stored length, trailer included, in bytes.
    pub len: u64,
    /// Entries in the block.
    pub entries: u64,
}

impl BlockHandle {
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.len);
        put_varint(out, self.entries);
    }

    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut d = Decoder::new(bytes);
        let handle = BlockHandle { offset: d.varint()?, len: d.varint()?, entries: d.varint()? };
        d.is_empty().then_some(handle)
    }
}

/// The location of a partition: its filter, then its index. Lengths are stored lengths in bytes,
/// trailers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartitionHandle {
    /// Offset of the filter, or of the index if there is no filter.
    pub offset: u64,
    /// Length of the filter; 0 if there is none.
    pub filter_len: u64,
    /// Length of the index.
    pub index_len: u64,
}

impl PartitionHandle {
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.filter_len);
        put_varint(out, self.index_len);
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut d = Decoder::new(bytes);
        let (offset, filter_len, index_len) = (d.varint()?, d.varint()?, d.varint()?);
        d.is_empty().then_some(PartitionHandle { offset, filter_len, index_len })
    }

    /// Returns the offset of the index. Cannot overflow for a handle with an [`end`](Self::end).
    pub fn index_offset(&self) -> u64 {
        self.offset.saturating_add(self.filter_len)
    }

    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.filter_len)?.checked_add(self.index_len)
    }
}

/// Writes to `out` a short key at or above `last` and below `next`; `last` is below `next`, and they
/// share their first `common` bytes.
pub(super) fn separator(last: &[u8], next: &[u8], common: usize, out: &mut Vec<u8>) {
    out.clear();
    let (Some(&low), Some(&high)) = (last.get(common), next.get(common)) else {
        // `next` continues `last`.
        out.extend_from_slice(last);
        return;
    };
    if next.len() > common + 1 {
        out.extend_from_slice(next.get(..=common).unwrap_or_default());
    } else if low + 1 < high {
        increment(last, common, out);
    } else {
        let after = last.iter().skip(common + 1).position(|&byte| byte < 0xff);
        match after {
            Some(i) => increment(last, common + 1 + i, out),
            None => out.extend_from_slice(last),
        }
    }
}

/// Appends `key` up to and including the byte at `at`, incremented.
fn increment(key: &[u8], at: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(key.get(..=at).unwrap_or_default());
    if let Some(byte) = out.last_mut() {
        *byte += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::common_prefix;
    use proptest::prelude::*;

    fn between(last: &[u8], next: &[u8]) -> Vec<u8> {
        let mut out = vec![9; 3];
        separator(last, next, common_prefix(last, next), &mut out);
        out
    }

    proptest! {
        #[test]
        fn a_separator_is_between_the_keys_and_no_longer_than_the_last(
            a in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff)], 0..6),
            b in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff)], 0..6),
        ) {
            prop_assume!(a != b);
            let (last, next) = if a < b { (a, b) } else { (b, a) };
            let middle = between(&last, &next);
            prop_assert!(last <= middle && middle < next, "{last:?} {middle:?} {next:?}");
            prop_assert!(middle.len() <= last.len().max(1));
        }
    }

    #[test]
    fn a_separator_is_short_if_the_keys_differ_early() {
        assert_eq!(between(b"apple-tree", b"banana"), b"b");
        assert_eq!(between(b"apple-tree", b"aqua"), b"aq");
        assert_eq!(between(b"apple", b"c"), b"b");
        assert_eq!(between(b"apple", b"b"), b"aq");
    }
}
