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

mod rows;

use rows::least;
use rows::store::{Store, key};
use std::hint::black_box;
use terrane_workload::Random;

const ROUNDS: usize = 7;
/// The rows of a store; of one whose scans are counted.
const ROWS: u64 = 400_000;
const FEW_ROWS: u64 = 40_000;
/// More than a store has.
const CACHE_BYTES: u64 = 1 << 29;
/// Scans in a round.
const SCANS: u64 = 20_000;

/// Scans `rows` rows from any key on, `scans` times; returns the rows.
fn scan(store: &Store, random: &mut Random, rows: u64, scans: u64) -> u64 {
    let mut found = 0;
    for _ in 0..scans {
        let from = key(random.below(store.count), store.count);
        let mut cursor = store.rows.cursor(from..).unwrap();
        for _ in 0..rows {
            let Some(row) = cursor.next().unwrap() else { break };
            black_box(row);
            found += 1;
        }
    }
    found
}

/// Scans all rows; returns their number.
fn scan_all(store: &Store) -> u64 {
    let mut cursor = store.rows.cursor(..).unwrap();
    let mut found = 0;
    while let Some(row) = cursor.next().unwrap() {
        black_box(row);
        found += 1;
    }
    found
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [kind, rows, scans] = arguments.as_slice() {
        let store = Store::new(kind, FEW_ROWS, CACHE_BYTES);
        scan_all(&store);
        let (rows, scans) = (rows.parse().unwrap(), scans.parse().unwrap());
        let found = match rows {
            0 => (0..scans).map(|_| scan_all(&store)).sum(),
            _ => scan(&store, &mut Random(3), rows, scans),
        };
        println!("{found} rows");
        return;
    }
    for kind in ["one", "three", "half"] {
        let store = Store::new(kind, ROWS, CACHE_BYTES);
        for _ in 0..2 {
            scan_all(&store);
        }
        for rows in [1, 10, 100] {
            let mut random = Random(3);
            let scans = SCANS / rows.max(10) * 10;
            let nanos = least(ROUNDS, || scan(&store, &mut random, rows, scans));
            println!("{kind:6} seek to {rows:3}  {:9.1} ns a scan", nanos / scans as f64);
        }
        let nanos = least(ROUNDS, || scan_all(&store));
        println!("{kind:6} all          {:9.1} ns a row", nanos / scan_all(&store) as f64);
    }
    let store = Store::new("buckets", ROWS, CACHE_BYTES);
    let runs = store.rows.shape().unwrap().runs().len();
    for rows in [1, 10, 100] {
        let before = store.db.stats().unwrap().scans;
        scan(&store, &mut Random(3), rows, SCANS / 10);
        let scans = store.db.stats().unwrap().scans.since(&before);
        let blocks = scans.blocks as f64 / scans.operations as f64;
        println!("buckets, {runs} runs: {blocks:.2} blocks a scan of {rows}");
    }
}
