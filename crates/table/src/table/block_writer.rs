//! Building a block.

use crate::codec::put_varint;
use crate::entry::Tag;

/// Collects the entries of one block.
#[derive(Debug)]
pub(super) struct BlockWriter {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    /// Entries between two restart points.
    interval: u32,
    since_restart: u32,
    entries: u64,
}

impl BlockWriter {
    /// An empty block with a restart point every `interval` entries.
    pub fn new(interval: u32) -> Self {
        BlockWriter {
            bytes: Vec::new(),
            restarts: Vec::new(),
            interval,
            since_restart: interval,
            entries: 0,
        }
    }

    /// Appends an entry that shares `shared` bytes with the key before it.
    #[inline]
    pub fn add(&mut self, shared: usize, key: &[u8], tag: Tag, value: &[u8]) {
        let shared = if self.since_restart == self.interval {
            self.since_restart = 0;
            self.restarts.push(self.bytes.len() as u32);
            0
        } else {
            shared
        };
        self.since_restart += 1;
        self.entries += 1;
        let delta = key.get(shared..).unwrap_or_default();
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, delta.len() as u64);
        put_varint(&mut self.bytes, value.len() as u64);
        put_varint(&mut self.bytes, tag.0);
        self.bytes.extend_from_slice(delta);
        self.bytes.extend_from_slice(value);
    }

    /// The entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The block's length if it were finished now, in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() + 4 * (self.restarts.len() + 1)
    }

    /// Appends the restart points and returns the whole block.
    pub fn finish(&mut self) -> &[u8] {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        &self.bytes
    }

    /// Starts again in the same memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.since_restart = self.interval;
        self.entries = 0;
    }
}
