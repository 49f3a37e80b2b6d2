//! TidesDB: its defaults, except for memory, LZ4 and filters of ten bits per key. A thread writes the log of
//! buffered commits, so a crash of the process may lose the newest ones, and nothing is synced before the store is
//! closed. A session reuses its transactions; the binding copies what it reads.

use crate::engine::{Durability, Engine, Settings};
use anyhow::{Error, Result};
use std::thread::sleep;
use std::time::Duration;
use terrane_measure::Session;
use tidesdb::{
    ColumnFamily, ColumnFamilyConfig, CompressionAlgorithm, Config, IsolationLevel, LogLevel,
    SyncMode, TidesDB, Transaction,
};

const ROWS: &str = "rows";

/// The false positive rate of a filter with ten bits per key: exp(-10 ln²2).
const TEN_BITS: f64 = 0.0082;

struct Store {
    db: TidesDB,
}

/// One thread's access.
struct Handle<'a> {
    rows: ColumnFamily<'a>,
    /// Each of its reads sees all commits up to then.
    reader: Transaction<'a>,
    writer: Transaction<'a>,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    let mut config = Config::new(settings.path)
        .block_cache_size(usize::try_from(settings.cache_bytes)?)
        .memtable_write_buffer_size(usize::try_from(settings.memtable_bytes)?)
        .memtable_sync_mode(match settings.durability {
            Durability::Buffered => SyncMode::None,
            Durability::Durable => SyncMode::Full,
        })
        .log_level(LogLevel::Error);
    if let Some(workers) = settings.workers {
        config = config.num_compaction_threads(i32::try_from(workers.max(1))?);
    }
    let db = TidesDB::open(config)?;
    if !db.list_column_families()?.iter().any(|name| name == ROWS) {
        let rows = ColumnFamilyConfig::default()
            .compression_algorithm(CompressionAlgorithm::Lz4)
            .bloom_fpr(TEN_BITS);
        db.create_column_family(ROWS, rows)?;
    }
    Ok(Box::new(Store { db }))
}

/// Retries while the store is busy; such a call has had no effect.
fn patiently<T>(mut call: impl FnMut() -> tidesdb::Result<T>) -> tidesdb::Result<T> {
    loop {
        match call() {
            Err(error) if error.is_locked() => std::thread::yield_now(),
            result => return result,
        }
    }
}

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        Ok(Box::new(Handle {
            rows: self.db.get_column_family(ROWS)?,
            reader: self.db.begin_transaction()?,
            writer: self.db.begin_transaction()?,
        }))
    }

    /// It has no call that waits for compactions: it counts as idle once nothing has run for a while.
    fn settle(&self) -> Result<()> {
        const INTERVAL: Duration = Duration::from_millis(20);
        const IDLE_INTERVALS: u32 = 10;
        patiently(|| self.db.flush_memtable())?;
        let rows = self.db.get_column_family(ROWS)?;
        let mut idle = 0;
        while idle < IDLE_INTERVALS {
            let pending = self.db.get_db_stats()?.compaction_pending_count > 0;
            let busy = pending || rows.is_compacting() || self.db.is_flushing();
            idle = if busy { 0 } else { idle + 1 };
            sleep(INTERVAL);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(patiently(|| self.db.checkpoint())?)
    }
}

impl Handle<'_> {
    fn commit(&mut self) -> Result<()> {
        self.writer.commit()?;
        Ok(self.writer.reset(IsolationLevel::ReadCommitted)?)
    }
}

impl Session<Error> for Handle<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.writer.put(&self.rows, key, value)?;
        self.commit()
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        for (key, value) in rows {
            self.writer.put(&self.rows, key, value)?;
        }
        self.commit()
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.writer.delete(&self.rows, key)?;
        self.commit()
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match patiently(|| self.reader.get(&self.rows, key)) {
            Ok(value) => {
                found(&value);
                Ok(true)
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut iterator = patiently(|| self.reader.new_iterator(&self.rows))?;
        patiently(|| iterator.seek(key))?;
        let mut count = 0;
        while count < rows && iterator.is_valid() {
            let (key, value) = patiently(|| iterator.key_value())?;
            each(&key, &value);
            count += 1;
            patiently(|| iterator.next())?;
        }
        Ok(count)
    }
}
