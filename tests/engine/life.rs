//! Stores are opened and closed a hundred times in one process, also amid merges, after a panic of a merge
//! and without a close: threads, open files, mappings and memory are as before.
//!
//! The counts are those of a process, so the test has one of its own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terrane::executor::{ThreadExecutor, WorkerPool};
use terrane::{Db, Durability, Event, Options};
use terrane_policy::{PolicyOptions, Tiered};
use terrane_tests::resources::Resources;
use terrane_workload::Random;

/// In the process started by this test: where the stores are.
const PLACE: &str = "TERRANE_TEST_LIFE";
const OPENS: u64 = 100;
/// Opens before memory is first looked at: allocators keep what they once had.
const WARM: u64 = 30;
/// The memory that each store has to let go of, in KiB: its memtables and its cache.
const STORE_KIB: u64 = 1 << 10;

#[test]
fn a_hundred_opens_and_closes_leak_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "life::open_and_close", "--nocapture"])
        .env(PLACE, dir.path())
        // The allocator keeps what each of its arenas once had, and has one for each processor.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let said = [out.stdout, out.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(out.status.success() && said[0].contains("1 passed"), "{}{}", said[0], said[1]);
}

/// Memtables of a quarter MiB, which merges follow all the time.
fn options() -> Options {
    Options::small()
        .memtable_bytes(256 << 10)
        .wal_file_bytes(128 << 10)
        .cache_bytes(512 << 10)
        .allow_mmap_writes(true)
        .policy(PolicyOptions::Tiered(Tiered { size_ratio: 2, ..Tiered::default() }))
}

/// Writes about 2 MiB on two threads; merges are under way when it returns.
fn load(db: &Db, seed: u64, fails: bool) {
    std::thread::scope(|threads| {
        for writer in 0..2 {
            threads.spawn(move || {
                let (rows, mut random) = (db.default_keyspace(), Random(seed * 2 + writer));
                for _ in 0..1000 {
                    let key = random.below(5000).to_be_bytes();
                    let value: Vec<u8> =
                        (0..128).flat_map(|_| random.word().to_le_bytes()).collect();
                    // A store whose merge has panicked takes no more.
                    let done = rows.put(key, &value, Durability::Buffered);
                    let done = done.and_then(|_| rows.get(random.below(5000).to_be_bytes()));
                    if fails && done.is_err() {
                        return;
                    }
                    done.unwrap();
                }
            });
        }
    });
}

/// Merges that have panicked.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// One life of a store, which ends in one of four ways.
fn live(place: &Path, n: u64, pool: &WorkerPool) {
    // Eight stores in turn: most are opened with merges that an earlier life has not ended.
    let place = place.join(format!("store-{}", n % 8));
    let db = match n.is_multiple_of(3) {
        true => Db::open_with(&place, options(), Arc::new(ThreadExecutor::in_pool(pool))).unwrap(),
        false => Db::open(&place, options()).unwrap(),
    };
    let snapshot = db.snapshot();
    if n % 4 == 3 {
        db.set_listener(Some(Arc::new(|_, event: &Event| {
            if matches!(event, Event::GroupInstalled { .. }) {
                PANICS.fetch_add(1, Ordering::Relaxed);
                panic!("a merge panics");
            }
        })));
    }
    load(&db, n, n % 4 == 3);
    let mut scan = db.default_keyspace().scan(..).ok();
    scan.as_mut().map(|scan| scan.next());
    match n % 4 {
        0 => db.close().unwrap(),
        1 => drop(db),
        2 => db.close_within(Duration::from_millis(n % 20)).unwrap(),
        // What was written is in the log, which may be poisoned.
        _ => drop(db.close()),
    }
    drop((snapshot, scan));
}

/// The other process.
#[test]
fn open_and_close() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    let pool = WorkerPool::new(2);
    let before = Resources::now(place);
    (0..WARM).for_each(|n| live(place, n, &pool));
    let warm = Resources::settled(place, &before);
    (WARM..WARM + OPENS).for_each(|n| live(place, n, &pool));
    let after = Resources::settled(place, &before);
    assert!(PANICS.load(Ordering::Relaxed) > 0, "some lives end by a merge that panics");
    let rest = |r: Resources| Resources { memory_kib: 0, ..r };
    assert_eq!(rest(after), rest(before), "then {warm:?}");
    // A tenth of what the stores had.
    assert!(after.memory_kib < warm.memory_kib + OPENS * STORE_KIB / 10, "{warm:?}, {after:?}");
    println!("before {before:?}\nwarm {warm:?}\nafter {after:?}");
    for n in 0..8 {
        let db = Db::open(place.join(format!("store-{n}")), options()).unwrap();
        assert_eq!(db.check().unwrap().damage, []);
    }
}
