//! The two kinds of sorted sequence that a read merges, without a virtual call.

use super::{Cursor, ReadTracer};
use crate::entry::Tag;
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::table::RunCursor;

/// A memtable or a sorted run.
pub enum Source {
    /// Entries in memory, and who is told what is done with them.
    Memtable(MemtableCursor, ReadTracer),
    /// Entries in tables. Boxed: it carries block state.
    Run(Box<RunCursor>),
}

impl Source {
    /// Who is told what the cursor does; nobody where a run has no table.
    pub fn into_tracer(self) -> Option<ReadTracer> {
        match self {
            Source::Memtable(_, tracer) => Some(tracer),
            Source::Run(cursor) => cursor.into_tracer(),
        }
    }

    /// Tells where a search came to.
    fn stands(&mut self) {
        match self {
            Source::Memtable(cursor, tracer) => {
                tracer.stands(cursor.valid().then(|| cursor.key()));
            }
            Source::Run(cursor) => cursor.stands(),
        }
    }
}

macro_rules! each {
    ($self:expr, $cursor:ident => $call:expr) => {
        match $self {
            Source::Memtable($cursor, _) => $call,
            Source::Run($cursor) => $call,
        }
    };
}

impl Cursor for Source {
    fn seek_first(&mut self) -> Result<()> {
        each!(self, c => c.seek_first())?;
        self.stands();
        Ok(())
    }
    fn seek_last(&mut self) -> Result<()> {
        each!(self, c => c.seek_last())?;
        self.stands();
        Ok(())
    }
    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        each!(self, c => c.seek(key, tag))?;
        self.stands();
        Ok(())
    }
    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        each!(self, c => c.seek_before(key, tag))?;
        self.stands();
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
    #[inline]
    fn valid(&self) -> bool {
        each!(self, c => c.valid())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        each!(self, c => c.key())
    }
    #[inline]
    fn tag(&self) -> Tag {
        each!(self, c => c.tag())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        each!(self, c => c.value())
    }
}
