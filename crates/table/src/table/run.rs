//! Cursors over a run: tables with disjoint key ranges, in key order.
//!
//! All versions of a user key are in one table, so a binary search over the tables' ranges finds the
//! one table where a seek starts.
//!
//! A scan does not open a table before it comes to the table's first key, which is known without it: until then the
//! cursor *promises* the entry ([`Tag::PROMISED`]), and the next step reads it. So a short scan touches only tables
//! that hold its keys, or span its start.

use super::block_fetcher::{Direction, ReadPattern};
use super::cursor::TableCursor;
use super::reader::Table;
use super::run_tables::RunTables;
use crate::cursor::Cursor;
use crate::entry::{MAX_SEQ, Seq, Tag};
use crate::error::Result;
use crate::trace::ReadTracer;
use std::sync::Arc;
use terrane_types::{Place, Sequence};

/// A position in a run. One table cursor moves from table to table.
pub struct RunCursor {
    tables: RunTables,
    /// Place of the cursor in `tables`.
    place: Place,
    /// `None` if the run is empty.
    cursor: Option<TableCursor>,
    /// Whether first entries of tables are promised.
    is_lazy: bool,
    /// Direction in which the entry under the cursor is promised.
    promised: Option<Direction>,
}

impl RunCursor {
    /// A cursor over `tables`, which are disjoint and in key order.
    #[must_use]
    pub fn new(tables: Sequence<Arc<Table>>, pattern: ReadPattern) -> Self {
        RunCursor::with_tracer(RunTables::new(tables, None), pattern, ReadTracer::default())
    }

    /// Like [`RunCursor::new`], with a tracer of its reads.
    pub fn with_tracer(tables: RunTables, pattern: ReadPattern, tracer: ReadTracer) -> Self {
        let cursor =
            tables.first().map(|table| TableCursor::new(Arc::clone(table), pattern, tracer));
        let is_lazy = pattern == ReadPattern::Scan;
        RunCursor { tables, place: Place::default(), cursor, is_lazy, promised: None }
    }

    /// Sets whether a step fails, with [`WouldRead`](crate::error::ErrorKind::WouldRead), rather than read a file.
    pub fn set_only_cached(&mut self, only_cached: bool) {
        self.cursor.iter_mut().for_each(|cursor| cursor.set_only_cached(only_cached));
    }

    /// Traces where a seek ended.
    pub fn trace_position(&mut self) {
        self.cursor.iter_mut().for_each(TableCursor::trace_position);
    }

    /// Its tracer; `None` if the run is empty.
    pub fn tracer(&self) -> Option<&ReadTracer> {
        self.cursor.as_ref().map(TableCursor::tracer)
    }

    /// Ends the cursor and returns its tracer; `None` if the run is empty.
    pub fn into_tracer(self) -> Option<ReadTracer> {
        self.cursor.map(TableCursor::into_tracer)
    }

    /// The cursor, moved to the table at `place`, to read it; `None` outside the run.
    fn enter(&mut self, place: Option<Place>) -> Option<&mut TableCursor> {
        let cursor = self.switch_to(place)?;
        cursor.arrive();
        Some(cursor)
    }

    /// The cursor, moved to the table at `place`; `None` outside the run.
    fn switch_to(&mut self, place: Option<Place>) -> Option<&mut TableCursor> {
        self.promised = None;
        let cursor = self.cursor.as_mut()?;
        let Some((place, table)) = place.and_then(|place| Some((place, self.tables.get(place)?)))
        else {
            cursor.invalidate();
            self.place = self.tables.end();
            return None;
        };
        self.place = place;
        cursor.switch_to(table);
        Some(cursor)
    }

    /// Moves to the next entry, if it lies in the block under the cursor, and returns whether its key is another.
    /// `None`, and no move, otherwise.
    #[inline(always)]
    pub(crate) fn next_within(&mut self) -> Result<Option<bool>> {
        match &mut self.cursor {
            Some(cursor) => cursor.next_within(),
            None => Ok(None),
        }
    }

    /// Moves to the next entry, if it lies in the block under the cursor and is short, and returns whether its key is
    /// another. `None`, and no move, otherwise.
    #[inline(always)]
    pub(crate) fn next_short(&mut self) -> Option<bool> {
        self.cursor.as_mut()?.next_short()
    }

    /// Moves to the first entry at or after `to`, or to none, past tables that are older than `seq`: none of them is
    /// read before `to`. Returns whether it moved. It is on an entry before `to`.
    pub fn skip(&mut self, to: Option<&[u8]>, seq: Seq) -> Result<bool> {
        let mut place = self.place;
        while let Some(info) = self.tables.get(place).map(|table| table.info())
            && info.last_seq < seq
            && to.is_none_or(|to| info.largest.as_slice() < to)
        {
            place = self.tables.after(place);
        }
        let is_cut = |table: &Arc<Table>, to: &[u8]| {
            table.info().last_seq < seq && table.info().smallest.as_slice() < to
        };
        if let Some(to) = to
            && self.tables.get(place).is_some_and(|table| is_cut(table, to))
        {
            self.enter(Some(place)).map_or(Ok(()), |cursor| cursor.seek(to, Tag::at(MAX_SEQ)))?;
            return Ok(true);
        }
        let moves = place != self.place;
        if moves {
            self.enter_first(Some(place))?;
        }
        Ok(moves)
    }

    /// The same backward: moves to the last entry before `from`, which is on or before the entry.
    pub fn skip_back(&mut self, from: &[u8], seq: Seq) -> Result<bool> {
        let mut place = Some(self.place);
        while let Some(info) = place.and_then(|at| self.tables.get(at)).map(|table| table.info())
            && info.last_seq < seq
            && info.smallest.as_slice() >= from
        {
            place = place.and_then(|at| self.tables.before(at));
        }
        let is_cut = |table: &Arc<Table>| {
            table.info().last_seq < seq && table.info().largest.as_slice() >= from
        };
        if place.and_then(|at| self.tables.get(at)).is_some_and(is_cut) {
            self.enter(place).map_or(Ok(()), |cursor| cursor.seek_before(from, Tag(u64::MAX)))?;
            return Ok(true);
        }
        let moves = place != Some(self.place);
        if moves {
            self.enter_last(place)?;
        }
        Ok(moves)
    }

    /// Takes the first of three steps of a seek, before [`RunCursor::approach`] and [`RunCursor::land`]. Memory arrives
    /// between them.
    pub(crate) fn aim(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let (place, starts_after) = self.tables.place_for(key);
        if starts_after {
            return self.enter_first(Some(place));
        }
        self.enter(Some(place)).map_or(Ok(()), |cursor| cursor.aim(key, tag))
    }

    /// Takes the second step of a seek.
    pub(crate) fn approach(&mut self, key: &[u8]) -> Result<()> {
        self.cursor.as_mut().map_or(Ok(()), |cursor| cursor.approach(key))
    }

    /// Takes the last step of a seek.
    pub(crate) fn land(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let Some(cursor) = self.cursor.as_mut() else { return Ok(()) };
        cursor.land(key, tag)?;
        if cursor.valid() { Ok(()) } else { self.enter_first(Some(self.tables.after(self.place))) }
    }

    /// Moves to the first entry of the table at `place`.
    fn enter_first(&mut self, place: Option<Place>) -> Result<()> {
        self.enter_at(place, Direction::Forward)
    }

    /// Moves to the last entry of the table at `place`.
    fn enter_last(&mut self, place: Option<Place>) -> Result<()> {
        self.enter_at(place, Direction::Backward)
    }

    /// Moves to the entry of the table at `place` that is the first in a direction, which may be promised.
    #[inline(never)]
    fn enter_at(&mut self, place: Option<Place>, direction: Direction) -> Result<()> {
        let is_lazy = self.is_lazy;
        let Some(cursor) = self.switch_to(place) else { return Ok(()) };
        if is_lazy {
            cursor.promise(direction);
            self.promised = Some(direction);
            return Ok(());
        }
        read_first(cursor, direction)
    }

    /// Reads the entry that is promised in `promised`, on a step in `direction`.
    #[inline(never)]
    fn redeem(&mut self, promised: Direction, direction: Direction) -> Result<()> {
        self.promised = None;
        match (promised, direction) {
            (Direction::Forward, Direction::Backward) => {
                self.enter_last(self.tables.before(self.place))
            }
            (Direction::Backward, Direction::Forward) => {
                self.enter_first(Some(self.tables.after(self.place)))
            }
            _ => self.cursor.as_mut().map_or(Ok(()), |cursor| read_first(cursor, direction)),
        }
    }
}

/// Moves to the entry of the cursor's table that is the first in a direction.
fn read_first(cursor: &mut TableCursor, direction: Direction) -> Result<()> {
    cursor.arrive();
    match direction {
        Direction::Forward => cursor.seek_first(),
        Direction::Backward => cursor.seek_last(),
    }
}

impl Cursor for RunCursor {
    fn seek_first(&mut self) -> Result<()> {
        self.enter_first(Some(Place::default()))
    }

    fn seek_last(&mut self) -> Result<()> {
        self.enter_last(self.tables.before(self.tables.end()))
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.aim(key, tag)?;
        self.approach(key)?;
        self.land(key, tag)
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let after = self.tables.partition_point(|table| table.info().smallest.as_slice() <= key);
        let place = self.tables.before(after);
        let ends_before = |place| self.tables.get(place).is_some_and(|t| *t.info().largest < *key);
        if place.is_some_and(ends_before) {
            return self.enter_last(place);
        }
        let Some(cursor) = self.enter(place) else { return Ok(()) };
        cursor.seek_before(key, tag)?;
        if cursor.valid() {
            Ok(())
        } else {
            self.enter_last(place.and_then(|place| self.tables.before(place)))
        }
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if let Some(promised) = self.promised {
            return self.redeem(promised, Direction::Forward);
        }
        let Some(cursor) = self.cursor.as_mut().filter(|cursor| cursor.valid()) else {
            return Ok(());
        };
        cursor.next()?;
        if cursor.valid() { Ok(()) } else { self.enter_first(Some(self.tables.after(self.place))) }
    }

    fn prev(&mut self) -> Result<()> {
        if let Some(promised) = self.promised {
            return self.redeem(promised, Direction::Backward);
        }
        let Some(cursor) = self.cursor.as_mut().filter(|cursor| cursor.valid()) else {
            return Ok(());
        };
        cursor.prev()?;
        if cursor.valid() { Ok(()) } else { self.enter_last(self.tables.before(self.place)) }
    }

    #[inline(always)]
    fn valid(&self) -> bool {
        self.cursor.as_ref().is_some_and(TableCursor::valid)
    }

    #[inline(always)]
    fn key(&self) -> &[u8] {
        self.cursor.as_ref().map_or(&[], TableCursor::key)
    }

    #[inline(always)]
    fn tag(&self) -> Tag {
        self.cursor.as_ref().map_or(Tag(0), TableCursor::tag)
    }

    #[inline(always)]
    fn value(&self) -> &[u8] {
        self.cursor.as_ref().map_or(&[], TableCursor::value)
    }

    #[inline(always)]
    fn current(&self) -> Option<(&[u8], Tag, &[u8])> {
        self.cursor.as_ref()?.current()
    }
}
