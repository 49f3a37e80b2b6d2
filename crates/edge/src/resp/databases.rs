//! Databases by number: 0 is the keyspace `default`, and `n` is `db-n`.
//!
//! A database whose keyspace does not exist is empty. Its first value creates the keyspace.

use crate::shared::Shared;
use std::borrow::Cow;
use std::sync::OnceLock;
use terrane::Result;
use terrane_tokio::{Db, Keyspace};

/// The number of databases.
pub(crate) const DATABASES: usize = 16;

/// The keyspaces of the databases that were selected since the start.
#[derive(Default)]
pub(crate) struct Databases {
    opened: [OnceLock<Keyspace>; DATABASES],
}

impl Databases {
    /// Returns the keyspace of a database, if it was opened.
    pub fn get(&self, database: usize) -> Option<&Keyspace> {
        self.opened.get(database)?.get()
    }

    /// Returns the databases that were opened: their numbers and keyspaces.
    pub fn opened(&self) -> impl Iterator<Item = (usize, &Keyspace)> {
        self.opened.iter().enumerate().filter_map(|(number, slot)| Some((number, slot.get()?)))
    }

    /// Opens a database if its keyspace exists. Returns whether it is open.
    ///
    /// # Errors
    /// A closed store.
    pub async fn open(&self, db: &Db, database: usize) -> Result<bool> {
        let Some(slot) = self.opened.get(database) else { return Ok(false) };
        if slot.get().is_some() {
            return Ok(true);
        }
        let found = match database {
            0 => Some(db.default_keyspace()),
            _ => db.open_keyspace(&name(database)).await?,
        };
        let is_found = found.is_some();
        if let Some(keyspace) = found {
            // Another connection may have opened the same one.
            let _ = slot.set(keyspace);
        }
        Ok(is_found)
    }

    /// Opens a database, and creates its keyspace if there is none.
    ///
    /// # Errors
    /// A closed store, or an I/O error.
    pub async fn create(&self, shared: &Shared, database: usize) -> Result<()> {
        if let Some(slot) = self.opened.get(database)
            && !self.open(&shared.db, database).await?
        {
            // Another connection may have opened the same one.
            let _ = slot.set(shared.create_keyspace(&name(database)).await?);
        }
        Ok(())
    }

    /// Opens the databases whose keyspaces exist.
    ///
    /// # Errors
    /// A closed store.
    pub async fn open_existing(&self, db: &Db) -> Result<()> {
        for database in 0..DATABASES {
            self.open(db, database).await?;
        }
        Ok(())
    }
}

/// Returns the name of a database's keyspace.
pub(crate) fn name(database: usize) -> Cow<'static, str> {
    if database == 0 { "default".into() } else { format!("db-{database}").into() }
}

/// Parses the number of a database.
pub(crate) fn parse(argument: &[u8]) -> Option<usize> {
    let number = super::request::integer(argument)?;
    usize::try_from(number).ok().filter(|number| *number < DATABASES)
}
