//! Cursors over one table.
//!
//! The top level of the index selects a partition, a place in that partition's index a block,
//! and a cursor over the block an entry.

use super::Malformed;
use super::block::Block;
use super::block_cursor::BlockCursor;
use super::block_fetcher::{BlockFetcher, Direction, ReadPattern};
use super::key_heads::Found;
use super::open_table::{OpenTable, Partition};
use super::partition_index::PartitionIndex;
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
    /// The index of partition `partition`, once it was entered.
    index: Option<Arc<PartitionIndex>>,
    partition: usize,
    /// The number of the block among those of the partition.
    place: usize,
    data: BlockCursor,
    /// The offset of the block in `data`.
    loaded: Option<u64>,
    /// Whether a seek has found the place of its block.
    is_aimed: bool,
    /// The entry to which the heads of the block led a seek.
    approached: Option<Found>,
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
    ) -> Result<Arc<PartitionIndex>> {
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
            index: None,
            partition: 0,
            place: 0,
            data: BlockCursor::default(),
            loaded: None,
            is_aimed: false,
            approached: None,
            fetcher: BlockFetcher::new(pattern, tracer),
        }
    }

    /// Moves to another table; the cursor is then not positioned, and has not [arrived](Self::arrive).
    pub(super) fn switch_to(&mut self, table: &Arc<Table>) {
        self.invalidate();
        self.fetcher.tracer.table(table.info().id);
        if Arc::ptr_eq(&self.table, table) {
            return;
        }
        self.table = Arc::clone(table);
        self.opened = None;
        self.index = None;
        self.loaded = None;
        self.fetcher.reset();
    }

    /// Counts a read of the table, if reads are watched.
    pub(super) fn arrive(&self) {
        self.table.watch(self.fetcher.tracer.watches());
    }

    /// Promises the first entry of the table, or backward the last, without reading it. The promise precedes all
    /// versions of its key in that direction.
    pub(super) fn promise(&mut self, direction: Direction) {
        let info = self.table.info();
        match direction {
            Direction::Forward => self.data.promise(&info.smallest, Tag::PROMISED),
            Direction::Backward => self.data.promise(&info.largest, Tag::PROMISED_BACKWARD),
        }
    }

    /// Leaves the cursor without a position.
    pub(super) fn invalidate(&mut self) {
        self.data.invalidate();
        self.is_aimed = false;
    }

    /// Moves to the next entry of the block and returns whether its key is another. `None`, and no move, if there is
    /// none.
    #[inline(always)]
    pub(super) fn next_within(&mut self) -> Result<Option<bool>> {
        match self.data.advance_within() {
            Ok(moved) => Ok(moved),
            Err(e) => Err(self.data_damage(e)),
        }
    }

    /// Moves to the next entry of the block, if it is short, and returns whether its key is another. `None`, and no
    /// move, otherwise.
    #[inline(always)]
    pub(super) fn next_short(&mut self) -> Option<bool> {
        self.data.advance_short()
    }

    /// Sets whether a step fails rather than read a file.
    pub(super) fn set_only_cached(&mut self, only_cached: bool) {
        self.fetcher.tracer.set_only_cached(only_cached);
    }

    /// Traces where a seek ended.
    pub(super) fn trace_position(&mut self) {
        self.fetcher.tracer.positioned(self.data.valid().then(|| self.data.key()));
    }

    pub(super) fn tracer(&self) -> &ReadTracer {
        &self.fetcher.tracer
    }

    pub(super) fn into_tracer(self) -> ReadTracer {
        self.fetcher.into_tracer()
    }

    /// The number of the partition where a search for (`key`, `tag`) starts. The first search opens and pins the table.
    fn partition_for(&mut self, key: &[u8], tag: Tag) -> Result<usize> {
        self.data.invalidate();
        pin(&mut self.opened, &self.table, &self.fetcher.tracer)?.partition_for(key, tag)
    }

    /// Enters partition `n`, moves to the block of it that `step` names, given the partition's index and the place
    /// before, and loads it; returns whether there is one.
    fn enter(
        &mut self,
        n: usize,
        direction: Direction,
        step: impl FnOnce(&Block, usize) -> Result<Option<usize>, Malformed>,
    ) -> Result<bool> {
        let found = self.choose(n, step)?;
        if found {
            self.load(direction)?;
        }
        Ok(found)
    }

    /// Enters partition `n` and moves to the block of it that `step` names, without loading it.
    fn choose(
        &mut self,
        n: usize,
        step: impl FnOnce(&Block, usize) -> Result<Option<usize>, Malformed>,
    ) -> Result<bool> {
        self.data.invalidate();
        let TableCursor { table, opened, index, partition, place, fetcher, .. } = self;
        let opened = pin(opened, table, &fetcher.tracer)?;
        let Some(entered) = opened.partitions.get(n) else {
            *index = None;
            return Ok(false);
        };
        if *partition != n {
            *index = None;
        }
        let index = match index {
            Some(index) => index,
            None => {
                let found = table.index(opened, entered, fetcher.pattern, &mut fetcher.tracer)?;
                *partition = n;
                index.insert(found)
            }
        };
        let damage = |e| opened.damage(e, entered.handle.index_offset());
        let Some(to) = step(index, *place).map_err(damage)? else { return Ok(false) };
        if to >= index.restarts().len() {
            return Ok(false);
        }
        *place = to;
        Ok(true)
    }

    /// Loads the block at the cursor's place, unless it has it.
    fn load(&mut self, direction: Direction) -> Result<()> {
        let TableCursor { table, opened, index, partition, place, data, loaded, fetcher, .. } =
            self;
        let (Some(opened), Some(index)) = (opened, index) else { return Ok(()) };
        let Some(entered) = opened.partitions.get(*partition) else { return Ok(()) };
        let entry = index.nth(*place);
        let entry = entry.map_err(|e| opened.damage(e, entered.handle.index_offset()))?;
        let handle = opened.handle(entry.map_or(&[], |entry| entry.value), entered)?;
        if *loaded != Some(handle.offset) {
            *loaded = None;
            fetcher.load((table, opened), handle, (index, *place), direction, data)?;
            *loaded = Some(handle.offset);
        }
        Ok(())
    }

    /// Takes the first of three steps of a seek: finds the place of its block, and asks for the block where it is
    /// shown. So several tables wait for memory together rather than one after another.
    pub(super) fn aim(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.is_aimed = false;
        let n = self.partition_for(key, tag)?;
        self.is_aimed = self.choose(n, |index, _| index.restarts_below(key, tag).map(Some))?;
        if let Some(index) = self.index.as_deref().filter(|_| self.is_aimed) {
            index.prefetch(self.place);
        }
        Ok(())
    }

    /// Takes the second step: loads the block, and asks for the entry there.
    pub(super) fn approach(&mut self, key: &[u8]) -> Result<()> {
        self.approached = None;
        if self.is_aimed {
            self.load(Direction::Forward)?;
            // A browser cannot ask: there the last step alone searches.
            if cfg!(not(target_arch = "wasm32")) {
                self.approached = self.data.block().prefetch(key);
            }
        }
        Ok(())
    }

    /// Takes the last step: moves to the entry.
    pub(super) fn land(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        if !std::mem::take(&mut self.is_aimed) {
            return Ok(());
        }
        let known = self.approached.take();
        self.on_data(|data| data.seek_known(key, tag, known))?;
        // Otherwise the target lies between the block's last entry and its separator.
        if self.data.valid() { Ok(()) } else { self.next_block() }
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

    /// Moves to the first entry of the block after this one, if there is one.
    fn next_block(&mut self) -> Result<()> {
        let found = self.enter(self.partition, Direction::Forward, |_, n| Ok(Some(n + 1)))?
            || self.enter(self.partition + 1, Direction::Forward, first_place)?;
        if found { self.on_data(BlockCursor::seek_first) } else { Ok(()) }
    }

    /// Moves to the last entry of the block before this one, if there is one.
    fn previous_block(&mut self) -> Result<()> {
        let n = self.partition;
        let found = self.enter(n, Direction::Backward, |_, n| Ok(n.checked_sub(1)))?
            || (n > 0 && self.enter(n - 1, Direction::Backward, last_place)?);
        if found { self.on_data(BlockCursor::seek_last) } else { Ok(()) }
    }
}

/// Returns the open table, which is opened if needed and allowed, and then pinned.
fn pin<'a>(
    pinned: &'a mut Option<Arc<OpenTable>>,
    table: &Table,
    tracer: &ReadTracer,
) -> Result<&'a OpenTable> {
    match pinned {
        Some(opened) => Ok(opened),
        None if tracer.only_cached() => {
            Ok(pinned.insert(table.if_opened().ok_or(ErrorKind::WouldRead)?))
        }
        None => Ok(pinned.insert(table.opened()?)),
    }
}

fn first_place(_: &Block, _: usize) -> Result<Option<usize>, Malformed> {
    Ok(Some(0))
}

fn last_place(index: &Block, _: usize) -> Result<Option<usize>, Malformed> {
    Ok(index.restarts().len().checked_sub(1))
}

impl Cursor for TableCursor {
    fn seek_first(&mut self) -> Result<()> {
        let found = self.enter(0, Direction::Forward, first_place)?;
        if found { self.on_data(BlockCursor::seek_first) } else { Ok(()) }
    }

    fn seek_last(&mut self) -> Result<()> {
        self.data.invalidate();
        let last = pin(&mut self.opened, &self.table, &self.fetcher.tracer)?
            .partitions
            .len()
            .saturating_sub(1);
        let found = self.enter(last, Direction::Backward, last_place)?;
        if found { self.on_data(BlockCursor::seek_last) } else { Ok(()) }
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.aim(key, tag)?;
        self.approach(key)?;
        self.land(key, tag)
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let n = self.partition_for(key, tag)?;
        let block = |index: &Block, _| index.restarts_below(key, tag).map(Some);
        if !self.enter(n, Direction::Backward, block)? {
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
