//! Walking a table: a cursor on the index chooses the block, one on the block the entry.

use super::Malformed;
use super::block::Block;
use super::block_cursor::BlockCursor;
use super::index::Handle;
use super::reader::Table;
use crate::entry::Tag;
use crate::error::Result;
use crate::read::Cursor;
use crate::storage::read_exact_at;
use std::sync::Arc;

/// How a cursor reads blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One block at a time, through the cache: short scans.
    Random,
    /// Many blocks in one read, beside the cache: compactions and long scans.
    Scan,
}

/// Bytes that a scan reads at once.
const READ_AHEAD_BYTES: u64 = 256 << 10;

/// A position in a table.
pub struct TableCursor {
    table: Arc<Table>,
    access: Access,
    index: BlockCursor,
    data: BlockCursor,
    /// The offset of the block in `data`.
    loaded: Option<u64>,
    ahead: ReadAhead,
}

/// Bytes of the file that a scan has read, whole blocks among them.
#[derive(Default)]
pub(super) struct ReadAhead {
    offset: u64,
    bytes: Vec<u8>,
}

/// Where a scan is going.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

impl TableCursor {
    pub(super) fn new(table: Arc<Table>, access: Access) -> Self {
        TableCursor {
            access,
            index: BlockCursor::new(Arc::clone(&table.meta.index)),
            data: BlockCursor::new(Arc::default()),
            loaded: None,
            ahead: ReadAhead::default(),
            table,
        }
    }

    /// Runs a step on the index; answers its damage as the file's.
    fn on_index(
        &mut self,
        step: impl FnOnce(&mut BlockCursor) -> Result<(), Malformed>,
    ) -> Result<()> {
        self.data.invalidate();
        step(&mut self.index).map_err(|e| self.table.index_damage(e))
    }

    /// Runs a step on the data block; answers its damage as the file's.
    #[inline]
    fn on_data(
        &mut self,
        step: impl FnOnce(&mut BlockCursor) -> Result<(), Malformed>,
    ) -> Result<()> {
        step(&mut self.data).map_err(|e| self.table.damage(e, self.loaded.unwrap_or_default()))
    }

    /// Loads the block that the index stands on; answers whether it stands on one.
    fn enter(&mut self, direction: Direction) -> Result<bool> {
        self.data.invalidate();
        if !self.index.valid() {
            return Ok(false);
        }
        let handle = self.table.handle(self.index.value())?;
        if self.loaded == Some(handle.offset) {
            return Ok(true);
        }
        self.loaded = None;
        let block = match self.access {
            Access::Random => self.table.block(handle)?,
            Access::Scan => {
                // The memory of the block left serves the next.
                let left = Arc::into_inner(self.data.replace(Arc::default()));
                let buffer = left.map(Block::into_bytes).unwrap_or_default();
                let stored = self.ahead.stored(&self.table, handle, direction)?;
                Arc::new(self.table.unseal_block(stored, handle.offset, buffer)?)
            }
        };
        self.data.replace(block);
        self.loaded = Some(handle.offset);
        Ok(true)
    }

    /// To the first entry of the block that the index stands on, if it stands on one.
    fn enter_first(&mut self) -> Result<()> {
        if self.enter(Direction::Forward)? { self.on_data(BlockCursor::seek_first) } else { Ok(()) }
    }

    /// To the last entry of the block that the index stands on, if it stands on one.
    fn enter_last(&mut self) -> Result<()> {
        if self.enter(Direction::Backward)? { self.on_data(BlockCursor::seek_last) } else { Ok(()) }
    }

    fn next_block(&mut self) -> Result<()> {
        self.on_index(BlockCursor::advance)?;
        self.enter_first()
    }

    fn previous_block(&mut self) -> Result<()> {
        self.on_index(BlockCursor::retreat)?;
        self.enter_last()
    }
}

impl ReadAhead {
    /// The block at `handle` as it is stored, with what follows it in `direction`.
    pub(super) fn stored(
        &mut self,
        table: &Table,
        handle: Handle,
        direction: Direction,
    ) -> Result<&[u8]> {
        let end = handle.offset + handle.len;
        if handle.offset < self.offset || end > self.offset + self.bytes.len() as u64 {
            let (from, to) = match direction {
                Direction::Forward => (handle.offset, end.max(handle.offset + READ_AHEAD_BYTES)),
                Direction::Backward => {
                    (handle.offset.min(end.saturating_sub(READ_AHEAD_BYTES)), end)
                }
            };
            let len = to.min(table.meta.data_len) - from;
            self.offset = from;
            self.bytes.resize(len as usize, 0);
            if let Err(e) = read_exact_at(table.file(), &mut self.bytes, from) {
                self.bytes.clear();
                return Err(e);
            }
        }
        let start = (handle.offset - self.offset) as usize;
        let stored = self.bytes.get(start..).and_then(|rest| rest.get(..handle.len as usize));
        Ok(stored.unwrap_or_default())
    }
}

impl Cursor for TableCursor {
    fn seek_first(&mut self) -> Result<()> {
        self.on_index(BlockCursor::seek_first)?;
        self.enter_first()
    }

    fn seek_last(&mut self) -> Result<()> {
        self.on_index(BlockCursor::seek_last)?;
        self.enter_last()
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.on_index(|index| index.seek(key, tag))?;
        if self.enter(Direction::Forward)? {
            self.on_data(|data| data.seek(key, tag))?;
            if !self.data.valid() {
                // The target lies between the block's last entry and its separator.
                return self.next_block();
            }
        }
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.on_index(|index| index.seek(key, tag))?;
        if !self.enter(Direction::Backward)? {
            return self.seek_last();
        }
        self.on_data(|data| data.seek_before(key, tag))?;
        if self.data.valid() { Ok(()) } else { self.previous_block() }
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if !self.data.valid() {
            return Ok(());
        }
        self.on_data(BlockCursor::advance)?;
        if self.data.valid() { Ok(()) } else { self.next_block() }
    }

    fn prev(&mut self) -> Result<()> {
        if !self.data.valid() {
            return Ok(());
        }
        self.on_data(BlockCursor::retreat)?;
        if self.data.valid() { Ok(()) } else { self.previous_block() }
    }

    #[inline]
    fn valid(&self) -> bool {
        self.data.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.data.key()
    }

    #[inline]
    fn tag(&self) -> Tag {
        self.data.tag()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.data.value()
    }
}
