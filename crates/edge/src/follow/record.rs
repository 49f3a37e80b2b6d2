//! The record of a replica's source, in a reserved keyspace of its store: the source's address, and the cursor of the
//! rows, if they have one.

use crate::Error;
use crate::rules::Rule;
use terrane::{Db, Durability, FeedCursor, Keyspace, Result, WriteBatch};

/// The reserved keyspace.
const NAME: &str = "replica";
const SOURCE: &str = "source";
const CURSOR: &str = "cursor";

/// The record of a store.
#[derive(Clone)]
pub(super) struct Record(Keyspace);

impl Record {
    /// Returns the record of a store, which is created if there is none.
    pub fn of(db: &Db) -> Result<Self> {
        let keyspace = db.reserved_keyspace(NAME, true)?;
        Ok(Record(keyspace.ok_or(terrane::Closed::Keyspace)?))
    }

    /// Returns the cursor of the rows; `None` if there is none, or if it is one of another source.
    pub fn cursor(&self, source: &str) -> Result<Option<FeedCursor>> {
        if self.0.get(SOURCE)?.is_none_or(|of| of != source.as_bytes()) {
            return Ok(None);
        }
        let cursor = self.0.get(CURSOR)?;
        Ok(cursor.and_then(|cursor| std::str::from_utf8(&cursor).ok()?.parse().ok()))
    }

    /// Adds the cursor after a batch to the batch.
    pub fn put_cursor(&self, batch: &mut WriteBatch, cursor: FeedCursor) -> Result<()> {
        batch.put(&self.0, CURSOR, cursor.to_string())
    }

    /// Deletes the cursor, before the rows stop fitting it.
    pub fn forget_cursor(&self) -> Result<()> {
        if !Rule::ForgetFirst.holds() {
            return Ok(());
        }
        self.0.delete(CURSOR, Durability::Sync).map(drop)
    }

    /// Notes the source of rows that have no cursor yet.
    pub fn start(&self, source: &str) -> Result<()> {
        self.forget_cursor()?;
        self.0.put(SOURCE, source, Durability::Sync).map(drop)
    }
}

/// Returns the source of a store that is a replica.
///
/// # Errors
/// A closed store, damage, or an I/O error.
pub fn is_replica(db: &Db) -> Result<Option<String>> {
    let Some(keyspace) = db.reserved_keyspace(NAME, false)? else { return Ok(None) };
    let source = keyspace.get(SOURCE)?;
    Ok(source.map(|source| String::from_utf8_lossy(&source).into_owned()))
}

/// Turns a replica into a store of its own, with a lineage of its own. Returns whether it was a replica.
///
/// # Errors
/// A replica that has not loaded a snapshot as a whole; a closed store, or an I/O error.
pub fn promote(db: &Db) -> std::result::Result<bool, Error> {
    let Some(source) = is_replica(db)? else { return Ok(false) };
    let record = Record::of(db)?;
    if record.0.get(CURSOR)?.is_none() {
        return Err(Error::Malformed {
            place: "--promote".to_owned(),
            sentence: format!(
                "expected a complete replica of {source}, found one whose snapshot did not arrive completely"
            ),
        });
    }
    db.begin_lineage()?;
    record.0.delete_range(.., Durability::Sync)?;
    Ok(true)
}
