//! Counters: increments by merge beside reading, adding and writing, of ten million counters of which most are in no
//! cache.
//!
//! ```sh
//! cargo bench -p terrane-bench --bench counters
//! ```
//!
//! The kinds take turns, a round each, on stores of their own. A round ends when the store is idle again, so that it
//! pays for its compactions; the median of the rounds is printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::{Duration, Instant};
use terrane::{Db, Durability, Keyspace, Operand, Options, WriteBatch};

const ROUNDS: usize = 5;
const COUNTERS: u64 = 10_000_000;
const INCREMENTS: u64 = 300_000;

/// Adds one to a counter.
type Increment = fn(&Db, &Keyspace, [u8; 8]);

const KINDS: [(&str, Increment); 3] = [
    ("merge", |_, rows, key| {
        rows.merge(key, Operand::Add(1), Durability::Buffered).unwrap();
    }),
    ("get, then put", |_, rows, key| {
        let next = count(rows.get(key).unwrap()) + 1;
        rows.put(key, next.to_string(), Durability::Buffered).unwrap();
    }),
    ("transaction", |db, rows, key| {
        let body = |tx: &mut terrane::Transaction| -> terrane::Result<()> {
            let next = count(tx.get(rows, key)?) + 1;
            tx.put(rows, key, next.to_string())
        };
        db.transact(Durability::Buffered, body).unwrap();
    }),
];

fn count(value: Option<Vec<u8>>) -> i64 {
    value.map_or(0, |value| String::from_utf8(value).unwrap().parse().unwrap())
}

/// A key, spread over all of them as a hash would be.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

struct Store {
    _place: tempfile::TempDir,
    db: Db,
    rows: Keyspace,
    next: u64,
}

impl Store {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let db = Db::open(place.path().join("db"), Options::default()).unwrap();
        let rows = db.default_keyspace();
        for first in (0..COUNTERS).step_by(1000) {
            let mut batch = WriteBatch::new();
            (first..first + 1000).for_each(|n| batch.put(&rows, key(n), "1").unwrap());
            db.write(batch, Durability::Buffered).unwrap();
        }
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        Store { _place: place, db, rows, next: 0 }
    }

    /// The time of increments, and the time until the store is idle.
    fn run(&mut self, increment: Increment) -> (Duration, Duration) {
        let began = Instant::now();
        for _ in 0..INCREMENTS {
            self.next = self.next.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            increment(&self.db, &self.rows, key((self.next >> 32) % COUNTERS));
        }
        let written = began.elapsed();
        self.db.flush().unwrap();
        self.db.wait_until_idle().unwrap();
        (written, began.elapsed())
    }
}

fn main() {
    let mut stores = [(); KINDS.len()].map(|()| Store::new());
    let mut times = [const { Vec::new() }; KINDS.len()];
    for round in 0..ROUNDS {
        for turn in 0..KINDS.len() {
            let kind = (round + turn) % KINDS.len();
            times[kind].push(stores[kind].run(KINDS[kind].1));
        }
    }
    let medians = times.map(|times| {
        let median = |of: fn(&(Duration, Duration)) -> Duration| {
            let mut times: Vec<Duration> = times.iter().map(of).collect();
            times.sort_unstable();
            times[ROUNDS / 2].as_secs_f64()
        };
        [median(|time| time.0), median(|time| time.1)]
    });
    println!(
        "{COUNTERS} counters, increments a second: as they return, and until the store is idle"
    );
    for ((name, _), [written, idle]) in KINDS.iter().zip(medians) {
        let rate = |seconds: f64| INCREMENTS as f64 / seconds;
        println!(
            "  {name:16} {:9.0}  {:.2}   {:9.0}  {:.2}",
            rate(written),
            medians[1][0] / written,
            rate(idle),
            medians[1][1] / idle
        );
    }
    let sums = stores.map(|store| {
        let row = |row: terrane::Result<(Vec<u8>, Vec<u8>)>| count(Some(row.unwrap().1));
        store.rows.scan(..).unwrap().map(row).sum::<i64>()
    });
    assert_eq!(sums, [(COUNTERS + ROUNDS as u64 * INCREMENTS) as i64; KINDS.len()]);
}
