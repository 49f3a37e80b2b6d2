//! Gets of rows and of missing keys in one and in three runs of a million rows, of which the block cache holds
//! everything, and in one run where it holds a half of the blocks, the others being in the page cache.
//!
//! ```sh
//! cargo bench -p terrane-bench --bench gets
//! ```
//!
//! Prints the least time of the rounds. With a store, the kind of its gets and their number, it performs these alone:
//! two numbers under `valgrind --tool=callgrind` give the instructions of a get.
//!
//! ```sh
//! gets three missing 100000
//! ```
#![allow(missing_docs, clippy::unwrap_used)]

mod rows;

use rows::least;
use rows::store::{Store, key};
use std::hint::black_box;
use terrane_workload::Random;

const ROUNDS: usize = 9;
/// The rows of a store; of one whose gets are counted.
const ROWS: u64 = 1_000_000;
const FEW_ROWS: u64 = 40_000;
/// More than a store has; about half of what its blocks take.
const CACHE_BYTES: u64 = 1 << 29;
const HALF_CACHE_BYTES: u64 = ROWS * 64;
/// Gets in a round.
const GETS: u64 = 400_000;

/// Gets rows, or else missing keys; returns the number of those found.
fn get(store: &Store, is_missing: bool, gets: u64) -> u64 {
    let (mut random, mut found) = (Random(3), 0);
    for _ in 0..gets {
        let mut key = key(random.below(store.count), store.count);
        if let Some(last) = key.last_mut() {
            *last ^= u8::from(is_missing);
        }
        let value = store.rows.get_with(key, |value| black_box(value.len()));
        found += u64::from(value.unwrap().is_some());
    }
    found
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [store, kind, gets] = arguments.as_slice() {
        let store = match store.as_str() {
            "half-cached" => Store::new("one", ROWS, HALF_CACHE_BYTES),
            runs => Store::new(runs, FEW_ROWS, CACHE_BYTES),
        };
        // A block is shown, and has the heads of its keys, once it was read again.
        (0..2).for_each(|_| assert!(get(&store, false, 2 * FEW_ROWS) > 0));
        let is_missing = kind == "missing";
        println!("{} found", get(&store, is_missing, gets.parse().unwrap()));
        return;
    }
    for (kind, runs, cache) in [
        ("one", "one", CACHE_BYTES),
        ("three", "three", CACHE_BYTES),
        ("half-cached", "one", HALF_CACHE_BYTES),
    ] {
        let store = Store::new(runs, ROWS, cache);
        (0..4).for_each(|_| assert!(get(&store, false, ROWS) == ROWS));
        for (name, is_missing) in [("hit", false), ("missing", true)] {
            let nanos = least(ROUNDS, || get(&store, is_missing, GETS)) / GETS as f64;
            println!("{kind:12} {name:8} {nanos:9.1} ns a get");
        }
    }
}
