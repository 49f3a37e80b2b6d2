//! Memory of a large store: a store with 100 GB of rows (which compress to a few GB on disk) is
//! made, opened read-only, and read at random. Prints the resident memory of the process next to
//! the configured budget:
//!
//! ```sh
//! cargo bench -p terrane-bench --bench memory          # 100 GB
//! cargo bench -p terrane-bench --bench memory -- 10    # 10 GB
//! ```
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;
use terrane::{Db, Durability, Options, WriteBatch};
use terrane_measure::memory;

/// Bytes of a value: each fills a block.
const VALUE_BYTES: usize = 4 << 10;
const BATCH: u64 = 256;
const READS: u64 = 1_000_000;
/// The memory of the store that reads, in MiB.
const BUDGET_MIB: u64 = 128;

/// Passes the store's path to the process that reads it.
const PLACE: &str = "TERRANE_BENCH_STORE";

fn main() {
    let gigabytes = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(100);
    let rows = gigabytes * 1_000_000_000 / VALUE_BYTES as u64;
    if let Some(place) = std::env::var_os(PLACE) {
        return read(Path::new(&place), rows);
    }
    let dir = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    fill(dir.path(), rows);
    println!("{gigabytes} GB in {rows} rows: written in {:.0} s", begun.elapsed().as_secs_f64());
    // In a process of its own, so that memory used for writing does not count.
    let mut reader = Command::new(std::env::current_exe().unwrap());
    reader.env(PLACE, dir.path()).arg(gigabytes.to_string());
    assert!(reader.status().unwrap().success());
}

fn key(row: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[8..].copy_from_slice(&row.to_be_bytes());
    key
}

fn fill(place: &Path, rows: u64) {
    let db = Db::open(place, Options::default()).unwrap();
    let keyspace = db.default_keyspace().id();
    let mut value = vec![0; VALUE_BYTES];
    for first in (0..rows).step_by(BATCH as usize) {
        let mut batch = WriteBatch::new();
        for row in first..rows.min(first + BATCH) {
            value[..8].copy_from_slice(&row.to_be_bytes());
            batch.put(keyspace, &key(row), &value).unwrap();
        }
        db.write(batch, Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    db.close().unwrap();
}

fn read(place: &Path, rows: u64) {
    let options = Options::default().read_only(true).memory_bytes(BUDGET_MIB << 20);
    let begun = Instant::now();
    let db = Db::open(place, options).unwrap();
    let opened = begun.elapsed().as_secs_f64() * 1e3;
    let stats = db.stats().unwrap();
    let tables: usize = stats.keyspaces[0].levels.iter().map(|level| level.tables).sum();
    println!(
        "{tables} tables, {} MiB on disk: opened in {opened:.0} ms, {} MiB resident",
        stats.space.taken >> 20,
        resident()
    );
    let rows_of = db.default_keyspace();
    let (mut at, mut most, begun) = (1u64, 0, Instant::now());
    for read in 0..READS {
        at = at.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let row = (at >> 20) % rows;
        let value = rows_of.get(&key(row)).unwrap().unwrap();
        assert!(value.starts_with(&row.to_be_bytes()));
        if read.is_multiple_of(10_000) {
            most = resident().max(most);
        }
    }
    println!(
        "{READS} random gets in {:.0} s: at most {most} MiB resident; the budget is {BUDGET_MIB} MiB",
        begun.elapsed().as_secs_f64()
    );
}

/// Mebibytes of resident memory; 0 where the system does not report it.
fn resident() -> u64 {
    memory::bytes("VmRSS").unwrap_or(0) >> 20
}
