//! Scans of what the block cache holds: seeks to 1, 10 and 100 rows, all rows, and scans where half of the rows were
//! deleted in ranges of 1000.
//!
//! ```sh
//! cargo bench -p terrane-bench --bench scans
//! ```
//!
//! Prints the least time of the rounds; and the blocks that a scan reads under `bucket`, in 16 buckets. With a store,
//! the rows of a scan and a number of scans, it performs these alone: two numbers under `valgrind --tool=callgrind`
//! give the instructions of a scan.
//!
//! ```sh
//! scans three 100 2000
//! ```
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use terrane::executor::SliceExecutor;
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};
use terrane_workload::Random;

const ROUNDS: usize = 7;
/// The rows of a store; of one whose scans are counted.
const ROWS: u64 = 400_000;
const FEW_ROWS: u64 = 40_000;
/// Rows deleted one after another.
const DELETED: u64 = 1000;
/// Scans in a round.
const SCANS: u64 = 20_000;

struct Store {
    _place: tempfile::TempDir,
    db: Db,
    rows: Keyspace,
    count: u64,
}

/// Keys are spread evenly; their order is that of numbers.
fn key(number: u64, count: u64) -> [u8; 16] {
    let mut key = [0; 16];
    let (head, tail) = key.split_at_mut(8);
    head.copy_from_slice(&(number * (u64::MAX / count)).to_be_bytes());
    tail.copy_from_slice(&terrane_workload::mix(number).to_be_bytes());
    key
}

fn value(random: &mut Random) -> [u8; 100] {
    let mut value = [0; 100];
    let words = value.chunks_exact_mut(8).take(6);
    words.for_each(|word| word.copy_from_slice(&random.word().to_le_bytes()));
    value
}

impl Store {
    /// A store of `count` rows: in `one` run, in `three`, with `half` of them deleted.
    fn new(kind: &str, count: u64) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut options = Options::default().memory_bytes(1 << 30).memtable_bytes(64 << 20);
        if kind == "buckets" {
            let policy = r#"{"policy": "bucket", "buckets": 16, "follow-workers": false}"#;
            options = options.policy(policy.parse().unwrap()).memtable_bytes(1 << 20);
        }
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_with(place.path().join("db"), options, executor).unwrap();
        let rows = db.default_keyspace();
        let mut random = Random(1);
        let mut write = |numbers: &[u64], deletes: bool| {
            for numbers in numbers.chunks(1000) {
                let mut batch = WriteBatch::new();
                for &number in numbers {
                    let key = key(number, count);
                    if deletes {
                        batch.delete(&rows, key).unwrap();
                    } else {
                        batch.put(&rows, key, value(&mut random)).unwrap();
                    }
                }
                db.write(batch, Durability::Buffered).unwrap();
            }
        };
        let mut drawn = Random(2);
        if kind == "buckets" {
            // Each flush leaves tables in some of the buckets.
            let any: Vec<_> = (0..count).map(|_| drawn.below(count)).collect();
            write(&any, false);
            db.flush().unwrap();
        } else {
            write(&(0..count).collect::<Vec<_>>(), false);
            rows.compact_range(..).unwrap();
        }
        if kind == "three" {
            for share in [4, 16] {
                let some: Vec<_> = (0..count / share).map(|_| drawn.below(count)).collect();
                write(&some, false);
                db.flush().unwrap();
            }
        }
        if kind == "half" {
            for _ in 0..count / DELETED / 2 {
                let first = drawn.below(count / DELETED) * DELETED;
                write(&(first..first + DELETED).collect::<Vec<_>>(), true);
            }
            db.flush().unwrap();
        }
        db.wait_until_idle().unwrap();
        Store { _place: place, db, rows, count }
    }

    /// Scans `rows` rows from any key on, `scans` times; returns the rows.
    fn scan(&self, random: &mut Random, rows: u64, scans: u64) -> u64 {
        let mut found = 0;
        for _ in 0..scans {
            let from = key(random.below(self.count), self.count);
            let mut cursor = self.rows.cursor(from..).unwrap();
            for _ in 0..rows {
                let Some(row) = cursor.next().unwrap() else { break };
                black_box(row);
                found += 1;
            }
        }
        found
    }

    /// Scans all rows; returns their number.
    fn scan_all(&self) -> u64 {
        let mut cursor = self.rows.cursor(..).unwrap();
        let mut found = 0;
        while let Some(row) = cursor.next().unwrap() {
            black_box(row);
            found += 1;
        }
        found
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [kind, rows, scans] = arguments.as_slice() {
        let store = Store::new(kind, FEW_ROWS);
        store.scan_all();
        let (rows, scans) = (rows.parse().unwrap(), scans.parse().unwrap());
        let found = match rows {
            0 => (0..scans).map(|_| store.scan_all()).sum(),
            _ => store.scan(&mut Random(3), rows, scans),
        };
        println!("{found} rows");
        return;
    }
    for kind in ["one", "three", "half"] {
        let store = Store::new(kind, ROWS);
        for _ in 0..2 {
            store.scan_all();
        }
        for rows in [1, 10, 100] {
            let mut random = Random(3);
            let scans = SCANS / rows.max(10) * 10;
            let nanos = least(|| store.scan(&mut random, rows, scans));
            println!("{kind:6} seek to {rows:3}  {:9.1} ns a scan", nanos / scans as f64);
        }
        let nanos = least(|| store.scan_all());
        println!("{kind:6} all          {:9.1} ns a row", nanos / store.scan_all() as f64);
    }
    let store = Store::new("buckets", ROWS);
    let runs = store.rows.shape().unwrap().runs().len();
    for rows in [1, 10, 100] {
        let before = store.db.stats().unwrap().scans;
        store.scan(&mut Random(3), rows, SCANS / 10);
        let scans = store.db.stats().unwrap().scans.since(&before);
        let blocks = scans.blocks as f64 / scans.operations as f64;
        println!("buckets, {runs} runs: {blocks:.2} blocks a scan of {rows}");
    }
}

/// The least nanoseconds of the rounds.
fn least(mut body: impl FnMut() -> u64) -> f64 {
    let mut round = || {
        let began = Instant::now();
        black_box(body());
        began.elapsed().as_secs_f64() * 1e9
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
