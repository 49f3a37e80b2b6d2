//! The two kinds of sorted sequence that a read merges, as an enum to spare virtual calls.

use crate::cursor::Cursor;
use crate::entry::{MAX_SEQ, Seq, Tag};
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::table::RunCursor;
use crate::trace::ReadTracer;

/// A cursor over a memtable or a sorted run.
#[allow(clippy::large_enum_variant)] // sources stay where a merge has put them, and few are memtables
pub enum Source {
    /// A memtable, with a tracer of its reads.
    Memtable(MemtableCursor, ReadTracer),
    /// A run of tables.
    Run(RunCursor),
}

macro_rules! each {
    ($self:expr, $cursor:ident => $call:expr) => {
        match $self {
            Source::Memtable($cursor, _) => $call,
            Source::Run($cursor) => $call,
        }
    };
}

impl Source {
    /// Its tracer; `None` if it is an empty run.
    pub fn tracer(&self) -> Option<&ReadTracer> {
        match self {
            Source::Memtable(_, tracer) => Some(tracer),
            Source::Run(cursor) => cursor.tracer(),
        }
    }

    /// Ends the cursor and returns its tracer; `None` if it is an empty run.
    pub fn into_tracer(self) -> Option<ReadTracer> {
        match self {
            Source::Memtable(_, tracer) => Some(tracer),
            Source::Run(cursor) => cursor.into_tracer(),
        }
    }

    /// Moves to the next entry, if it lies in the same block of a table, and returns whether its key is another.
    /// `None`, and no move, otherwise.
    #[inline(always)]
    pub(super) fn next_within(&mut self) -> Result<Option<bool>> {
        match self {
            Source::Memtable(..) => Ok(None),
            Source::Run(cursor) => cursor.next_within(),
        }
    }

    /// Moves to the next entry, if it lies in the same block of a table and is short, and returns whether its key is
    /// another. `None`, and no move, otherwise.
    #[inline(always)]
    pub(super) fn next_short(&mut self) -> Option<bool> {
        match self {
            Source::Memtable(..) => None,
            Source::Run(cursor) => cursor.next_short(),
        }
    }

    /// Sets whether a step fails rather than read a file.
    pub(super) fn set_only_cached(&mut self, only_cached: bool) {
        if let Source::Run(cursor) = self {
            cursor.set_only_cached(only_cached);
        }
    }

    /// Moves to the first entry at or after `to`, or to none, past entries that are all older than `seq`; returns
    /// whether it moved. It is on an entry before `to`.
    pub(super) fn skip(&mut self, to: Option<&[u8]>, seq: Seq) -> Result<bool> {
        match (self, to) {
            (Source::Run(cursor), to) => return cursor.skip(to, seq),
            (Source::Memtable(cursor, _), _) if !cursor.is_older(seq) => return Ok(false),
            (Source::Memtable(cursor, _), Some(to)) => cursor.seek(to, Tag::at(MAX_SEQ))?,
            (Source::Memtable(cursor, _), None) => cursor.invalidate(),
        }
        Ok(true)
    }

    /// Skips backward: moves to the last entry before `from`, which is on or before the entry.
    pub(super) fn skip_back(&mut self, from: &[u8], seq: Seq) -> Result<bool> {
        match self {
            Source::Run(cursor) => return cursor.skip_back(from, seq),
            Source::Memtable(cursor, _) if !cursor.is_older(seq) => return Ok(false),
            Source::Memtable(cursor, _) => cursor.seek_before(from, Tag(u64::MAX))?,
        }
        Ok(true)
    }

    /// Moves to the first entry behind all versions of a key.
    #[cold]
    pub(super) fn seek_behind(&mut self, key: &[u8]) -> Result<()> {
        // No entry has tag 0, since sequences start at 1.
        each!(self, cursor => cursor.seek(key, Tag(0)))
    }

    /// Takes the first of three steps of a seek. All sources ask for memory in one step, and read it in the next.
    pub(super) fn aim(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        match self {
            Source::Memtable(..) => Ok(()),
            Source::Run(cursor) => cursor.aim(key, tag),
        }
    }

    /// Takes the second step of a seek.
    pub(super) fn approach(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Source::Memtable(..) => Ok(()),
            Source::Run(cursor) => cursor.approach(key),
        }
    }

    /// Takes the last step of a seek.
    pub(super) fn land(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        match self {
            Source::Memtable(cursor, _) => cursor.seek(key, tag),
            Source::Run(cursor) => cursor.land(key, tag),
        }?;
        self.trace_position();
        Ok(())
    }

    /// Traces where a seek ended.
    fn trace_position(&mut self) {
        match self {
            Source::Memtable(cursor, tracer) => {
                tracer.positioned(cursor.valid().then(|| cursor.key()));
            }
            Source::Run(cursor) => cursor.trace_position(),
        }
    }
}

impl Cursor for Source {
    fn seek_first(&mut self) -> Result<()> {
        each!(self, c => c.seek_first())?;
        self.trace_position();
        Ok(())
    }
    fn seek_last(&mut self) -> Result<()> {
        each!(self, c => c.seek_last())?;
        self.trace_position();
        Ok(())
    }
    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        each!(self, c => c.seek(key, tag))?;
        self.trace_position();
        Ok(())
    }
    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        each!(self, c => c.seek_before(key, tag))?;
        self.trace_position();
        Ok(())
    }
    #[inline]
    fn next(&mut self) -> Result<()> {
        each!(self, c => c.next())
    }
    #[inline]
    fn prev(&mut self) -> Result<()> {
        each!(self, c => c.prev())
    }
    #[inline(always)]
    fn valid(&self) -> bool {
        each!(self, c => c.valid())
    }
    #[inline(always)]
    fn key(&self) -> &[u8] {
        each!(self, c => c.key())
    }
    #[inline(always)]
    fn tag(&self) -> Tag {
        each!(self, c => c.tag())
    }
    #[inline(always)]
    fn value(&self) -> &[u8] {
        each!(self, c => c.value())
    }
    #[inline(always)]
    fn current(&self) -> Option<(&[u8], Tag, &[u8])> {
        each!(self, c => c.current())
    }
}
