//! Builds the partitions of a table while its data is written.
//!
//! 1. Index entries and key hashes are collected until the index or the filter reaches its target
//!    size. Then the partition is closed, always between blocks.
//! 2. Partitions follow the data, so they are kept in memory until all data is written.

use super::block_codec::{PartEncoder, TRAILER_BYTES};
use super::block_writer::BlockWriter;
use super::filter::{Filter, encoded_len};
use super::index::{BlockHandle, PartitionHandle};
use crate::entry::Tag;
use terrane_types::FilterBits;

/// Both levels of the index are only searched, so every entry is a restart point.
const INDEX_RESTART_INTERVAL: u32 = 1;

/// Builds partitions.
pub(super) struct Partitions {
    /// Target size, in bytes.
    target: usize,
    bits_per_key: FilterBits,
    /// Memory that the filters of closed partitions take, in bytes.
    filter_bytes: u64,
    /// The open partition: its index, and the hashes of its keys.
    index: BlockWriter,
    hashes: Vec<u64>,
    closed: Vec<Closed>,
    /// Stored bytes of the closed partitions, their top-level entries included.
    bytes: usize,
}

/// A closed partition.
struct Closed {
    /// The last separator.
    key: Vec<u8>,
    tag: Tag,
    /// Empty if there is none.
    filter: Vec<u8>,
    index: Vec<u8>,
}

impl Partitions {
    /// No partitions yet; each will have about `target` bytes of index and of filter.
    pub fn new(target: usize, bits_per_key: FilterBits) -> Self {
        Partitions {
            target,
            bits_per_key,
            filter_bytes: 0,
            index: BlockWriter::new(INDEX_RESTART_INTERVAL),
            hashes: Vec::new(),
            closed: Vec::new(),
            bytes: 0,
        }
    }

    /// Whether there are filters, which need the keys.
    pub fn filters(&self) -> bool {
        !self.bits_per_key.is_none()
    }

    /// Memory that the filters of closed partitions take, in bytes.
    pub fn filter_bytes(&self) -> u64 {
        self.filter_bytes
    }

    /// Whether the open partition has no key yet.
    pub fn is_without_keys(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Adds a key to the open partition.
    pub fn add_key(&mut self, hash: u64) {
        self.hashes.push(hash);
    }

    /// Adds the index entry of a block, with its encoded handle. All keys up to the end of the block
    /// were added before, and none after it.
    pub fn add_block(&mut self, separator: &[u8], tag: Tag, handle: &[u8]) {
        self.index.add(0, separator, tag, handle);
        if self.index.len() >= self.target || self.filter_len() >= self.target {
            self.close(separator, tag);
        }
    }

    /// Closes the open partition, if it has an entry, with its last separator.
    pub fn close(&mut self, separator: &[u8], tag: Tag) {
        if self.index.entries() == 0 {
            return;
        }
        let mut filter = Vec::new();
        if !self.hashes.is_empty() {
            let built = Filter::build(&self.hashes, self.bits_per_key);
            self.filter_bytes += built.memory() as u64;
            built.encode(&mut filter);
            self.hashes.clear();
        }
        let index = self.index.finish().to_vec();
        self.index.clear();
        let ends = 2 * TRAILER_BYTES + size_of::<BlockHandle>();
        self.bytes += filter.len() + index.len() + separator.len() + ends;
        self.closed.push(Closed { key: separator.to_vec(), tag, filter, index });
    }

    /// Stored bytes of all partitions if they were written now, about.
    pub fn bytes(&self) -> usize {
        self.bytes + self.index.len() + self.filter_len()
    }

    /// Bytes of memory in use, about.
    pub fn memory(&self) -> usize {
        self.bytes + self.index.len() + size_of_val(&*self.hashes)
    }

    fn filter_len(&self) -> usize {
        match self.hashes.len() {
            0 => 0,
            keys => encoded_len(keys, self.bits_per_key),
        }
    }

    /// Appends all partitions to `out`, the first to be written at `offset`; returns the top level of
    /// the index.
    pub fn store(self, encoder: &PartEncoder, offset: u64, out: &mut Vec<u8>) -> BlockWriter {
        let start = out.len();
        let mut top = BlockWriter::new(INDEX_RESTART_INTERVAL);
        let mut handle = Vec::new();
        for Closed { key, tag, filter, index } in self.closed {
            let here = |out: &Vec<u8>| offset + (out.len() - start) as u64;
            let offset = here(out);
            if !filter.is_empty() {
                encoder.encode(&filter, offset, out);
            }
            let index_offset = here(out);
            encoder.encode(&index, index_offset, out);
            let (filter_len, index_len) = (index_offset - offset, here(out) - index_offset);
            handle.clear();
            PartitionHandle { offset, filter_len, index_len }.encode(&mut handle);
            top.add(0, &key, tag, &handle);
        }
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `keys` keys before each of `blocks` blocks.
    fn partitions(target: usize, bits: u32, keys: u64, blocks: u8) -> Partitions {
        let mut partitions = Partitions::new(target, FilterBits::whole(bits));
        for block in 0..blocks {
            (0..keys).for_each(|key| partitions.add_key(key));
            partitions.add_block(&[block], Tag(0), b"handle");
        }
        partitions
    }

    #[test]
    fn a_partition_closes_once_its_index_or_filter_reaches_a_target() {
        // The index of one block takes 4 varints, a key, a handle, a restart point and a count.
        let entry = 4 + 1 + b"handle".len();
        let index = |blocks: usize| entry * blocks + 4 * (blocks + 1);
        assert_eq!(partitions(1000, 0, 0, 1).index.len(), index(1));
        let closed =
            |target, bits, keys, blocks| partitions(target, bits, keys, blocks).closed.len();
        assert_eq!([1, 2, 3, 4].map(|blocks| closed(index(2), 0, 0, blocks)), [0, 1, 1, 2]);
        assert_eq!([1, 2].map(|blocks| closed(index(2) + 1, 0, 0, blocks)), [0, 0]);
        // Of 64 bits a key, eight keys fill a line.
        assert_eq!(
            [1, 2, 3, 4].map(|blocks| closed(
                encoded_len(16, FilterBits::whole(64)),
                64,
                8,
                blocks
            )),
            [0, 1, 1, 2]
        );
        assert_eq!(
            [1, 2].map(|blocks| closed(encoded_len(17, FilterBits::whole(64)), 64, 8, blocks)),
            [0, 0]
        );
    }

    #[test]
    fn the_size_of_partitions_is_known_before_they_are_stored() {
        for (target, bits, keys, blocks) in
            [(100, 10, 5, 40), (100, 0, 0, 40), (5000, 10, 40, 10), (100, 64, 0, 9)]
        {
            let mut partitions = partitions(target, bits, keys, blocks);
            let before = partitions.bytes();
            assert!(
                partitions.memory() + 200 > before.min(8 * keys as usize * usize::from(blocks))
            );
            partitions.close(&[blocks], Tag(0));
            let encoder = PartEncoder::new(0, super::super::Compression::None);
            let mut out = Vec::new();
            let top = partitions.store(&encoder, 0, &mut out).finish().len();
            let stored = out.len() + top;
            assert!(before.abs_diff(stored) < stored / 4 + 50, "{before} bytes, not {stored}");
        }
    }

    #[test]
    fn memory_is_that_of_the_hashes_and_of_what_is_closed() {
        let open = partitions(usize::MAX, 10, 100, 3);
        assert_eq!(open.memory(), open.index.len() + 8 * 300);
        let closed = partitions(1, 10, 100, 3);
        assert_eq!(closed.memory(), closed.bytes + closed.index.len());
        assert!(closed.bytes > 3 * encoded_len(100, FilterBits::whole(10)));
    }

    #[test]
    fn partitions_report_whether_they_have_filters_and_keys() {
        let mut partitions = Partitions::new(1, FilterBits::whole(1));
        assert!(partitions.filters() && partitions.is_without_keys());
        partitions.add_key(1);
        assert!(!partitions.is_without_keys());
        partitions.add_block(b"k", Tag(0), b"handle");
        assert!(partitions.is_without_keys(), "the next partition has none yet");
        assert!(!Partitions::new(1, FilterBits::whole(0)).filters());
    }
}
