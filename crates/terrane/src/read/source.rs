//! The two kinds of sorted sequence that a read merges, without a virtual call.

use super::Cursor;
use crate::entry::Tag;
use crate::error::Result;
use crate::memtable::MemtableCursor;
use crate::table::RunCursor;

/// A memtable or a sorted run.
pub(crate) enum Source {
    /// Entries in memory.
    Memtable(MemtableCursor),
    /// Entries in tables. Boxed: it carries block state.
    Run(Box<RunCursor>),
}

macro_rules! each {
    ($self:expr, $cursor:ident => $call:expr) => {
        match $self {
            Source::Memtable($cursor) => $call,
            Source::Run($cursor) => $call,
        }
    };
}

impl Cursor for Source {
    fn seek_first(&mut self) -> Result<()> {
        each!(self, c => c.seek_first())
    }
    fn seek_last(&mut self) -> Result<()> {
        each!(self, c => c.seek_last())
    }
    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        each!(self, c => c.seek(key, tag))
    }
    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        each!(self, c => c.seek_before(key, tag))
    }
    fn next(&mut self) -> Result<()> {
        each!(self, c => c.next())
    }
    fn prev(&mut self) -> Result<()> {
        each!(self, c => c.prev())
    }
    fn valid(&self) -> bool {
        each!(self, c => c.valid())
    }
    fn key(&self) -> &[u8] {
        each!(self, c => c.key())
    }
    fn tag(&self) -> Tag {
        each!(self, c => c.tag())
    }
    fn value(&self) -> &[u8] {
        each!(self, c => c.value())
    }
}
