//! The heads of a block's keys: a search of many keys compares numbers that lie together, where the
//! keys themselves would each be a cache miss or two.
//!
//! 1. What the keys at all restart points begin with alike is kept once.
//! 2. Of each, the eight bytes behind that are a number, the first byte the highest: a key that is
//!    less has a number that is no greater.
//! 3. A search of the numbers leaves the few keys with the same one, which are compared whole.

use super::block::{Block, common_prefix, offset};

/// The heads of the keys at a block's restart points.
#[derive(Debug)]
pub(super) struct KeyPrefixes {
    common: Vec<u8>,
    numbers: Vec<u64>,
}

impl KeyPrefixes {
    /// The heads of a block; none where a restart point leads to no sound entry, which a search
    /// without them finds.
    pub fn of(block: &Block) -> Option<Self> {
        let points = block.restarts();
        let key = |point: &[u8; 4]| {
            let entry = block.entry(offset(point)).ok()?;
            (entry.shared == 0).then_some(entry.delta)
        };
        let (first, last) = (key(points.first()?)?, key(points.last()?)?);
        let common = first.get(..common_prefix(first, last))?.to_vec();
        let mut numbers = Vec::with_capacity(points.len());
        for point in points {
            numbers.push(number(key(point)?.get(common.len()..)?));
        }
        Some(KeyPrefixes { common, numbers })
    }

    /// Bytes held in memory beside itself.
    pub fn memory(&self) -> usize {
        self.common.capacity() + self.numbers.capacity() * size_of::<u64>()
    }

    /// The restart points among which a search for `key` must look: those before the first are below
    /// it, those from the second on above.
    pub fn narrow(&self, key: &[u8]) -> (usize, usize) {
        let all = self.numbers.len();
        let Some(behind) = key.strip_prefix(self.common.as_slice()) else {
            return if *key < *self.common { (0, 0) } else { (all, all) };
        };
        let wanted = number(behind);
        let first = self.numbers.partition_point(|number| *number < wanted);
        let same = self.numbers.iter().skip(first).take_while(|number| **number == wanted);
        (first, first + same.count())
    }
}

/// The first eight bytes, as a number; zeros follow where there are fewer.
fn number(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(whole) => u64::from_be_bytes(*whole),
        None => bytes.iter().rev().fold(0, |number, &byte| number >> 8 | u64::from(byte) << 56),
    }
}

#[cfg(test)]
mod tests {
    use super::super::block_writer::BlockWriter;
    use super::*;
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
                block.lower_bound(&wanted, Tag(tag)).unwrap().map(|found| (found.at, found.same_key))
            };
            prop_assert_eq!(find(&quick), find(&plain));
        }
    }
}
