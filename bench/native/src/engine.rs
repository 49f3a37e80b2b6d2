//! Operations of every store, and the list of stores.
//!
//! A turn opens one [`Engine`], and each of its threads a [`Session`]. Values are lent to a closure, so that a
//! store that can lend its own bytes need not copy them.

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Data that survives a crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Perhaps not the newest writes: a put does not wait for the device
    Buffered,
    /// Every put that returned
    Durable,
}

/// Settings of a store. Memory is the same for all.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    pub path: &'a Path,
    pub durability: Durability,
    pub cache_bytes: u64,
    pub memtable_bytes: u64,
    /// The most merges at once, and the most parts of a merge; 0 for no background threads. `None` for the
    /// engine's default.
    pub workers: Option<u32>,
}

/// An open store.
pub trait Engine: Send + Sync {
    /// Returns the session of one thread.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Writes out what is in memory, and waits until no background work is due.
    fn settle(&self) -> Result<()>;

    /// Makes every write durable and ends background work.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's access to a store.
pub trait Session {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Writes all of these rows, or none.
    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()>;

    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Lends the value of `key` to `found`, if there is one; returns whether there is.
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool>;

    /// Lends at most `rows` rows from `key` on to `each`. Returns their number.
    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64>;
}

type Open = fn(&Settings) -> Result<Box<dyn Engine>>;

/// The stores of this build: name, crate and how to open one. Terrane comes first.
pub const ENGINES: &[(&str, &str, Open)] = &[
    ("terrane", "terrane", crate::engines::terrane::open),
    ("terrane-mmap", "terrane", crate::engines::terrane::open_mapped),
    #[cfg(feature = "rocksdb")]
    ("rocksdb", "librocksdb-sys", crate::engines::rocksdb::open),
    #[cfg(feature = "fjall")]
    ("fjall", "fjall", crate::engines::fjall::open),
    #[cfg(feature = "regolith")]
    ("regolith", "regolith", crate::engines::regolith::open),
    #[cfg(feature = "tidesdb")]
    ("tidesdb", "tidesdb", crate::engines::tidesdb::open),
    #[cfg(feature = "redb")]
    ("redb", "redb", crate::engines::redb::open),
    #[cfg(feature = "lmdb")]
    ("lmdb", "heed", crate::engines::lmdb::open),
    #[cfg(feature = "sqlite")]
    ("sqlite", "rusqlite", crate::engines::sqlite::open),
];

/// Opens the store of that name, created if there is none.
pub fn open(name: &str, settings: &Settings) -> Result<Box<dyn Engine>> {
    let engine = ENGINES.iter().find(|(known, _, _)| *known == name);
    let (_, _, open) = engine.ok_or_else(|| anyhow::anyhow!("no engine `{name}` in this build"))?;
    open(settings)
}

/// The version of an engine's crate in the lock file.
pub fn version(of: &str) -> &'static str {
    let crate_name = ENGINES.iter().find(|(name, _, _)| *name == of).map_or(of, |entry| entry.1);
    let lock = include_str!("../Cargo.lock");
    let name = format!("name = \"{crate_name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \""));
    version.map_or("?", |version| version.trim_end_matches('"'))
}
