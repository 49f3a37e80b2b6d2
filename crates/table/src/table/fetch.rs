//! How a cursor comes by its blocks.
//!
//! 1. A scan looks into the cache first; a compaction does not, since it reads everything once.
//! 2. Then into the bytes that it has read ahead.
//! 3. Then one read takes the block and, in a walk, what follows it: a compaction as much as it was
//!    given memory for, a scan nothing over its first [`PATIENCE`] blocks, so that short ones read no byte too
//!    many, then twice as much each time: never much more than what it has used.
//! 4. A scan leaves its blocks in the cache until it reads as far ahead as may be: a long one would
//!    wash out what others need.

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::index::Handle;
use super::opened::Opened;
use super::reader::Table;
use crate::error::Result;
use crate::file::read_exact_at;
use crate::read::{Origin, ReadTracer};
use std::sync::Arc;

/// How a cursor reads blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the cache, one block at a time, and ahead when a walk goes on: scans.
    Random,
    /// So many bytes in one read, but a block at least, beside the cache: compactions.
    Scan(u64),
}

/// Blocks that a scan walks in sequence before it reads ahead.
const PATIENCE: u32 = 4;
/// Bytes that a scan first reads at once.
const AHEAD_BYTES_MIN: u64 = 16 << 10;
/// The most bytes that are worth reading at once.
pub const AHEAD_BYTES_MAX: u64 = 256 << 10;

/// Where a walk is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Gets blocks for one cursor.
pub(super) struct Fetch {
    pub access: Access,
    pub tracer: ReadTracer,
    ahead: ReadAhead,
    /// The bounds of the last block, in the file.
    last: Option<(u64, u64)>,
    /// Blocks walked in sequence so far.
    walked: u32,
    /// Bytes that the next read ahead takes.
    reach: u64,
}

/// Bytes of the file that were read at once, whole blocks among them.
#[derive(Default)]
pub(super) struct ReadAhead {
    offset: u64,
    bytes: Vec<u8>,
}

impl Fetch {
    pub fn new(access: Access, tracer: ReadTracer) -> Self {
        let ahead = ReadAhead::default();
        Fetch { access, tracer, ahead, last: None, walked: 0, reach: AHEAD_BYTES_MIN }
    }

    /// What the read tracer holds.
    pub fn into_tracer(self) -> ReadTracer {
        self.tracer
    }

    /// Forgets what was read: offsets are those of another table from here on.
    pub fn leave(&mut self) {
        self.ahead.bytes.clear();
        self.last = None;
    }

    /// Has `cursor` go over to the block at `handle`, not positioned in it.
    pub fn load(
        &mut self,
        table: &Table,
        opened: &Opened,
        handle: Handle,
        direction: Direction,
        cursor: &mut BlockCursor,
    ) -> Result<()> {
        self.follow(handle, direction);
        let mut beside = matches!(self.access, Access::Scan(_));
        if !beside && let Some(block) = table.cached(handle) {
            self.tracer.block(handle.offset, handle.len, Origin::Cache, 0);
            cursor.replace(block);
            return Ok(());
        }
        let reach = match self.access {
            Access::Scan(bytes) => bytes,
            Access::Random if self.walked <= PATIENCE => 0,
            Access::Random => self.reach,
        };
        beside |= reach == AHEAD_BYTES_MAX;
        let (stored, read) = self.ahead.stored(opened, handle, direction, reach)?;
        if read > 0 && reach > 0 {
            self.reach = (reach * 2).min(AHEAD_BYTES_MAX);
        }
        let origin = if read > 0 { Origin::Vfs } else { Origin::ReadAhead };
        self.tracer.block(handle.offset, handle.len, origin, read);
        let buffer = match beside {
            // The memory of the block left is recycled, unless the cache has it.
            true => Arc::into_inner(cursor.replace(Arc::default())).map(Block::into_bytes),
            false => None,
        };
        let block = opened.decode_block(stored, handle.offset, buffer.unwrap_or_default())?;
        let block = Arc::new(block);
        if !beside {
            table.cache(handle, &block);
        }
        cursor.replace(block);
        Ok(())
    }

    /// Counts the block as one more of a walk, or as the first of another.
    fn follow(&mut self, handle: Handle, direction: Direction) {
        let end = handle.offset.saturating_add(handle.len);
        let goes_on = self.last.is_some_and(|last| match direction {
            Direction::Forward => last.1 == handle.offset,
            Direction::Backward => last.0 == end,
        });
        if goes_on {
            self.walked = self.walked.saturating_add(1);
        } else {
            (self.walked, self.reach) = (1, AHEAD_BYTES_MIN);
        }
        self.last = Some((handle.offset, end));
    }
}

impl ReadAhead {
    /// The block at `handle` as it is stored, and how many bytes were read for it: none if it was
    /// at hand, otherwise with what follows it in `direction` `reach` bytes or more.
    pub fn stored(
        &mut self,
        opened: &Opened,
        handle: Handle,
        direction: Direction,
        reach: u64,
    ) -> Result<(&[u8], u64)> {
        let end = handle.offset + handle.len;
        let at_hand = self.offset..=self.offset + self.bytes.len() as u64;
        let mut read = 0;
        if !at_hand.contains(&handle.offset) || !at_hand.contains(&end) {
            let (from, to) = match direction {
                Direction::Forward => (handle.offset, end.max(handle.offset + reach)),
                Direction::Backward => (handle.offset.min(end.saturating_sub(reach)), end),
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
