//! A cursor over a memtable.

use super::Memtable;
use super::node::{Node, Slot};
use super::stored::{Header, Stored, Target};
use super::tree::Position;
use crate::cursor::Cursor;
use crate::entry::{Seq, Tag};
use crate::error::Result;
use std::ptr::NonNull;
use std::sync::Arc;

/// A position in a memtable, which the cursor keeps alive. A step forward follows a link, but for the
/// last in a leaf; that and a step back are searches from the root.
pub struct MemtableCursor {
    table: Arc<Memtable>,
    /// Position in the memtable.
    at: Option<(NonNull<Node>, Slot, NonNull<Header>)>,
}

// SAFETY: `at` leads into the table, which may be shared between threads and which the cursor keeps.
unsafe impl Send for MemtableCursor {}

impl MemtableCursor {
    pub(super) fn new(table: Arc<Memtable>) -> Self {
        MemtableCursor { table, at: None }
    }

    /// Whether all entries are older than `seq`.
    pub(crate) fn is_older(&self, seq: Seq) -> bool {
        self.table.last_seq().is_some_and(|last| last < seq)
    }

    /// Leaves the cursor without a position.
    pub(crate) fn invalidate(&mut self) {
        self.at = None;
    }

    #[inline]
    fn position(&self) -> Option<Position<'_>> {
        let (leaf, slot, entry) = self.at?;
        // SAFETY: `at` is only set from positions in this table.
        unsafe { Some(Position { leaf: leaf.as_ref(), slot, entry: Stored::new(entry) }) }
    }

    #[inline]
    fn entry(&self) -> Option<Stored<'_>> {
        // SAFETY: as above.
        self.at.map(|(.., entry)| unsafe { Stored::new(entry) })
    }
}

/// Returns the parts of a position that a cursor keeps.
fn kept(at: Position<'_>) -> (NonNull<Node>, Slot, NonNull<Header>) {
    (at.leaf.into(), at.slot, at.entry.address())
}

impl Cursor for MemtableCursor {
    fn seek_first(&mut self) -> Result<()> {
        self.at = self.table.tree.first().map(kept);
        Ok(())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.at = self.table.tree.last().map(kept);
        Ok(())
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.at = self.table.tree.at_or_after(Target { key, seq: tag.seq() }).map(kept);
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.at = self.table.tree.before(Target { key, seq: tag.seq() }).map(kept);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.at = self.position().and_then(|at| self.table.tree.next(at)).map(kept);
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        let before = self.entry().and_then(|entry| self.table.tree.before(entry.into()));
        self.at = before.map(kept);
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.entry().map_or(&[], Stored::key)
    }

    #[inline]
    fn tag(&self) -> Tag {
        self.entry().map_or(Tag(0), Stored::tag)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.entry().map_or(&[], Stored::value)
    }
}
