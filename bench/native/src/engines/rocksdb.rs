//! RocksDB: its defaults, but for the memory, LZ4, ten bits of filter, and threads for background work.
//! Filters and indexes lie outside of its cache, as they do by default.

use crate::engine::{Durability, Engine, Settings};
use anyhow::{Error, Result};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, FlushOptions, Options, WaitForCompactOptions,
    WriteBatch, WriteOptions,
};
use terrane_measure::Session;

struct Store {
    db: DB,
    durable: bool,
}

/// One thread's access.
struct Handle<'a> {
    db: &'a DB,
    write: WriteOptions,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(usize::try_from(settings.cache_bytes)?));
    table.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_write_buffer_size(usize::try_from(settings.memtable_bytes)?);
    if let Some(workers) = settings.workers {
        options.set_max_background_jobs(i32::try_from(workers.max(1))?);
        options.set_max_subcompactions(workers.max(1));
    } else {
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        options.increase_parallelism(i32::try_from(threads)?);
    }
    let db = DB::open(&options, settings.path)?;
    Ok(Box::new(Store { db, durable: settings.durability == Durability::Durable }))
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        let mut write = WriteOptions::default();
        write.set_sync(self.durable);
        Ok(Box::new(Handle { db: &self.db, write }))
    }

    fn settle(&self) -> Result<()> {
        self.db.flush_opt(&FlushOptions::default())?;
        Ok(self.db.wait_for_compact(&WaitForCompactOptions::default())?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.db.flush_wal(true)?;
        self.db.cancel_all_background_work(true);
        Ok(())
    }
}

impl Session<Error> for Handle<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.db.put_opt(key, value, &self.write)?)
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (key, value) in rows {
            batch.put(key, value);
        }
        Ok(self.db.write_opt(batch, &self.write)?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        Ok(self.db.delete_opt(key, &self.write)?)
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.db.get_pinned(key)?;
        Ok(value.is_some_and(|value| {
            found(&value);
            true
        }))
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut iterator = self.db.raw_iterator();
        iterator.seek(key);
        let mut count = 0;
        while count < rows {
            let Some((key, value)) = iterator.item() else { break };
            each(key, value);
            count += 1;
            iterator.next();
        }
        iterator.status()?;
        Ok(count)
    }
}
