//! Cost of the number of tables: flushes of one key, opening, statistics and planning, on stores
//! whose tables hold one entry each; and the time of a put during flushes and compactions. Prints a
//! line for each size:
//!
//! ```sh
//! cargo bench -p terrane-bench --bench scale             # 1 k, 11 k, 57 k and 100 k tables
//! cargo bench -p terrane-bench --bench scale -- 500000   # planning alone, for sizes above 200 k
//! cargo bench -p terrane-bench --bench scale -- native   # in a directory for temporary files
//! ```
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terrane::executor::{Executor, SliceExecutor, ThreadExecutor};
use terrane::storage::Directory;
use terrane::storage::vfs::MemoryVfs;
use terrane::table::TableOptions;
use terrane::{Db, Durability, KeyRange, Options};
use terrane_policy::{
    FilterBits, Observed, PlanContext, PolicyOptions, RunId, Running, Shape, ShapeEdit, TableId,
    TableInfo, apply,
};

const SIZES: [u32; 4] = [1_000, 11_000, 57_000, 100_000];
/// Above this many tables only planning is measured.
const STORES_TO: u32 = 200_000;
const FLUSHES: usize = 200;
/// Puts that are timed during flushes and compactions, one every [`PACE`].
const PUTS: u64 = 60_000;
const PACE: Duration = Duration::from_micros(200);

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let asked: Vec<u32> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let native = args.iter().any(|arg| arg == "native");
    for tables in if asked.is_empty() { SIZES.to_vec() } else { asked } {
        if tables <= STORES_TO {
            let place = native.then(|| tempfile::tempdir().unwrap());
            store(tables, place.as_ref().map(|dir| dir.path()));
        }
        planning(tables);
    }
}

/// Microseconds per call: the median, and the mean CPU time of this thread where the system reports
/// it.
fn timed(times: usize, mut call: impl FnMut()) -> (f64, f64) {
    let mut each = Vec::new();
    let before = processor();
    for _ in 0..times {
        let start = Instant::now();
        call();
        each.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let processor = processor() - before;
    each.sort_by(f64::total_cmp);
    (each[times / 2], processor / times as f64)
}

/// Microseconds of CPU time that this thread has used; 0 where the system does not report it.
fn processor() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e3
}

fn key(number: u32) -> [u8; 8] {
    u64::from(number).to_be_bytes()
}

/// Leveling with one entry per table, which compacts L0 at `runs` runs, and has `base` bytes in L1.
fn policy(runs: u64, base: u64) -> PolicyOptions {
    let text = format!(
        r#"{{"policy":"leveled","target-file-bytes":1024,"size-ratio":64,"dynamic-level-bytes":false,"l0-compaction-trigger":{runs},"level-base-bytes":{base}}}"#
    );
    text.parse().unwrap()
}

fn store(tables: u32, place: Option<&Path>) {
    let vfs = Arc::new(MemoryVfs::new());
    let options = Options::default()
        .policy(policy(4, 1 << 40))
        .memtable_bytes(1 << 30)
        .wal_file_bytes(64 << 20)
        .max_total_wal_bytes(1 << 40)
        .table(TableOptions { block_bytes: 512, ..TableOptions::default() });
    let open = |threads: bool, options: &Options| {
        if let Some(place) = place {
            return Db::open(place, options.clone()).unwrap();
        }
        let storage = Arc::new(Directory::open(vfs.clone()).unwrap());
        let executor: Arc<dyn Executor> = if threads {
            Arc::new(ThreadExecutor::new(2))
        } else {
            Arc::new(SliceExecutor::default())
        };
        Db::open_storage(storage, options.clone(), executor).unwrap()
    };
    let db = open(false, &options);
    let rows = db.default_keyspace();
    let mut value = [0u8; 1200];
    for number in 0..tables {
        let mut state = u64::from(number);
        for word in value.chunks_exact_mut(8) {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            word.copy_from_slice(&(state ^ state >> 29).to_le_bytes());
        }
        rows.put(&key(number), &value, Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    rows.put(&key(0), &value, Durability::Buffered).unwrap();
    rows.compact_range(&KeyRange::prefix(b"")).unwrap();
    // The L0 run moves to L1.
    rows.set_policy(&policy(1, 1 << 20)).unwrap();
    db.wait_until_idle().unwrap();
    rows.set_policy(&policy(4, 1 << 40)).unwrap();
    db.wait_until_idle().unwrap();
    let levels = |db: &Db| db.stats().unwrap().keyspaces[0].levels.clone();
    let counts: Vec<_> = levels(&db).iter().map(|level| level.tables).collect();

    let (median, flush) = timed(FLUSHES, || {
        rows.put(&key(7), b"again", Durability::Buffered).unwrap();
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
    });
    let stats = timed(20, || drop(db.stats().unwrap()));
    drop(rows);
    db.close().unwrap();
    let start = Instant::now();
    let opening = processor();
    let db = open(false, &options);
    let opened = (start.elapsed().as_secs_f64() * 1e3, (processor() - opening) / 1e3);
    db.close().unwrap();
    println!(
        "{tables:>7} tables {counts:?}: a flush of one key {median:.0} us (processor {flush:.0}), \
         stats {:.0} us ({:.0}), open {:.0} ms ({:.0})",
        stats.0, stats.1, opened.0, opened.1
    );
    let small = options.memtable_bytes(64 << 10);
    puts(&open(true, &small), tables);
}

/// Puts at an even rate, over the keys of the L1 run, while threads flush and compact.
fn puts(db: &Db, tables: u32) {
    let rows = db.default_keyspace();
    let begun = Instant::now();
    rows.set_policy(&policy(4, 256 << 10)).unwrap();
    db.wait_until_idle().unwrap();
    let drained = begun.elapsed().as_secs_f64();
    let mut each = Vec::new();
    let begun = Instant::now();
    for number in 0..PUTS {
        let due = begun + PACE * u32::try_from(number).unwrap();
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let at = u32::try_from(number * 7_919 % u64::from(tables)).unwrap();
        let start = Instant::now();
        rows.put(&key(at), &[7; 100], Durability::Buffered).unwrap();
        each.push(start.elapsed().as_secs_f64() * 1e6);
    }
    each.sort_by(f64::total_cmp);
    let at = |of: usize| each[each.len() * of / 10_000];
    let over = each.len() - each.partition_point(|took| *took < 1e3);
    let stats = db.stats().unwrap();
    println!(
        "{tables:>7} tables: levels drain in {drained:.1} s; a put takes {:.0} us, p99 {:.0}, \
         p99.9 {:.0}, at most {:.0}; {over} of {PUTS} over 1 ms; {} KiB flushed, {} KiB merged, \
         {} stalls",
        at(5_000),
        at(9_900),
        at(9_990),
        each[each.len() - 1],
        stats.flushed_bytes >> 10,
        stats.merge_written_bytes >> 10,
        stats.stalls
    );
}

/// A run of `tables` in L2, of a tenth as many in L1, and a table in L0.
fn shape(tables: u32) -> Shape {
    let table = |id: u64, smallest: u32, largest: u32| TableInfo {
        id: TableId(id),
        bytes: 1 << 20,
        entries: 1000,
        tombstones: 0,
        smallest: key(smallest).to_vec(),
        largest: key(largest).to_vec(),
        first_seq: id,
        last_seq: id,
        filter_bits: FilterBits::NONE,
        filter_bytes: 0,
        kept: None,
        cleared: 0,
        expires_by: 0,
        salt: 0,
        histogram: Default::default(),
        prefixes: Default::default(),
    };
    let mut edit = ShapeEdit::default();
    for n in 0..tables {
        let info = table(10 + u64::from(n), 10 * n, 10 * n + 9);
        edit.added.push((2, RunId(1), Arc::new(info)));
    }
    for n in 0..tables / 10 {
        let info = table(10 + u64::from(tables + n), 100 * n + 5, 100 * n + 94);
        edit.added.push((1, RunId(2), Arc::new(info)));
    }
    let last = table(20 + 2 * u64::from(tables), 0, 10 * tables);
    edit.added.push((0, RunId(3), Arc::new(last)));
    apply(&Shape::default(), &edit).unwrap()
}

fn planning(tables: u32) {
    let shape = shape(tables);
    let (running, observed) = (Running::default(), Observed::default());
    let planning = PlanContext {
        shape: &shape,
        state: &[],
        running: &running,
        observed: &observed,
        filter_bits: Options::default().table.filter_bits_per_key,
        workers: 1,
        l0_stop_trigger: Options::default().l0_stop_trigger,
        oldest_snapshot: 0,
        fresh: RunId(9),
    };
    print!("{tables:>7} tables: a planning step");
    // Idle, except for the last two: level 2 becomes level 3, or a table of level 1 goes down, the one
    // that overlaps least.
    for (name, base, more) in [
        ("leveled", 1 << 40, ""),
        ("tiered", 1 << 40, ""),
        ("lazy-leveled", 1 << 40, ""),
        ("spooky", 1 << 40, ""),
        ("universal", 0, ""),
        ("leveled", 1 << 20, ""),
        ("leveled", 1 << 20, r#","dynamic-level-bytes":false"#),
    ] {
        let options: PolicyOptions = format!(r#"{{"policy":"{name}"{more}}}"#).parse().unwrap();
        let sized = options.sized(base, 1 << 20);
        let policy = sized.build().unwrap();
        let acts = policy.plan(&planning).is_some();
        let (median, _) = timed(50, || drop(policy.plan(&planning)));
        let fixed = if more.is_empty() { "" } else { " with fixed capacities" };
        print!(", {name}{fixed}{} {median:.0} us", if acts { " (acts)" } else { "" });
    }
    let edit =
        ShapeEdit { dropped: vec![TableId(10 + u64::from(tables) / 2)], ..ShapeEdit::default() };
    let (median, _) = timed(50, || drop(apply(&shape, &edit).unwrap()));
    println!(", an edit of the shape {median:.0} us");
}
