//! Walking a run: tables with disjoint key ranges, in key order.
//!
//! All versions of a user key lie in one table, so binary search over the tables' ranges finds the
//! one table that a search begins in.

use super::cursor::{Access, TableCursor};
use super::reader::Table;
use crate::entry::Tag;
use crate::error::Result;
use crate::read::Cursor;
use std::sync::Arc;

/// A position in a run. Only the table that it stands in has a cursor.
pub struct RunCursor {
    tables: Arc<[Arc<Table>]>,
    access: Access,
    /// The place of a table among `tables`, and the cursor in it.
    current: Option<(usize, TableCursor)>,
}

impl RunCursor {
    /// A cursor over `tables`, which are disjoint and in key order.
    #[must_use]
    pub fn new(tables: Arc<[Arc<Table>]>, access: Access) -> Self {
        RunCursor { tables, access, current: None }
    }

    /// The cursor of the table at `place`; none outside the run.
    fn enter(&mut self, place: Option<usize>) -> Option<&mut TableCursor> {
        let left = self.current.take();
        let place = place.filter(|&place| place < self.tables.len())?;
        let cursor = match left {
            Some((at, cursor)) if at == place => cursor,
            _ => self.tables.get(place)?.cursor(self.access),
        };
        Some(&mut self.current.insert((place, cursor)).1)
    }

    /// To the first entry of the table at `place`.
    fn enter_first(&mut self, place: Option<usize>) -> Result<()> {
        self.enter(place).map_or(Ok(()), TableCursor::seek_first)
    }

    /// To the last entry of the table at `place`.
    fn enter_last(&mut self, place: Option<usize>) -> Result<()> {
        self.enter(place).map_or(Ok(()), TableCursor::seek_last)
    }
}

impl Cursor for RunCursor {
    fn seek_first(&mut self) -> Result<()> {
        self.enter_first(Some(0))
    }

    fn seek_last(&mut self) -> Result<()> {
        self.enter_last(self.tables.len().checked_sub(1))
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let place = self.tables.partition_point(|table| table.info().largest.as_slice() < key);
        let Some(cursor) = self.enter(Some(place)) else { return Ok(()) };
        cursor.seek(key, tag)?;
        if cursor.valid() { Ok(()) } else { self.enter_first(Some(place + 1)) }
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        let after = self.tables.partition_point(|table| table.info().smallest.as_slice() <= key);
        let place = after.checked_sub(1);
        let Some(cursor) = self.enter(place) else { return Ok(()) };
        cursor.seek_before(key, tag)?;
        if cursor.valid() { Ok(()) } else { self.enter_last(after.checked_sub(2)) }
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some((place, cursor)) = &mut self.current else { return Ok(()) };
        if !cursor.valid() {
            return Ok(());
        }
        cursor.next()?;
        let next = *place + 1;
        if cursor.valid() { Ok(()) } else { self.enter_first(Some(next)) }
    }

    fn prev(&mut self) -> Result<()> {
        let Some((place, cursor)) = &mut self.current else { return Ok(()) };
        if !cursor.valid() {
            return Ok(());
        }
        cursor.prev()?;
        let before = place.checked_sub(1);
        if cursor.valid() { Ok(()) } else { self.enter_last(before) }
    }

    #[inline]
    fn valid(&self) -> bool {
        self.current.as_ref().is_some_and(|(_, cursor)| cursor.valid())
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, cursor)| cursor.key())
    }

    #[inline]
    fn tag(&self) -> Tag {
        self.current.as_ref().map_or(Tag(0), |(_, cursor)| cursor.tag())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, cursor)| cursor.value())
    }
}
