//! Builds blocks.

use crate::coding::put_varint;
use crate::entry::Tag;

/// Builds one block at a time.
#[derive(Debug)]
pub(super) struct BlockWriter {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    /// Entries per restart point.
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

    /// Appends an entry whose key shares its first `shared` bytes with the previous key.
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

    /// The number of entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The length of the finished block, in bytes, if nothing is added.
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

    /// Starts the next block in the same memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.since_restart = self.interval;
        self.entries = 0;
    }
}
