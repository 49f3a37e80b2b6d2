//! regolith: its defaults, except for memory. These are LZ4 and filters of ten bits per key at every level, blocks
//! of 16 KiB, one background thread, and filters and indexes outside the cache.

use crate::engine::{Durability, Engine, Settings};
use anyhow::{Error, Result};
use regolith::{CompactionOutcome, Db, DurabilityMode, Options, WriteBatch, through_stalls};
use std::thread::sleep;
use std::time::Duration;
use terrane_measure::Session;

struct Store {
    db: Db,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    let mut options = Options::default()
        .block_cache_size(usize::try_from(settings.cache_bytes)?)
        .write_buffer_size(usize::try_from(settings.memtable_bytes)?)
        .durability(match settings.durability {
            Durability::Buffered => DurabilityMode::Eventual,
            Durability::Durable => DurabilityMode::Immediate,
        });
    if let Some(workers) = settings.workers {
        options = options.max_background_compactions(usize::try_from(workers.max(1))?);
    }
    Ok(Box::new(Store { db: Db::open(settings.path, options)? }))
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        Ok(Box::new(self))
    }

    /// It has no call that waits for its worker: this thread helps, until nothing is due.
    fn settle(&self) -> Result<()> {
        const INTERVAL: Duration = Duration::from_millis(1);
        self.db.flush()?;
        loop {
            match self.db.compact_step()? {
                CompactionOutcome::DidWork => {}
                CompactionOutcome::Contended => sleep(INTERVAL),
                CompactionOutcome::Idle => return Ok(()),
            }
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

/// A write is rejected while writes are stopped, and is retried until it is accepted.
impl Session<Error> for &Store {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(through_stalls(|| self.db.put(key, value))?)
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        Ok(through_stalls(|| {
            let mut batch = WriteBatch::new();
            for (key, value) in rows {
                batch.put(key, value);
            }
            self.db.write(batch)
        })?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        Ok(through_stalls(|| self.db.delete(key))?)
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.db.get_slice(key)?;
        Ok(value.is_some_and(|value| {
            found(&value);
            true
        }))
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut iterator = self.db.iter();
        iterator.seek(key);
        let mut count = 0;
        while count < rows {
            let (Some(key), Some(value)) = (iterator.key(), iterator.value()) else { break };
            each(key, value);
            count += 1;
            iterator.next();
        }
        iterator.status()?;
        Ok(count)
    }
}
