//! Blocks of a cursor, and its readahead.
//!
//! 1. A scan looks in the block cache first. A compaction does not: it reads everything once.
//! 2. Then the bytes that were prefetched are tried.
//! 3. Otherwise one read takes the block and, when blocks are read in sequence, what follows it. A
//!    compaction reads ahead as far as its memory budget allows. A scan reads nothing ahead for its
//!    first [`SEQUENTIAL_BLOCKS`] blocks, so that short scans read no byte too many; then its
//!    readahead doubles with each read, so that it never reads much more than it uses.
//! 4. A scan caches its blocks until its readahead is at its maximum. Beyond that it would evict
//!    what other readers need.

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::index::BlockHandle;
use super::open_table::OpenTable;
use super::partition_index::PartitionIndex;
use super::reader::Table;
use crate::error::Result;
use crate::file::read_exact_at;
use crate::trace::{Origin, ReadTracer};
use std::sync::Arc;

/// Purpose of a cursor's reads, which decides on caching and readahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPattern {
    /// A user's scan: through the block cache, with readahead that grows as the scan continues.
    Scan,
    /// A compaction: past the block cache.
    Compaction {
        /// Bytes of each read. A read takes at least one block.
        readahead: u64,
    },
}

/// Blocks that a scan reads in sequence before it reads ahead.
const SEQUENTIAL_BLOCKS: u32 = 4;
/// A scan's first readahead, in bytes.
const MIN_READAHEAD_BYTES: u64 = 16 << 10;
/// The largest useful readahead, in bytes.
pub const MAX_READAHEAD_BYTES: u64 = 256 << 10;

/// Direction of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Fetches blocks for one cursor.
pub(super) struct BlockFetcher {
    pub pattern: ReadPattern,
    pub tracer: ReadTracer,
    prefetched: Prefetched,
    /// The bounds of the last block, in the file.
    last: Option<(u64, u64)>,
    /// Blocks read in sequence so far.
    sequential: u32,
    /// A scan's next readahead, in bytes.
    readahead: u64,
}

/// A contiguous piece of the file that one read returned.
#[derive(Default)]
pub(super) struct Prefetched {
    offset: u64,
    bytes: Vec<u8>,
}

impl BlockFetcher {
    pub fn new(pattern: ReadPattern, tracer: ReadTracer) -> Self {
        let prefetched = Prefetched::default();
        let readahead = MIN_READAHEAD_BYTES;
        BlockFetcher { pattern, tracer, prefetched, last: None, sequential: 0, readahead }
    }

    pub fn into_tracer(self) -> ReadTracer {
        self.tracer
    }

    /// Drops what was prefetched: the cursor moves to another table.
    pub fn reset(&mut self) {
        self.prefetched.bytes.clear();
        self.last = None;
    }

    /// Puts the block at `handle` into `cursor`, which is then not positioned. Its place in an index is given as well.
    pub fn load(
        &mut self,
        (table, opened): (&Table, &OpenTable),
        handle: BlockHandle,
        (index, place): (&Arc<PartitionIndex>, usize),
        direction: Direction,
        cursor: &mut BlockCursor,
    ) -> Result<()> {
        self.track_sequence(handle, direction);
        let mut bypass_cache = matches!(self.pattern, ReadPattern::Compaction { .. });
        if !bypass_cache && let Some(block) = table.shown_block(handle, index, place) {
            self.tracer.block(handle.offset, handle.len, Origin::Cache, 0);
            if self.sequential == 1 {
                // It is searched. Those that follow are not.
                block.prepare();
            } else if direction == Direction::Forward {
                #[cfg(not(target_arch = "wasm32"))]
                index.prefetch_after(place);
            }
            cursor.replace(block);
            return Ok(());
        }
        self.tracer.may_load()?;
        let readahead = match self.pattern {
            ReadPattern::Compaction { readahead } => readahead,
            ReadPattern::Scan if self.sequential <= SEQUENTIAL_BLOCKS => 0,
            ReadPattern::Scan => self.readahead,
        };
        bypass_cache |= readahead == MAX_READAHEAD_BYTES;
        let (stored, read) = self.prefetched.block(opened, handle, direction, readahead)?;
        if read > 0 && readahead > 0 {
            self.readahead = (readahead * 2).min(MAX_READAHEAD_BYTES);
        }
        let origin = if read > 0 { Origin::Vfs } else { Origin::ReadAhead };
        self.tracer.block(handle.offset, handle.len, origin, read);
        let buffer = match bypass_cache {
            // Reuses the memory of the cursor's last block, unless the cache holds it too.
            true => cursor.take_block().and_then(Arc::into_inner).map(Block::into_bytes),
            false => None,
        };
        let block = opened.decode_block(stored, handle.offset, buffer.unwrap_or_default())?;
        let block = Arc::new(block);
        if !bypass_cache {
            table.cache_block(handle, &block);
        }
        cursor.replace(block);
        Ok(())
    }

    /// Counts the block as the next in sequence, or as the first of a new sequence.
    fn track_sequence(&mut self, handle: BlockHandle, direction: Direction) {
        let end = handle.offset.saturating_add(handle.len);
        let continues = self.last.is_some_and(|last| match direction {
            Direction::Forward => last.1 == handle.offset,
            Direction::Backward => last.0 == end,
        });
        if continues {
            self.sequential = self.sequential.saturating_add(1);
        } else {
            (self.sequential, self.readahead) = (1, MIN_READAHEAD_BYTES);
        }
        self.last = Some((handle.offset, end));
    }
}

impl Prefetched {
    /// The stored bytes of the block at `handle`, and how many bytes were read for it: 0 if it was
    /// prefetched; otherwise it is read along with what follows it in `direction`, `readahead` bytes
    /// in all. Where nothing is read ahead, a mapped file has it.
    pub fn block<'a>(
        &'a mut self,
        opened: &'a OpenTable,
        handle: BlockHandle,
        direction: Direction,
        readahead: u64,
    ) -> Result<(&'a [u8], u64)> {
        let end = handle.offset + handle.len;
        let range = self.offset..=self.offset + self.bytes.len() as u64;
        let mut read = 0;
        #[cfg(not(target_arch = "wasm32"))]
        if readahead == 0
            && let Some(stored) = opened.mapped(handle)
        {
            return Ok((stored, handle.len));
        }
        if !range.contains(&handle.offset) || !range.contains(&end) {
            let (from, to) = match direction {
                Direction::Forward => (handle.offset, end.max(handle.offset + readahead)),
                Direction::Backward => (handle.offset.min(end.saturating_sub(readahead)), end),
            };
            read = to.min(opened.data_len) - from;
            self.offset = from;
            self.bytes.resize(read as usize, 0);
            if let Err(e) = read_exact_at(&*opened.file, &mut self.bytes, from) {
                self.bytes.clear();
                return Err(e);
            }
        }
        let start = (handle.offset - self.offset) as usize;
        let stored = self.bytes.get(start..).and_then(|rest| rest.get(..handle.len as usize));
        Ok((stored.unwrap_or_default(), read))
    }
}
