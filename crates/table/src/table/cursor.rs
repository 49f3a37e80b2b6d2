//! Walking a table: a cursor on the index chooses the block, one on the block the entry.

use super::Malformed;
use super::block_cursor::BlockCursor;
use super::fetch::{Access, Direction, Fetch};
use super::reader::Table;
use crate::entry::Tag;
use crate::error::Result;
use crate::read::{Cursor, Observer};
use std::sync::Arc;

/// A position in a table.
pub struct TableCursor {
    table: Arc<Table>,
    index: BlockCursor,
    data: BlockCursor,
    /// The offset of the block in `data`.
    loaded: Option<u64>,
    fetch: Fetch,
}

impl TableCursor {
    pub(super) fn new(table: Arc<Table>, access: Access, observer: Observer) -> Self {
        TableCursor {
            index: BlockCursor::new(Arc::clone(&table.meta.index)),
            data: BlockCursor::new(Arc::default()),
            loaded: None,
            fetch: Fetch::new(access, observer),
            table,
        }
    }

    /// Goes over to another table, not positioned in it.
    pub(super) fn go_over(&mut self, table: &Arc<Table>) {
        self.leave();
        self.fetch.observer.table(table.info().id);
        if Arc::ptr_eq(&self.table, table) {
            return;
        }
        self.table = Arc::clone(table);
        self.index.replace(Arc::clone(&table.meta.index));
        self.loaded = None;
        self.fetch.leave();
    }

    /// Stands on no entry any more.
    pub(super) fn leave(&mut self) {
        self.data.invalidate();
    }

    /// Tells that a search came here.
    pub(super) fn stands(&mut self) {
        self.fetch.observer.stands(self.data.valid().then(|| self.data.key()));
    }

    /// What the observer holds.
    pub(super) fn into_observer(self) -> Observer {
        self.fetch.into_observer()
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
        self.fetch.load(&self.table, handle, direction, &mut self.data)?;
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
