//! Walking a table: the top level of the index chooses the partition, a cursor on the partition's
//! index the block, one on the block the entry.

use super::Malformed;
use super::block_cursor::BlockCursor;
use super::fetch::{Access, Direction, Fetch};
use super::opened::{Opened, Partition};
use super::reader::Table;
use crate::entry::Tag;
use crate::error::Result;
use crate::read::{Cursor, ReadTracer};
use std::sync::Arc;

/// A position in a table.
pub struct TableCursor {
    table: Arc<Table>,
    /// Held from the first search on.
    opened: Option<Arc<Opened>>,
    index: BlockCursor,
    /// The number of the partition that `index` walks.
    partition: usize,
    /// Whether `index` has that partition's index.
    entered: bool,
    data: BlockCursor,
    /// The offset of the block in `data`.
    loaded: Option<u64>,
    fetch: Fetch,
}

impl TableCursor {
    pub(super) fn new(table: Arc<Table>, access: Access, tracer: ReadTracer) -> Self {
        TableCursor {
            table,
            opened: None,
            index: BlockCursor::new(Arc::default()),
            partition: 0,
            entered: false,
            data: BlockCursor::new(Arc::default()),
            loaded: None,
            fetch: Fetch::new(access, tracer),
        }
    }

    /// Goes over to another table, not positioned in it.
    pub(super) fn go_over(&mut self, table: &Arc<Table>) {
        self.leave();
        self.fetch.tracer.table(table.info().id);
        if Arc::ptr_eq(&self.table, table) {
            return;
        }
        self.table = Arc::clone(table);
        self.opened = None;
        self.entered = false;
        self.loaded = None;
        self.fetch.leave();
    }

    /// Stands on no entry any more.
    pub(super) fn leave(&mut self) {
        self.data.invalidate();
    }

    /// Tells that a search came here.
    pub(super) fn stands(&mut self) {
        self.fetch.tracer.stands(self.data.valid().then(|| self.data.key()));
    }

    /// What the read tracer holds.
    pub(super) fn into_tracer(self) -> ReadTracer {
        self.fetch.into_tracer()
    }

    /// What is kept of the table: it is opened at the first search.
    fn opened(&mut self) -> Result<Arc<Opened>> {
        self.data.invalidate();
        if let Some(opened) = &self.opened {
            return Ok(Arc::clone(opened));
        }
        let opened = self.table.opened()?;
        self.opened = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Has the index cursor walk partition `n`, not positioned in it; returns the partition, none
    /// behind the last.
    fn enter_partition<'a>(
        &mut self,
        opened: &'a Opened,
        n: usize,
    ) -> Result<Option<&'a Partition>> {
        let Some(partition) = opened.partitions.get(n) else {
            self.entered = false;
            self.index.invalidate();
            return Ok(None);
        };
        if !self.entered || self.partition != n {
            self.entered = false;
            let Fetch { access, tracer, .. } = &mut self.fetch;
            let index = self.table.index(opened, partition, *access, tracer)?;
            self.index.replace(index);
            (self.partition, self.entered) = (n, true);
        }
        Ok(Some(partition))
    }

    /// Enters partition `n`, runs a step on its index and loads the block that it leads to; returns
    /// whether there is one.
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
        self.fetch.load(&self.table, &opened, handle, direction, &mut self.data)?;
        self.loaded = Some(handle.offset);
        Ok(true)
    }

    /// Runs a step on the data block; reports its damage as the file's.
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

    /// To the first entry of the block behind the one that the index stands on, if there is one.
    fn next_block(&mut self) -> Result<()> {
        let found = self.enter(self.partition, Direction::Forward, BlockCursor::advance)?
            || self.enter(self.partition + 1, Direction::Forward, BlockCursor::seek_first)?;
        if found { self.on_data(BlockCursor::seek_first) } else { Ok(()) }
    }

    /// To the last entry of the block before the one that the index stands on, if there is one.
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
