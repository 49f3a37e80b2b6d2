//! Questions about single rows: whether a key is there, and which row is the first or the last of a range.

use crate::db::{Keyspace, Snapshot};
use crate::error::Result;
use terrane_table::read::KeyRange;

impl Keyspace {
    /// Returns `true` if the key has a value. Its filter answers for most keys that have none.
    ///
    /// # Errors
    /// The errors of [`Keyspace::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get_with(key, |_| ())?.is_some())
    }

    /// Returns the first row of a range: its key and its value.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # use terrane::{Db, Durability, Options, KeyRange};
    /// # let db = Db::open(dir.path().join("notes"), Options::default())?;
    /// let notes = db.default_keyspace();
    /// for key in ["2025-12", "2026-01", "2026-02"] {
    ///     notes.put(key, "text", Durability::Buffered)?;
    /// }
    /// let (oldest, _) = notes.first(..)?.expect("there are three");
    /// assert_eq!(oldest, b"2025-12");
    /// let (newest, _) = notes.last(KeyRange::prefix("2026"))?.expect("there are two of 2026");
    /// assert_eq!(newest, b"2026-02");
    /// assert!(notes.is_empty("2027"..)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub fn first(&self, range: impl Into<KeyRange>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.scan(range)?.next().transpose()
    }

    /// Returns the last row of a range: its key and its value.
    ///
    /// # Errors
    /// The errors of [`Keyspace::first`].
    pub fn last(&self, range: impl Into<KeyRange>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.scan(range)?.next_back().transpose()
    }

    /// Returns `true` if no key of a range has a value.
    ///
    /// # Errors
    /// The errors of [`Keyspace::first`].
    pub fn is_empty(&self, range: impl Into<KeyRange>) -> Result<bool> {
        Ok(self.cursor(range)?.next()?.is_none())
    }
}

impl Snapshot {
    /// Returns `true` if a key had a value.
    ///
    /// # Errors
    /// The errors of [`Snapshot::get`].
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.getting(keyspace)?.with(key.as_ref(), |_| ())?.is_some())
    }

    /// Returns the first row that a range had: its key and its value.
    ///
    /// # Errors
    /// The errors of [`Snapshot::scan`], damage, or an I/O error.
    pub fn first(
        &self,
        keyspace: &Keyspace,
        range: impl Into<KeyRange>,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.scan(keyspace, range)?.next().transpose()
    }

    /// Returns the last row that a range had: its key and its value.
    ///
    /// # Errors
    /// The errors of [`Snapshot::first`].
    pub fn last(
        &self,
        keyspace: &Keyspace,
        range: impl Into<KeyRange>,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.scan(keyspace, range)?.next_back().transpose()
    }

    /// Returns `true` if no key of a range had a value.
    ///
    /// # Errors
    /// The errors of [`Snapshot::first`].
    pub fn is_empty(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Result<bool> {
        Ok(self.cursor(keyspace, range)?.next()?.is_none())
    }
}

#[cfg(test)]
mod tests {
    use crate::executor::SliceExecutor;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Durability, Error, ErrorKind, Keyspace, Options};
    use std::sync::Arc;

    /// A store with the keys 1, 3 and 5; 3 is in a table, and 7 was deleted.
    fn store() -> (Db, Keyspace) {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let keyspace = db.default_keyspace();
        let put = |key: u8| keyspace.put([key], [key; 3], Durability::Buffered).unwrap();
        put(3);
        put(7);
        db.flush().unwrap();
        put(1);
        put(5);
        keyspace.delete([7], Durability::Buffered).unwrap();
        (db, keyspace)
    }

    #[test]
    fn a_key_is_there_until_it_is_deleted() {
        let (db, keyspace) = store();
        let snapshot = db.snapshot();
        keyspace.delete([1], Durability::Buffered).unwrap();
        let there = [0, 1, 3, 5, 7].map(|key: u8| {
            (
                keyspace.contains_key([key]).unwrap(),
                snapshot.contains_key(&keyspace, [key]).unwrap(),
            )
        });
        assert_eq!(
            there,
            [(false, false), (false, true), (true, true), (true, true), (false, false)]
        );
    }

    #[test]
    fn the_first_and_last_rows_of_a_range_are_found() {
        let (db, keyspace) = store();
        let snapshot = db.snapshot();
        keyspace.delete([5], Durability::Buffered).unwrap();
        let row = |key: u8| Some((vec![key], vec![key; 3]));
        assert_eq!((keyspace.first(..).unwrap(), keyspace.last(..).unwrap()), (row(1), row(3)));
        assert_eq!(keyspace.first([2]..).unwrap(), row(3));
        assert_eq!(keyspace.last(..[3]).unwrap(), row(1));
        assert_eq!((keyspace.first([4]..).unwrap(), keyspace.last(..[1]).unwrap()), (None, None));
        assert_eq!(snapshot.first(&keyspace, [4]..).unwrap(), row(5));
        assert_eq!(snapshot.last(&keyspace, ..).unwrap(), row(5));
    }

    #[test]
    fn a_range_of_deleted_keys_is_empty() {
        let (db, keyspace) = store();
        assert!(!keyspace.is_empty(..).unwrap() && keyspace.is_empty([6]..).unwrap());
        let snapshot = db.snapshot();
        for key in [1, 3, 5] {
            keyspace.delete([key], Durability::Buffered).unwrap();
        }
        assert!(keyspace.is_empty(..).unwrap() && !snapshot.is_empty(&keyspace, ..).unwrap());
    }

    #[test]
    fn a_dropped_keyspace_has_no_rows_to_ask_about() {
        let (db, _) = store();
        let other = db.create_keyspace("other").unwrap();
        db.drop_keyspace("other").unwrap();
        let is_closed = |e: Error| matches!(e.into_kind(), ErrorKind::Closed(_));
        assert!(other.contains_key("key").is_err_and(is_closed));
        assert!(other.first(..).is_err_and(is_closed));
        assert!(other.is_empty(..).is_err_and(is_closed));
    }
}
