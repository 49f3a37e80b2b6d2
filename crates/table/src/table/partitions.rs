//! Gathering a table's partitions while its data is written.
//!
//! 1. Index entries and the hashes of keys gather until one of the two has reached its size. That
//!    partition is closed, always between blocks.
//! 2. Where partitions will lie is known when all data is written, so they wait in memory.

use super::block_codec::{PartEncoder, TRAILER_BYTES};
use super::block_writer::BlockWriter;
use super::filter::{Filter, encoded_len};
use super::index::{BlockHandle, PartitionHandle};
use crate::entry::Tag;

/// Both levels of the index are only searched: a restart point at every entry.
const INDEX_RESTART_INTERVAL: u32 = 1;

/// Collects index entries and keys.
pub(super) struct Partitions {
    /// Size at which a partition is closed, in bytes.
    most: usize,
    bits_per_key: f32,
    /// The partition that is open: its index, and the hashes of its keys.
    index: BlockWriter,
    hashes: Vec<u64>,
    closed: Vec<Closed>,
    /// Bytes of those that are closed, as they will be stored, the top level's entries included.
    bytes: usize,
}

/// A partition that waits for its place.
struct Closed {
    /// The last separator.
    key: Vec<u8>,
    tag: Tag,
    /// Empty for none.
    filter: Vec<u8>,
    index: Vec<u8>,
}

impl Partitions {
    /// None yet; each is to be about `most` bytes, with so many bits of filter a key.
    pub fn new(most: usize, bits_per_key: f32) -> Self {
        Partitions {
            most,
            bits_per_key,
            index: BlockWriter::new(INDEX_RESTART_INTERVAL),
            hashes: Vec::new(),
            closed: Vec::new(),
            bytes: 0,
        }
    }

    /// Whether keys are wanted.
    pub fn filters(&self) -> bool {
        self.bits_per_key > 0.0
    }

    /// Whether the open partition has no key yet.
    pub fn is_without_keys(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Takes a key of the open partition.
    pub fn add_key(&mut self, hash: u64) {
        self.hashes.push(hash);
    }

    /// Takes the index entry of a block; `handle` is as it is stored. All keys up to the block's end
    /// have come, and none behind it.
    pub fn add_block(&mut self, separator: &[u8], tag: Tag, handle: &[u8]) {
        self.index.add(0, separator, tag, handle);
        if self.index.len() >= self.most || self.filter_len() >= self.most {
            self.close(separator, tag);
        }
    }

    /// Closes the partition that is open, if it has an entry. Its last separator is given.
    pub fn close(&mut self, separator: &[u8], tag: Tag) {
        if self.index.entries() == 0 {
            return;
        }
        let mut filter = Vec::new();
        if !self.hashes.is_empty() {
            Filter::build(&self.hashes, self.bits_per_key).encode(&mut filter);
            self.hashes.clear();
        }
        let index = self.index.finish().to_vec();
        self.index.clear();
        let ends = 2 * TRAILER_BYTES + size_of::<BlockHandle>();
        self.bytes += filter.len() + index.len() + separator.len() + ends;
        self.closed.push(Closed { key: separator.to_vec(), tag, filter, index });
    }

    /// Bytes that all of it would take if it were stored now, about.
    pub fn bytes(&self) -> usize {
        self.bytes + self.index.len() + self.filter_len()
    }

    /// Bytes of memory that all of it takes, about.
    pub fn memory(&self) -> usize {
        self.bytes + self.index.len() + size_of_val(&*self.hashes)
    }

    fn filter_len(&self) -> usize {
        match self.hashes.len() {
            0 => 0,
            keys => encoded_len(keys, self.bits_per_key),
        }
    }

    /// Appends all partitions to `out`, the first of them to lie at `offset` of the file; returns the
    /// top level of the index.
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
