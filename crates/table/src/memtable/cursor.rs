//! A cursor over a memtable.

use super::Memtable;
use super::skiplist::{Header, Node};
use crate::cursor::Cursor;
use crate::entry::Tag;
use crate::error::Result;
use std::ptr::NonNull;
use std::sync::Arc;

/// A position in a memtable, which the cursor keeps alive. A step forward follows a link; a step
/// back is a search from the head.
pub struct MemtableCursor {
    table: Arc<Memtable>,
    /// A node of the memtable.
    at: Option<NonNull<Header>>,
}

// SAFETY: `at` leads into the table, which may be shared between threads and which the cursor keeps.
unsafe impl Send for MemtableCursor {}

impl MemtableCursor {
    pub(super) fn new(table: Arc<Memtable>) -> Self {
        MemtableCursor { table, at: None }
    }

    #[inline]
    fn node(&self) -> Option<Node<'_>> {
        // SAFETY: `at` is only set from nodes of this table.
        self.at.map(|at| unsafe { self.table.list.node(at) })
    }
}

impl Cursor for MemtableCursor {
    fn seek_first(&mut self) -> Result<()> {
        self.at = self.table.list.first().map(Node::address);
        Ok(())
    }

    fn seek_last(&mut self) -> Result<()> {
        self.at = self.table.list.last().map(Node::address);
        Ok(())
    }

    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.at = self.table.list.at_or_after(key, tag).map(Node::address);
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()> {
        self.at = self.table.list.before(key, tag).map(Node::address);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.at = self.node().and_then(Node::next).map(Node::address);
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        let before = self.node().and_then(|n| self.table.list.before(n.key(), n.tag()));
        self.at = before.map(Node::address);
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.node().map_or(&[], Node::key)
    }

    #[inline]
    fn tag(&self) -> Tag {
        self.node().map_or(Tag(0), Node::tag)
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.node().map_or(&[], Node::value)
    }
}
