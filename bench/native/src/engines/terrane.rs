//! Terrane: its native defaults, but for the sizes of cache and memtables, and the threads where a number is given.

use crate::engine::{self, Engine, Session, Settings};
use anyhow::Result;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};

struct Store {
    db: Db,
    keyspace: Keyspace,
    durability: Durability,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    open_with(settings, Options::default())
}

/// With logs and tables mapped into memory.
pub fn open_mapped(settings: &Settings) -> Result<Box<dyn Engine>> {
    let options = Options::default().allow_mmap_writes(true).allow_mmap_reads(true);
    open_with(settings, options)
}

fn open_with(settings: &Settings, options: Options) -> Result<Box<dyn Engine>> {
    let mut options = options
        .memtable_bytes(settings.memtable_bytes)
        .max_total_wal_bytes(4 * settings.memtable_bytes)
        .cache_bytes(settings.cache_bytes);
    if let Some(workers) = settings.workers {
        options.workers = workers as usize;
    }
    let durability = match settings.durability {
        engine::Durability::Buffered => Durability::Buffered,
        engine::Durability::Durable => Durability::Sync,
    };
    let db = match settings.workers {
        // Writes run the jobs, slice by slice.
        Some(0) => Db::open_with(settings.path, options, Arc::new(SliceExecutor::default()))?,
        _ => Db::open(settings.path, options)?,
    };
    Ok(Box::new(Store { keyspace: db.default_keyspace(), db, durability }))
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self))
    }

    fn settle(&self) -> Result<()> {
        self.db.flush()?;
        Ok(self.db.wait_until_idle()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

impl Session for &Store {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.keyspace.put(key, value, self.durability)?;
        Ok(())
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut batch = WriteBatch::new();
        for (key, value) in rows {
            batch.put(&self.keyspace, key, value)?;
        }
        self.db.write(batch, self.durability)?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.keyspace.delete(key, self.durability)?;
        Ok(())
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.keyspace.get(key)?;
        Ok(value.is_some_and(|value| {
            found(&value);
            true
        }))
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut cursor = self.keyspace.cursor(key..)?;
        for at in 0..rows {
            match cursor.next()? {
                Some((key, value)) => each(key, value),
                None => return Ok(at),
            }
        }
        Ok(rows)
    }
}
