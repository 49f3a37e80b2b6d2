//! Cursors over one table.
//!
//! The top level of the index selects a partition, a cursor over that partition's index a block,
//! and a cursor over the block an entry.

use super::Malformed;
use super::block::Block;
use super::block_cursor::BlockCursor;
use super::block_fetcher::{BlockFetcher, Direction, ReadPattern};
use super::open_table::{OpenTable, Partition};
use super::reader::Table;
use crate::cursor::Cursor;
use crate::entry::Tag;
use crate::error::{ErrorKind, Result};
use crate::trace::ReadTracer;
use std::sync::Arc;

/// A position in a table.
pub struct TableCursor {
    table: Arc<Table>,
    /// Pinned by the first seek.
    opened: Option<Arc<OpenTable>>,
    index: BlockCursor,
    /// The number of the partition whose index `index` reads.
    partition: usize,
    /// Whether `index` has been given that partition's index.
    entered: bool,
    data: BlockCursor,
    /// The offset of the block in `data`.
    loaded: Option<u64>,
    fetcher: BlockFetcher,
}

impl Table {
    /// A cursor over the table.
    #[must_use]
    pub fn cursor(self: &Arc<Self>, pattern: ReadPattern) -> TableCursor {
        TableCursor::new(Arc::clone(self), pattern, ReadTracer::default())
    }

    /// The index of a partition. Only a scan caches it.
    fn index(
        &self,
        opened: &OpenTable,
        partition: &Partition,
        pattern: ReadPattern,
        tracer: &mut ReadTracer,
    ) -> Result<Arc<Block>> {
        if let Some(index) = partition.index.get() {
            return Ok(index);
        }
        tracer.may_load()?;
        let mut read = || {
            tracer.read(partition.handle.index_len);
            opened.read_index(partition)
        };
        match pattern {
            ReadPattern::Scan => self.load_index(partition, read),
            ReadPattern::Compaction { .. } => read().map(|(index, _)| Arc::new(index)),
        }
    }
}

impl TableCursor {
    pub(super) fn new(table: Arc<Table>, pattern: ReadPattern, tracer: ReadTracer) -> Self {
        TableCursor {
            table,
            opened: None,
            index: BlockCursor::new(Arc::default()),
            partition: 0,
            entered: false,
            data: BlockCursor::new(Arc::default()),
            loaded: None,
            fetcher: BlockFetcher::new(pattern, tracer),
        }
    }

    /// Moves to another table; the cursor is then not positioned.
    pub(super) fn switch_to(&mut self, table: &Arc<Table>) {
        self.invalidate();
        self.fetcher.tracer.table(table.info().id);
        table.watch(&self.fetcher.tracer);
        if Arc::ptr_eq(&self.table, table) {
            return;
        }
        self.table = Arc::clone(table);
        self.opened = None;
        self.entered = false;
        self.loaded = None;
        self.fetcher.reset();
    }

    /// Leaves the cursor without a position.
    pub(super) fn invalidate(&mut self) {
        self.data.invalidate();
    }

    /// Sets whether a step fails rather than read a file.
    pub(super) fn set_only_cached(&mut self, only_cached: bool) {
        self.fetcher.tracer.set_only_cached(only_cached);
    }

    /// Traces where a seek ended.
    pub(super) fn trace_position(&mut self) {
        self.fetcher.tracer.positioned(self.data.valid().then(|| self.data.key()));
    }

    pub(super) fn into_tracer(self) -> ReadTracer {
        self.fetcher.into_tracer()
    }

    /// The open table, which the first seek opens and pins.
    fn opened(&mut self) -> Result<Arc<OpenTable>> {
        self.data.invalidate();
        if let Some(opened) = &self.opened {
            return Ok(Arc::clone(opened));
        }
        let opened = match self.fetcher.tracer.only_cached() {
            true => self.table.if_opened().ok_or(ErrorKind::WouldRead)?,
            false => self.table.opened()?,
        };
        self.opened = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Points the index cursor at partition `n`, not positioned in it; returns the partition, `None`
    /// past the last.
    fn enter_partition<'a>(
        &mut self,
        opened: &'a OpenTable,
        n: usize,
    ) -> Result<Option<&'a Partition>> {
        let Some(partition) = opened.partitions.get(n) else {
            self.entered = false;
            self.index.invalidate();
            return Ok(None);
        };
        if !self.entered || self.partition != n {
            self.entered = false;
            let BlockFetcher { pattern, tracer, .. } = &mut self.fetcher;
            let index = self.table.index(opened, partition, *pattern, tracer)?;
            self.index.replace(index);
            (self.partition, self.entered) = (n, true);
        }
        Ok(Some(partition))
    }

    /// Enters partition `n`, moves its index cursor by `step` and loads the block found there;
    /// returns whether there is one.
    fn enter(
        &mut self,
        n: usize,
        direction: Direction,
        step: impl FnOnce(&mut BlockCursor) -> Result<(), Malformed>,
    ) -> Result<bool> {
        let opened = self.opened()?;
        let Some(partition) = self.enter_partition(&opened, n)? else { return Ok(false) };
        step(&mut self.index).map_err(|e| opened.damage(e, partition.handle.index_offset()))?;
        if !self.index.valid() {
            return Ok(false);
        }
        let handle = opened.handle(self.index.value(), partition)?;
        if self.loaded == Some(handle.offset) {
            return Ok(true);
        }
        self.loaded = None;
        self.fetcher.load(&self.table, &opened, handle, direction, &mut self.data)?;
        self.loaded = Some(handle.offset);
        Ok(true)
    }

    /// Moves the data cursor by `step`; damage is reported at its offset in the file.
    #[inline]
    fn on_data(
        &mut self,
        step: impl FnOnce(&mut BlockCursor) -> Result<(), Malformed>,
    ) -> Result<()> {
        step(&mut self.data).map_err(|e| self.data_damage(e))
    }

    #[cold]
    fn data_damage(&self, e: Malformed) -> crate::error::Error {
        let offset = self.loaded.unwrap_or_default();
        match &self.opened {
            Some(opened) => opened.damage(e, offset),
            None => e.within("table", offset).into(),
        }
    }

    /// Moves to the first entry of the block after the index cursor's, if there is one.
    fn next_block(&mut self) -> Result<()> {
        let found = self.enter(self.partition, Direction::Forward, BlockCursor::advance)?
            || self.enter(self.partition + 1, Direction::Forward, BlockCursor::seek_first)?;
        if found { self.on_data(BlockCursor::seek_first) } else { Ok(()) }
    }

    /// Moves to the last entry of the block before the index cursor's, if there is one.
    fn previous_block(&mut self) -> Result<()> {
        let n = self.partition;
        let found = self.enter(n, Direction::Backward, BlockCursor::retreat)?
            || (n > 0 && self.enter(n - 1, Direction::Backward, BlockCursor::seek_last)?);
        if found { self.on_data(BlockCursor::seek_last) } else { Ok(()) }
    }
}

impl Cursor for TableCursor {
    fn seek_first(&mut self) -> Result<()> {
        let found = self.enter(0, Direction::Forward, BlockCursor::seek_first)?;
        if found { self.on_data(BlockCursor::seek_first) } else { Ok(()) }
    }

    fn seek_last(&mut self) -> Result<()> {
        let last = self.opened()?.partitions.len().saturating_sub(1);
        let found = self.enter(last, Direction::Backward, BlockCursor::seek_last)?;
        if found { self.on_data(BlockCursor::seek_last) } else { Ok(()) }
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let n = self.opened()?.partition_for(key, tag)?;
        if self.enter(n, Direction::Forward, |index| index.seek(key, tag))? {
            self.on_data(|data| data.seek(key, tag))?;
            if !self.data.valid() {
                // The target lies between the block's last entry and its separator.
                return self.next_block();
            }
        }
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let n = self.opened()?.partition_for(key, tag)?;
        if !self.enter(n, Direction::Backward, |index| index.seek(key, tag))? {
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

    #[inline(always)]
    fn valid(&self) -> bool {
        self.data.valid()
    }

    #[inline(always)]
    fn key(&self) -> &[u8] {
        self.data.key()
    }

    #[inline(always)]
    fn tag(&self) -> Tag {
        self.data.tag()
    }

    #[inline(always)]
    fn value(&self) -> &[u8] {
        self.data.value()
    }
}
