//! Operations of every store.
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
