//! The interface that memtables, tables and merges share.

use crate::entry::Tag;
use crate::error::Result;

/// A position in a sorted sequence of entries (user key ascending, tag descending).
///
/// A new cursor is not positioned. `key`, `tag` and `value` may be called only while `valid`; they
/// return empty slices and the zero tag otherwise. After an error the cursor is not valid.
pub trait Cursor: Send {
    /// To the first entry.
    fn seek_first(&mut self) -> Result<()>;
    /// To the last entry.
    fn seek_last(&mut self) -> Result<()>;
    /// To the first entry at or after (`key`, `tag`).
    fn seek(&mut self, key: &[u8], tag: Tag) -> Result<()>;
    /// To the last entry before (`key`, `tag`).
    fn seek_before(&mut self, key: &[u8], tag: Tag) -> Result<()>;
    /// To the next entry; past the last the cursor is not valid.
    fn next(&mut self) -> Result<()>;
    /// To the entry before; before the first the cursor is not valid.
    fn prev(&mut self) -> Result<()>;
    /// Whether the cursor stands on an entry.
    fn valid(&self) -> bool;
    /// The user key.
    fn key(&self) -> &[u8];
    /// Sequence and kind.
    fn tag(&self) -> Tag;
    /// The value; empty for a tombstone.
    fn value(&self) -> &[u8];
}
