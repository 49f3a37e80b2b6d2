//! LMDB through heed: a transaction for each put. It has no memory of its own: the page cache serves it.

use crate::engine::{Durability, Engine, Settings};
use anyhow::{Error, Result};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};
use terrane_measure::Session;

/// The address space that the file may fill.
const MAP_BYTES: usize = 1 << 38;

struct Store {
    env: Env,
    rows: Database<Bytes, Bytes>,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    std::fs::create_dir_all(settings.path)?;
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    if settings.durability == Durability::Buffered {
        // SAFETY: without syncs a crash of the machine may damage the file; no run outlives one.
        unsafe { options.flags(EnvFlags::NO_SYNC) };
    }
    // SAFETY: nothing else maps or changes the file.
    let env = unsafe { options.open(settings.path)? };
    let mut transaction = env.write_txn()?;
    let rows = env.create_database(&mut transaction, None)?;
    transaction.commit()?;
    Ok(Box::new(Store { env, rows }))
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        Ok(Box::new(self))
    }

    fn settle(&self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.settle()?;
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

impl Session<Error> for &Store {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        self.rows.put(&mut transaction, key, value)?;
        Ok(transaction.commit()?)
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in rows {
            self.rows.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        self.rows.delete(&mut transaction, key)?;
        Ok(transaction.commit()?)
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let transaction = self.env.read_txn()?;
        let value = self.rows.get(&transaction, key)?;
        Ok(value.is_some_and(|value| {
            found(value);
            true
        }))
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let transaction = self.env.read_txn()?;
        let mut count = 0;
        let from = (std::ops::Bound::Included(key), std::ops::Bound::Unbounded);
        for row in self.rows.range(&transaction, &from)?.take(usize::try_from(rows)?) {
            let (key, value) = row?;
            each(key, value);
            count += 1;
        }
        Ok(count)
    }
}
