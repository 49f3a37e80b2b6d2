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
    /// No partitions yet; each is to have about `target` bytes of index and of filter.
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
