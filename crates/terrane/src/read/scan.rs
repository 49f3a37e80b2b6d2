//! Scans: the live keys of a range, in either direction.

use crate::entry::Millis;
use crate::error::Result;
use crate::version::SuperVersion;
use std::iter::FusedIterator;
use std::sync::Arc;
use terrane_table::read::MvccCursor;

/// An iterator over the keys and values of a range, as they were when it started; see
/// [`Keyspace::scan`](crate::Keyspace::scan).
///
/// It is double-ended: `scan.rev()` is in descending order. Each row is a copy; a [`Cursor`]
/// lends its rows instead. After an error the scan is over.
///
/// A scan pins the files that it reads: drop it when done.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// use terrane::{Db, Durability, Options, KeyRange};
///
/// # let path = dir.path().join("notes");
/// let db = Db::open(path, Options::default())?;
/// let notes = db.default_keyspace();
/// for key in ["2025-12", "2026-01", "2026-02"] {
///     notes.put(key, "text", Durability::Buffered)?;
/// }
///
/// for row in notes.scan(KeyRange::prefix("2026"))? {
///     let (key, value) = row?;
///     println!("{} has {} bytes", String::from_utf8_lossy(&key), value.len());
/// }
///
/// let last = notes.scan(.."2026")?.next_back().transpose()?;
/// assert_eq!(last, Some((b"2025-12".to_vec(), b"text".to_vec())));
/// # Ok(())
/// # }
/// ```
pub struct Scan {
    cursor: Cursor,
    /// Whether the last row was taken from the end.
    from_end: bool,
}

impl Scan {
    pub(crate) fn new(cursor: Cursor) -> Self {
        Scan { cursor, from_end: false }
    }

    fn turn(&mut self, from_end: bool) {
        if self.from_end != from_end {
            self.from_end = from_end;
            self.cursor.mvcc_cursor.narrow();
        }
    }
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.turn(false);
        to_owned(self.cursor.next())
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.turn(true);
        to_owned(self.cursor.prev())
    }
}

impl FusedIterator for Scan {}

fn to_owned(row: Result<Option<(&[u8], &[u8])>>) -> Option<Result<(Vec<u8>, Vec<u8>)>> {
    let row = row.transpose()?;
    Some(row.map(|(key, value)| (key.to_vec(), value.to_vec())))
}

/// A cursor over the keys and values of a range, as they were when it was opened; see
/// [`Keyspace::cursor`](crate::Keyspace::cursor).
///
/// It moves both ways and to any key, and lends each row until its next move, so that nothing is
/// copied. [`Scan`] is an iterator over the same rows.
///
/// A cursor pins the files that it reads: drop it when done.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes");
/// # use terrane::{Db, Durability, Options};
/// # let db = Db::open(path, Options::default())?;
/// let notes = db.default_keyspace();
/// for key in ["a", "c", "e"] {
///     notes.put(key, "text", Durability::Buffered)?;
/// }
///
/// let mut cursor = notes.cursor(..)?;
/// cursor.seek("b");
/// assert_eq!(cursor.next()?, Some((&b"c"[..], &b"text"[..])));
/// assert_eq!(cursor.prev()?, Some((&b"a"[..], &b"text"[..])));
///
/// let mut bytes = 0;
/// let mut cursor = notes.cursor(.."e")?;
/// while let Some((key, value)) = cursor.next()? {
///     bytes += key.len() + value.len();
/// }
/// assert_eq!(bytes, 10);
/// # Ok(())
/// # }
/// ```
pub struct Cursor {
    mvcc_cursor: MvccCursor,
    /// Keeps the tables' files alive; after `mvcc_cursor`, so that it drops last.
    _view: Arc<SuperVersion>,
}

impl Cursor {
    pub(crate) fn new(mvcc_cursor: MvccCursor, super_version: Arc<SuperVersion>) -> Self {
        Cursor { mvcc_cursor, _view: super_version }
    }

    /// Moves to a key, which need not exist: [`Cursor::next`] then returns the first row at or above
    /// it, [`Cursor::prev`] the last at or below it, both in the range. A cursor that was at its end
    /// continues.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.mvcc_cursor.seek(key.as_ref());
    }

    /// Sets whether a step fails, with [`WouldRead`](crate::ErrorKind::WouldRead), rather than read a file: only rows
    /// in memtables and in the block cache are found then, and nothing is waited for. The first step, and one after a
    /// seek, can be tried again; otherwise the cursor is at its end then, and a seek to the last row's key continues.
    pub fn set_only_cached(&mut self, only_cached: bool) {
        self.mvcc_cursor.set_only_cached(only_cached);
    }

    /// Moves to the next row in key order and returns its key and value; `None` at the end of the
    /// range, and from then on. The first call starts at the range's start.
    ///
    /// # Errors
    /// Damage or an I/O error; the cursor is at its end then.
    #[allow(clippy::should_implement_trait)] // lends from itself, which Iterator cannot
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.mvcc_cursor.next()
    }

    /// Returns the time at which the value of the row returned last expires, in milliseconds since the epoch; `None` if
    /// it does not.
    #[must_use]
    pub fn expires_at(&self) -> Option<Millis> {
        self.mvcc_cursor.expires_at()
    }

    /// Moves to the row before in key order and returns its key and value; `None` at the start of the
    /// range, and from then on. The first call starts at the range's end.
    ///
    /// # Errors
    /// Damage or an I/O error; the cursor is at its end then.
    #[inline]
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.mvcc_cursor.prev()
    }
}

#[cfg(test)]
mod tests;
