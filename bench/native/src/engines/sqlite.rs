//! SQLite: a table `WITHOUT ROWID`, a log, prepared statements, a connection for each thread. The cache has
//! the memory of the others' cache and memtable.

use crate::engine::{Durability, Engine, Settings};
use anyhow::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use terrane_measure::Session;

const PUT: &str = "INSERT OR REPLACE INTO rows VALUES (?1, ?2)";
const DELETE: &str = "DELETE FROM rows WHERE key = ?1";
const GET: &str = "SELECT value FROM rows WHERE key = ?1";
const SCAN: &str = "SELECT key, value FROM rows WHERE key >= ?1 ORDER BY key LIMIT ?2";

struct Store {
    path: PathBuf,
    durability: Durability,
    cache_bytes: u64,
    first: Mutex<Connection>,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    std::fs::create_dir_all(settings.path)?;
    let path = settings.path.join("rows.sqlite");
    let cache_bytes = settings.cache_bytes + settings.memtable_bytes;
    let first = connect(&path, settings.durability, cache_bytes)?;
    let table = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID";
    first.execute_batch(table)?;
    let first = Mutex::new(first);
    Ok(Box::new(Store { path, durability: settings.durability, cache_bytes, first }))
}

fn connect(path: &PathBuf, durability: Durability, cache_bytes: u64) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    let synchronous = match durability {
        Durability::Buffered => "NORMAL",
        Durability::Durable => "FULL",
    };
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Negative: in KiB.
    connection.pragma_update(None, "cache_size", -i64::try_from(cache_bytes >> 10)?)?;
    Ok(connection)
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        Ok(Box::new(Thread(connect(&self.path, self.durability, self.cache_bytes)?)))
    }

    fn settle(&self) -> Result<()> {
        let connection = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.settle()
    }
}

/// A thread's connection.
struct Thread(Connection);

impl Session<Error> for Thread {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.prepare_cached(PUT)?.execute(params![key, value])?;
        Ok(())
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let transaction = self.0.transaction()?;
        for (key, value) in rows {
            transaction.prepare_cached(PUT)?.execute(params![key, value])?;
        }
        Ok(transaction.commit()?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.prepare_cached(DELETE)?.execute(params![key])?;
        Ok(())
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let mut statement = self.0.prepare_cached(GET)?;
        let row = statement.query_row(params![key], |row| {
            found(row.get_ref(0)?.as_blob()?);
            Ok(())
        });
        Ok(row.optional()?.is_some())
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut statement = self.0.prepare_cached(SCAN)?;
        let mut found = statement.query(params![key, i64::try_from(rows)?])?;
        let mut count = 0;
        while let Some(row) = found.next()? {
            each(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            count += 1;
        }
        Ok(count)
    }
}
