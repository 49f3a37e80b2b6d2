//! Stores: a turn opens one [`Engine`], and each of its threads a [`Session`].

use anyhow::{Error, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;
use terrane_measure::Session;

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
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>>;

    /// Writes out what is in memory, and waits until no background work is due.
    fn settle(&self) -> Result<()>;

    /// Makes every write durable and ends background work.
    fn close(self: Box<Self>) -> Result<()>;
}
