//! Key prefixes as integers, so that a search of an index block compares numbers that are adjacent
//! in memory, where each key would be a cache miss or two.
//!
//! 1. The prefix that the keys of all restart points share is kept once.
//! 2. The eight bytes after it become a big-endian integer for each key. They sort as the keys do,
//!    but different keys may have the same.
//! 3. A search of the integers leaves the few keys with the same one, which are compared whole.

use crate::entry::{behind, common_prefix, head};
use std::cmp::Ordering;

/// The prefixes of the keys at a block's restart points.
#[derive(Debug)]
pub(super) struct KeyPrefixes {
    common: Vec<u8>,
    numbers: Vec<u64>,
}

impl KeyPrefixes {
    /// The prefixes of `count` ascending keys; `None` if `key` has none for one of them.
    pub fn of<'a>(count: usize, key: impl Fn(usize) -> Option<&'a [u8]>) -> Option<Self> {
        let (first, last) = (key(0)?, key(count.checked_sub(1)?)?);
        let common = first.get(..common_prefix(first, last))?.to_vec();
        let mut numbers = Vec::with_capacity(count);
        for n in 0..count {
            numbers.push(head(key(n)?.get(common.len()..)?));
        }
        Some(KeyPrefixes { common, numbers })
    }

    /// Bytes of heap memory.
    pub fn memory(&self) -> usize {
        self.common.capacity() + self.numbers.capacity() * size_of::<u64>()
    }

    /// Returns the number of restart points below `key`; `None` if whole keys must be compared for that.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn below(&self, key: &[u8]) -> Option<usize> {
        let rest = if self.common.is_empty() { key } else { behind(key, &self.common).ok()? };
        let wanted = head(rest);
        let first = self.numbers.partition_point(|number| *number < wanted);
        (self.numbers.get(first) != Some(&wanted)).then_some(first)
    }

    /// The restart points left to search for `key`, as a half-open range: those before it are below
    /// the key, the others above.
    pub fn narrow(&self, key: &[u8]) -> (usize, usize) {
        let all = self.numbers.len();
        let wanted = match behind(key, &self.common) {
            Ok(rest) => head(rest),
            Err(Ordering::Less) => return (0, 0),
            Err(_) => return (all, all),
        };
        let first = self.numbers.partition_point(|number| *number < wanted);
        let same = self.numbers.iter().skip(first).take_while(|number| **number == wanted);
        (first, first + same.count())
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Block;
    use super::super::block_writer::BlockWriter;
    use super::KeyPrefixes;
    use crate::entry::{Tag, compare};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_search_with_key_prefixes_finds_what_one_without_finds(
            keys in prop::collection::btree_set(
                (prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 0..12), 0u64..4),
                1..40,
            ),
            front in prop::collection::vec(any::<u8>(), 0..3),
            wanted in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 0..14),
            with_front: bool,
            tag in 0u64..5,
        ) {
            let mut entries: Vec<_> = keys.into_iter()
                .map(|(key, tag)| ([front.clone(), key].concat(), Tag(tag)))
                .collect();
            entries.sort_by(|a, b| compare(&a.0, a.1, &b.0, b.1));
            let mut writer = BlockWriter::new(1);
            for (key, tag) in &entries {
                writer.add(0, key, *tag, b"");
            }
            let bytes = writer.finish().to_vec();
            let plain = Block::decode(bytes.clone()).unwrap();
            let quick = Block::decode(bytes).unwrap().with_key_prefixes();
            let wanted = if with_front { [front, wanted].concat() } else { wanted };
            let find = |block: &Block| {
                block.lower_bound(&wanted, Tag(tag), None).unwrap().map(|found| (found.at, found.same_key))
            };
            prop_assert_eq!(find(&quick), find(&plain));
            let below = |block: &Block| block.restarts_below(&wanted, Tag(tag)).unwrap();
            prop_assert_eq!(below(&quick), below(&plain));
        }
    }

    #[test]
    fn keys_that_differ_in_the_next_eight_bytes_compare_by_number() {
        let keys: [&[u8]; 6] =
            [b"k", b"k\0\x01", b"ka", b"ka\0\0\0\0\0\0\x01", b"kb", b"kbbbbbbbb"];
        let prefixes = KeyPrefixes::of(keys.len(), |n| keys.get(n).copied()).unwrap();
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(prefixes.narrow(key), (n, n + 1), "{}", key.escape_ascii());
        }
        assert_eq!(prefixes.narrow(b"kaa"), (4, 4));
        assert_eq!((prefixes.narrow(b"j"), prefixes.narrow(b"l")), ((0, 0), (6, 6)));
        assert!(KeyPrefixes::of(0, |_| None).is_none());
    }
}
