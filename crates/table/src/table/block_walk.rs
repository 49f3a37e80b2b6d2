//! Finds data blocks that no index leads to.
//!
//! 1. Data blocks lie one after another, so a block starts where the one before it ends. It ends where
//!    its checksum holds, which is looked for byte by byte.
//! 2. Where the length of the data is unknown, the first part that is no data block ends it: a
//!    filter, which is not a block, or an index, whose first separator is not above the last entry or
//!    has the tag 0, which no entry has.

use super::block::Block;
use super::block_codec::{Codec, MAX_PART_BYTES, decode, place};
use super::block_cursor::BlockCursor;
use super::index::BlockHandle;
use crate::entry::Tag;
use crate::file::File;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Next part of the walk.
pub(super) enum Walked {
    /// A data block: the key of its last entry, and where it lies.
    Block(Vec<u8>, BlockHandle),
    /// The end of the stretch.
    End,
    /// Bytes that are no data block: where the next one starts is unknown.
    Damage,
}

/// A position in a stretch of data blocks.
pub(super) struct BlockWalk {
    file: Arc<dyn File>,
    seed: u64,
    /// Offset of the next block.
    offset: u64,
    /// End of the last block, if known.
    end: Option<u64>,
    /// The bytes from `offset` on, as far as they were read.
    ahead: Vec<u8>,
    last: Option<(Vec<u8>, Tag)>,
}

impl BlockWalk {
    /// A walk through blocks from `offset`, where one starts, of the table with this seed.
    pub fn new(file: Arc<dyn File>, seed: u64, offset: u64, end: Option<u64>) -> Self {
        BlockWalk { file, seed, offset, end, ahead: Vec::new(), last: None }
    }

    /// Returns the offset of the next block.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves over the next block.
    pub fn next(&mut self) -> Walked {
        if self.end == Some(self.offset) {
            return Walked::End;
        }
        let Some(len) = self.part_len() else { return Walked::Damage };
        let rest = self.ahead.split_off(len);
        let stored = std::mem::replace(&mut self.ahead, rest);
        match self.read(stored) {
            Some((entries, key, tag)) => {
                let handle = BlockHandle { offset: self.offset, len: len as u64, entries };
                self.offset += len as u64;
                self.last = Some((key.clone(), tag));
                Walked::Block(key, handle)
            }
            None if self.end.is_none() => Walked::End,
            None => Walked::Damage,
        }
    }

    /// The stored length of the part that starts at `offset`.
    fn part_len(&mut self) -> Option<usize> {
        let mut hash = Xxh3::with_seed(place(self.seed, self.offset));
        let mut hashed = 0;
        let mut covered = 0;
        loop {
            covered += 1;
            self.read_ahead(covered + 8);
            let (part, sum) = self.ahead.get(..covered + 8)?.split_last_chunk::<8>()?;
            // The last byte that a checksum covers is the codec.
            match part.last().and_then(|byte| Codec::from_byte(*byte)) {
                Some(Codec::Raw | Codec::Lz4) => {}
                None => continue,
            }
            hash.update(part.get(hashed..)?);
            hashed = covered;
            if hash.digest() == u64::from_le_bytes(*sum) {
                return Some(covered + 8);
            }
        }
    }

    /// Reads on until `ahead` has `len` bytes, where there are as many and a part may be as long.
    fn read_ahead(&mut self, len: usize) {
        while self.ahead.len() < len && len <= MAX_PART_BYTES {
            let (here, at) = (self.ahead.len(), self.offset + self.ahead.len() as u64);
            let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(at));
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(READ_BYTES);
            self.ahead.resize(here + wanted, 0);
            let piece = self.ahead.get_mut(here..).unwrap_or_default();
            let n = self.file.read_at(piece, at).unwrap_or(0);
            self.ahead.truncate(here + n);
            if n == 0 {
                break;
            }
        }
    }

    /// The number of entries in a part, and the last one, if it is a data block that follows the one
    /// before it.
    fn read(&self, stored: Vec<u8>) -> Option<(u64, Vec<u8>, Tag)> {
        let block = Block::decode(decode(stored, self.seed, self.offset).ok()?).ok()?;
        let mut cursor = BlockCursor::new(Arc::new(block));
        cursor.seek_first().ok()?;
        let (mut last, mut entries) = (self.last.clone(), 0);
        while cursor.valid() {
            let (key, tag) = (cursor.key(), cursor.tag());
            let ascends = last.is_none_or(|(last_key, last_tag)| {
                *last_key < *key || (last_key == key && last_tag > tag)
            });
            if !ascends || tag == Tag(0) {
                return None;
            }
            (last, entries) = (Some((key.to_vec(), tag)), entries + 1);
            cursor.advance().ok()?;
        }
        last.map(|(key, tag)| (entries, key, tag))
    }
}
