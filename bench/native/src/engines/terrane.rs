//! Terrane: its native defaults, but for the sizes of cache and memtables, and the threads where a number is given.

use crate::engine::{self, Engine, Settings};
use anyhow::{Error, Result};
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::{Db, Durability, Keyspace, Options};
use terrane_measure::{Session, Terrane};

struct Store {
    db: Db,
    keyspace: Keyspace,
    durability: Durability,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    open_with(settings, Options::default())
}

/// Opens a store whose tables are mapped into memory, as its logs are.
pub fn open_mapped(settings: &Settings) -> Result<Box<dyn Engine>> {
    open_with(settings, Options::default().allow_mmap_reads(true))
}

/// Opens a store that writes each record of the log by a system call.
pub fn open_unmapped(settings: &Settings) -> Result<Box<dyn Engine>> {
    open_with(settings, Options::default().allow_mmap_writes(false))
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
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        let Store { db, keyspace, durability } = self;
        Ok(Box::new(Terrane::new(db, keyspace, *durability)))
    }

    fn settle(&self) -> Result<()> {
        self.db.flush()?;
        Ok(self.db.wait_until_idle()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}
