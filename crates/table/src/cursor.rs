//! The cursor interface that memtables, tables, runs and merges share.

use crate::entry::Tag;
use crate::error::Result;

/// A position in a sorted sequence of entries (user key ascending, tag descending).
///
/// A new cursor is not positioned. While it is not `valid`, `key` and `value` are empty and `tag` is
/// zero. An error leaves the cursor not valid.
///
/// Implementations inline `valid`, `key`, `tag` and `value` always: merges ask for them several times
/// an entry, and a module that is compiled for size has calls otherwise, one for each layer.
pub trait Cursor: Send {
    /// Moves to the first entry.
    fn seek_first(&mut self) -> Result<()>;
    /// Moves to the last entry.
    fn seek_last(&mut self) -> Result<()>;
    /// Moves to the first entry at or after (`key`, `tag`).
    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()>;
    /// Moves to the last entry before (`key`, `tag`).
    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()>;
    /// Moves to the next entry; past the last one the cursor is not valid.
    fn next(&mut self) -> Result<()>;
    /// Moves to the previous entry; before the first one the cursor is not valid.
    fn prev(&mut self) -> Result<()>;
    /// Whether the cursor is on an entry.
    fn valid(&self) -> bool;
    /// The user key.
    fn key(&self) -> &[u8];
    /// The sequence number and kind.
    fn tag(&self) -> Tag;
    /// The value; empty for a tombstone.
    fn value(&self) -> &[u8];
    /// The key, the tag and the value; `None` while the cursor is not valid.
    #[inline(always)]
    fn current(&self) -> Option<(&[u8], Tag, &[u8])> {
        self.valid().then(|| (self.key(), self.tag(), self.value()))
    }
}
