//! `--drain`: how long a level 0 that is full takes to go into level 1, by design and by threads.
//!
//! 1. For each case a store is filled with random keys under a policy that leaves level 0 as it is, cut at
//!    the design's buckets if it has some.
//! 2. It is opened again with so many threads for merges, and given the design's policy. The time until no
//!    compaction is due is what counts.

use super::args::BenchArgs;
use super::workload::Rows;
use crate::exit::Failure;
use crate::interrupt;
use crate::meter::Meter;
use serde::Serialize;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::NativeVfs;
use terrane::{Db, Durability, Options};
use terrane_policy::{BucketLsm, Leveled, PolicyOptions};

/// Runs that level 0 is filled with.
const RUNS: u64 = 12;
/// The parts of a merge, and the buckets.
const PARTS: u64 = 8;
/// Rows between two looks at the store.
const SLICE: u64 = 1 << 14;

/// What a case found.
#[derive(Serialize)]
pub struct Drained {
    design: &'static str,
    threads: usize,
    /// Runs and tables that level 0 had, and their bytes.
    runs: usize,
    tables: usize,
    bytes: u64,
    /// Seconds until no compaction was due.
    seconds: f64,
    /// Millions of those bytes a second.
    mb_per_second: f64,
    /// Bytes that merges wrote.
    written_bytes: u64,
}

/// The designs: each with the policy that leaves its level 0 as it is, and the one that empties it.
fn designs() -> [(&'static str, PolicyOptions, PolicyOptions); 3] {
    let patient = 64;
    let leveled = |max_subcompactions| {
        let drains = Leveled { max_subcompactions, ..Leveled::default() };
        let fills = Leveled { l0_compaction_trigger: patient, ..drains.clone() };
        (PolicyOptions::Leveled(fills), PolicyOptions::Leveled(drains))
    };
    let bucket = BucketLsm { buckets: PARTS, follow_workers: false, ..BucketLsm::default() };
    let filling = BucketLsm { l0_compaction_trigger: patient, ..bucket.clone() };
    let ((one, one_drains), (shared, shared_drains)) = (leveled(1), leveled(PARTS));
    [
        ("one task", one, one_drains),
        ("subcompaction", shared, shared_drains),
        ("bucket", PolicyOptions::BucketLsm(filling), PolicyOptions::BucketLsm(bucket)),
    ]
}

/// Measures each design with 1, 2 and as many threads as there are; stores are made below `place`.
pub fn run(args: &BenchArgs, place: &Path) -> Result<Vec<Drained>, Failure> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    let mut threads = vec![1, 2, cores];
    threads.sort_unstable();
    threads.dedup();
    let mut found = Vec::new();
    for (design, fills, drains) in designs() {
        for &threads in &threads {
            let dir = place.join("drained");
            fill(args, &dir, fills.clone())?;
            found.push(drain(args, &dir, design, &drains, threads)?);
            let failed = |e| Failure::io(&format!("remove {}", dir.display()), &e);
            fs::remove_dir_all(&dir).map_err(failed)?;
        }
    }
    Ok(found)
}

fn open(
    args: &BenchArgs,
    dir: &Path,
    policy: PolicyOptions,
    threads: usize,
) -> Result<Db, Failure> {
    let row_bytes = (args.key_bytes + args.value_bytes) as u64;
    let memtable_bytes = (args.num() * row_bytes / RUNS).max(64 << 10);
    let defaults = Options::default();
    let options = Options {
        policy,
        memtable_bytes,
        max_total_wal_bytes: defaults.max_total_wal_bytes.max(4 * memtable_bytes),
        memory_bytes: (args.memory_mib << 20).max(8 * memtable_bytes),
        cache_bytes: args.cache_mib << 20,
        table: args.table(),
        l0_stop_trigger: 1 << 20,
        ..args.background.of(defaults)
    };
    let storage = Arc::new(Directory::open(Arc::new(NativeVfs::open(dir, true)?))?);
    Ok(Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(threads)))?)
}

/// Step 1.
fn fill(args: &BenchArgs, dir: &Path, policy: PolicyOptions) -> Result<(), Failure> {
    let db = open(args, dir, policy, 1)?;
    let keyspace = db.default_keyspace();
    let mut rows = Rows::new(args.seed, args.num(), args.key_bytes, args.value_bytes);
    let mut meter = Meter::new(Some(args.num()));
    for number in 0..args.num() {
        let drawn = rows.draw();
        let (key, value) = rows.row(drawn);
        keyspace.put(key, value, Durability::Buffered)?;
        if number % SLICE == 0 {
            meter.show(number, || format!("fill: {number} of {}", args.num()));
            interrupt::check()?;
        }
    }
    db.flush()?;
    Ok(db.close()?)
}

/// Step 2.
fn drain(
    args: &BenchArgs,
    dir: &Path,
    design: &'static str,
    policy: &PolicyOptions,
    threads: usize,
) -> Result<Drained, Failure> {
    let db = open(args, dir, policy.clone(), threads)?;
    let keyspace = db.default_keyspace();
    let before = db.stats()?;
    let level0 = before.keyspaces.first().and_then(|keyspace| keyspace.levels.first().cloned());
    let (runs, tables, bytes) =
        level0.map_or((0, 0, 0), |level0| (level0.runs, level0.tables, level0.bytes));
    let began = Instant::now();
    keyspace.set_policy(policy)?;
    db.wait_until_idle()?;
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let written_bytes = db.stats()?.merge_written_bytes - before.merge_written_bytes;
    db.close()?;
    let mb_per_second = bytes as f64 / seconds / 1e6;
    Ok(Drained { design, threads, runs, tables, bytes, seconds, mb_per_second, written_bytes })
}

/// The cases, a line each.
pub fn table(found: &[Drained]) -> Vec<String> {
    let head = ["design", "threads", "runs", "tables", "MB", "seconds", "MB/s", "MB written"];
    let cells = |case: &Drained| {
        [
            case.design.to_owned(),
            case.threads.to_string(),
            case.runs.to_string(),
            case.tables.to_string(),
            format!("{:.1}", case.bytes as f64 / 1e6),
            format!("{:.3}", case.seconds),
            format!("{:.1}", case.mb_per_second),
            format!("{:.1}", case.written_bytes as f64 / 1e6),
        ]
    };
    let lines = [head.map(str::to_owned)].into_iter().chain(found.iter().map(cells));
    lines.map(|cells| cells.iter().map(|cell| format!("{cell:>14}")).collect()).collect()
}
