//! Each store behind the trait [`Engine`], and the list of them.

#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "lmdb")]
pub mod lmdb;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "regolith")]
pub mod regolith;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod terrane;
#[cfg(feature = "tidesdb")]
pub mod tidesdb;

use crate::engine::{Engine, Settings};
use anyhow::Result;

type Open = fn(&Settings) -> Result<Box<dyn Engine>>;

/// The stores of this build: name, crate and how to open one. Terrane comes first.
pub const ENGINES: &[(&str, &str, Open)] = &[
    ("terrane", "terrane", terrane::open),
    ("terrane-mmap", "terrane", terrane::open_mapped),
    ("terrane-unmapped", "terrane", terrane::open_unmapped),
    #[cfg(feature = "rocksdb")]
    ("rocksdb", "librocksdb-sys", rocksdb::open),
    #[cfg(feature = "fjall")]
    ("fjall", "fjall", fjall::open),
    #[cfg(feature = "regolith")]
    ("regolith", "regolith", regolith::open),
    #[cfg(feature = "tidesdb")]
    ("tidesdb", "tidesdb", tidesdb::open),
    #[cfg(feature = "redb")]
    ("redb", "redb", redb::open),
    #[cfg(feature = "lmdb")]
    ("lmdb", "heed", lmdb::open),
    #[cfg(feature = "sqlite")]
    ("sqlite", "rusqlite", sqlite::open),
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
    let lock = include_str!("../../Cargo.lock");
    let name = format!("name = \"{crate_name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \""));
    version.map_or("?", |version| version.trim_end_matches('"'))
}
