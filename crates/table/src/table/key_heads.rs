//! Heads of a data block's keys: four bytes of each, side by side, so that a search compares numbers that are
//! adjacent in memory, where a search from a restart point decodes one entry after another.
//!
//! 1. The prefix that all keys of the block share is kept once. The four bytes after it are the key's head, a
//!    big-endian integer. Heads ascend as the keys do, but different keys may have the same.
//! 2. A search counts the heads below that of its target: all of them are compared, without a branch, and so their
//!    cache lines are loaded side by side. Many are halved first.
//! 3. The entry there is above the target if its head is; otherwise entries are compared whole from there on.
//!
//! ```text
//! common prefix   head: u32 *   offset of the entry: u16 *
//! ```
//!
//! They lie in the block itself if they are few, so that one step of memory leads to both.

use super::block::{Block, offset};
use crate::entry::{MAX_KEY_BYTES, behind, common_prefix};
use std::cmp::Ordering;

const HEAD_BYTES: usize = 4;
const OFFSET_BYTES: usize = 2;
/// Least size of an entry in bytes: three lengths and a tag.
const ENTRY_BYTES_MIN: usize = 4;
/// Heads that are compared one by one.
const COUNTED: usize = 64;
/// Bytes that lie in the block: those of 40 entries, as many as have about 100 bytes in a block of 4 KiB.
const INLINE_BYTES: usize = 240;

/// The offset of an entry, and whether its head is that of the key that was searched.
pub(super) type Found = (usize, bool);

/// The heads of a block's keys, with the places of its entries.
#[derive(Debug)]
pub(super) struct KeyHeads {
    common: usize,
    entries: usize,
    bytes: Bytes,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // to be large is what it is for
enum Bytes {
    Inline([u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

impl Bytes {
    fn of(parts: &[&[u8]; 3]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        let mut end = 0;
        for part in parts {
            let Some(place) = inline.get_mut(end..end + part.len()) else {
                return Bytes::Heap(parts.concat().into());
            };
            place.copy_from_slice(part);
            end += part.len();
        }
        Bytes::Inline(inline)
    }
}

impl KeyHeads {
    /// Returns the bytes of heap memory for a block of `entries` entries, but for the prefix.
    pub fn memory(entries: usize) -> usize {
        let bytes = entries * (HEAD_BYTES + OFFSET_BYTES);
        if bytes > INLINE_BYTES { bytes } else { 0 }
    }

    /// Returns the heads of a block of at most `most` entries; `None` for a block that has more, is longer than offsets
    /// reach, or is malformed, which a search reports.
    pub fn of(block: &Block, most: usize) -> Option<Self> {
        let end = block.entries().len();
        u16::try_from(end).ok()?;
        let common = common(block)?;
        let entries = most.min(end / ENTRY_BYTES_MIN);
        let mut heads = Vec::with_capacity(entries * HEAD_BYTES);
        let mut offsets = Vec::with_capacity(entries * OFFSET_BYTES);
        let (mut at, mut head, mut key_len) = (0, 0, 0);
        while at < end {
            let entry = block.entry(at).ok()?;
            if entry.shared > key_len || heads.len() == most * HEAD_BYTES {
                return None;
            }
            key_len = entry.shared + entry.delta.len();
            if !(common.len()..=MAX_KEY_BYTES).contains(&key_len) {
                return None;
            }
            let next = match entry.shared.checked_sub(common.len()) {
                Some(kept) if kept >= HEAD_BYTES => head,
                Some(kept) => head & !(u32::MAX >> (8 * kept)) | number(entry.delta) >> (8 * kept),
                None => number(entry.delta.get(common.len() - entry.shared..)?),
            };
            if next < head {
                return None;
            }
            head = next;
            heads.extend_from_slice(&head.to_le_bytes());
            offsets.extend_from_slice(&(at as u16).to_le_bytes());
            at = entry.end;
        }
        let entries = heads.len() / HEAD_BYTES;
        let bytes = Bytes::of(&[common, &heads, &offsets]);
        Some(KeyHeads { common: common.len(), entries, bytes })
    }

    /// Returns the offset of the first entry that may be at or above `key`, and whether its head is that of the key:
    /// otherwise it is above. `None` if all entries are below.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<Found> {
        let bytes = match &self.bytes {
            Bytes::Inline(bytes) => bytes,
            Bytes::Heap(bytes) => &**bytes,
        };
        let (common, rest) = bytes.split_at_checked(self.common)?;
        let (heads, offsets) = rest.split_at_checked(self.entries * HEAD_BYTES)?;
        let heads = heads.as_chunks().0;
        let (n, is_same) = match behind(key, common) {
            Ok(rest) => {
                let wanted = number(rest);
                let n = count_below(heads, wanted);
                (n, heads.get(n).is_some_and(|head| u32::from_le_bytes(*head) == wanted))
            }
            Err(Ordering::Less) => (0, false),
            Err(_) => return None,
        };
        let at = offsets.as_chunks().0.get(n).filter(|_| n < self.entries)?;
        Some((u16::from_le_bytes(*at).into(), is_same))
    }
}

/// Returns the prefix that the keys share: that of the first and the last restart point, as far as the entries after
/// that point keep it.
fn common(block: &Block) -> Option<&[u8]> {
    let whole = |at| block.entry(at).ok().filter(|entry| entry.shared == 0);
    let first = whole(0)?.delta;
    let mut entry = whole(block.restarts().last().map(offset)?)?;
    let mut common = common_prefix(first, entry.delta);
    while entry.end < block.entries().len() {
        entry = block.entry(entry.end).ok()?;
        common = common.min(entry.shared);
    }
    first.get(..common)
}

/// Returns the number of heads below `wanted`.
#[inline]
fn count_below(heads: &[[u8; HEAD_BYTES]], wanted: u32) -> usize {
    let is_below = |head: &[u8; HEAD_BYTES]| u32::from_le_bytes(*head) < wanted;
    if heads.len() > COUNTED {
        return heads.partition_point(is_below);
    }
    heads.iter().map(|head| u32::from(is_below(head))).sum::<u32>() as usize
}

/// Returns the first four bytes as a big-endian integer, padded with zeros.
#[inline]
fn number(bytes: &[u8]) -> u32 {
    match bytes.first_chunk() {
        Some(whole) => u32::from_be_bytes(*whole),
        None => bytes.iter().rev().fold(0, |number, &byte| number >> 8 | u32::from(byte) << 24),
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Block;
    use super::super::block_writer::BlockWriter;
    use super::{COUNTED, KeyHeads};
    use crate::entry::{Tag, common_prefix, compare};
    use proptest::prelude::*;

    /// Returns a block of these entries, which ascend.
    fn block(entries: &[(Vec<u8>, Tag)], interval: u32) -> Block {
        let mut writer = BlockWriter::new(interval);
        let mut before: &[u8] = &[];
        for (key, tag) in entries {
            writer.add(common_prefix(before, key), key, *tag, b"value");
            before = key;
        }
        Block::decode(writer.finish().to_vec()).unwrap()
    }

    fn bytes() -> impl Strategy<Value = u8> {
        prop_oneof![Just(0u8), Just(1), Just(0xff)]
    }

    proptest! {
        #[test]
        fn a_search_by_heads_finds_what_one_from_restarts_finds(
            keys in prop::collection::btree_set((prop::collection::vec(bytes(), 0..9), 0u64..4), 1..100),
            front in prop::collection::vec(any::<u8>(), 0..3),
            wanted in prop::collection::vec(bytes(), 0..11),
            with_front: bool,
            tag in 0u64..5,
            interval in 1u32..=16,
        ) {
            let mut entries: Vec<_> = keys.into_iter()
                .map(|(key, tag)| ([front.clone(), key].concat(), Tag(tag)))
                .collect();
            entries.sort_by(|a, b| compare(&a.0, a.1, &b.0, b.1));
            let (plain, quick) = (block(&entries, interval), block(&entries, interval));
            prop_assert!(quick.prepare());
            let wanted = if with_front { [front, wanted].concat() } else { wanted };
            let find = |block: &Block| {
                block.lower_bound(&wanted, Tag(tag), None).unwrap().map(|found| (found.at, found.same_key))
            };
            prop_assert_eq!(find(&quick), find(&plain));
        }
    }

    #[test]
    fn keys_that_differ_in_the_next_four_bytes_compare_by_head() {
        let keys: [&[u8]; 6] = [b"k", b"k\0\x01", b"ka", b"ka\0\0\x01", b"kb", b"kbbb"];
        let entries: Vec<_> = keys.iter().map(|key| (key.to_vec(), Tag(1))).collect();
        let block = block(&entries, 16);
        let heads = KeyHeads::of(&block, keys.len()).unwrap();
        let mut at = 0;
        for key in keys {
            assert_eq!(heads.find(key), Some((at, true)), "{}", key.escape_ascii());
            at = block.entry(at).unwrap().end;
        }
        let first = |key: &[u8]| heads.find(key).map(|(at, same)| (at == 0, same));
        assert_eq!(
            (first(b"j"), first(b"kaa"), first(b"l")),
            (Some((true, false)), Some((false, false)), None)
        );
    }

    #[test]
    fn what_heads_cannot_say_is_left_to_a_search_from_restarts() {
        let keys = |from: u8, to: u8| (from..to).map(|n| (vec![n], Tag(1))).collect::<Vec<_>>();
        let many = COUNTED as u8 * 2;
        assert!(KeyHeads::of(&block(&keys(0, many), 16), many.into()).is_some());
        assert!(KeyHeads::of(&block(&keys(0, many), 16), usize::from(many) - 1).is_none());
        let descending: Vec<_> = keys(0, 9).into_iter().rev().collect();
        assert!(KeyHeads::of(&block(&descending, 16), 9).is_none());
        let long: Vec<_> = (0..8).map(|n| ([vec![n], vec![7; 9000]].concat(), Tag(1))).collect();
        assert!(KeyHeads::of(&block(&long, 16), 8).is_none());
    }
}
