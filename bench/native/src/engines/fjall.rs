//! fjall: its defaults, but for the memory, and with LZ4 and ten bits of filter at every level.

use crate::engine::{Durability, Engine, Settings};
use anyhow::{Error, Result};
use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::thread::sleep;
use std::time::Duration;
use terrane_measure::Session;

struct Store {
    db: Database,
    keyspace: Keyspace,
    durable: bool,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    let mut builder = Database::builder(settings.path).cache_size(settings.cache_bytes);
    if let Some(workers) = settings.workers {
        builder = builder.worker_threads(usize::try_from(workers.max(1))?);
    }
    let db = builder.open()?;
    let filter = BloomConstructionPolicy::BitsPerKey(10.0);
    let options = || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(settings.memtable_bytes)
            .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(filter)))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
    };
    let keyspace = db.keyspace("rows", options)?;
    Ok(Box::new(Store { db, keyspace, durable: settings.durability == Durability::Durable }))
}

impl Store {
    fn persist(&self) -> Result<()> {
        if self.durable {
            self.db.persist(PersistMode::SyncData)?;
        }
        Ok(())
    }
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        Ok(Box::new(self))
    }

    /// It has no call that waits for compactions: it is idle when nothing has run for a while.
    fn settle(&self) -> Result<()> {
        const INTERVAL: Duration = Duration::from_millis(20);
        const IDLE_INTERVALS: u32 = 10;
        self.keyspace.rotate_memtable_and_wait()?;
        let mut idle = 0;
        while idle < IDLE_INTERVALS {
            let busy = self.db.outstanding_flushes() + self.db.active_compactions() > 0;
            idle = if busy { 0 } else { idle + 1 };
            sleep(INTERVAL);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }
}

impl Session<Error> for &Store {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.keyspace.insert(key, value)?;
        self.persist()
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut batch = self.db.batch();
        for (key, value) in rows {
            batch.insert(&self.keyspace, key.as_slice(), value.as_slice());
        }
        batch.commit()?;
        self.persist()
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.keyspace.remove(key)?;
        self.persist()
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.keyspace.get(key)?;
        Ok(value.is_some_and(|value| {
            found(&value);
            true
        }))
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut count = 0;
        for row in self.keyspace.range(key..).take(usize::try_from(rows)?) {
            let (key, value) = row.into_inner()?;
            each(&key, &value);
            count += 1;
        }
        Ok(count)
    }
}
