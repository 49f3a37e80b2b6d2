//! Range deletes: the price of many live ones for gets, a range beside deletes one by one, and a scan over what was
//! deleted.
//!
//! ```sh
//! cargo bench -p terrane-bench --bench range_deletes
//! ```
//!
//! The kinds take turns, a round each; the median of the rounds is printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::hint::black_box;
use std::time::{Duration, Instant};
use terrane::{Db, Durability, Keyspace, Options, Snapshot, WriteBatch};

const ROUNDS: usize = 9;
const KEYS: u64 = 1_000_000;
const LIVE: u64 = 10_000;
const GETS: u64 = 200_000;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A store of a million rows in compact tables, all in the cache once they were read.
struct Store {
    _place: tempfile::TempDir,
    db: Db,
    rows: Keyspace,
}

impl Store {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let options = Options::default().memory_bytes(1 << 30);
        let db = Db::open(place.path().join("db"), options).unwrap();
        let rows = db.default_keyspace();
        for first in (0..KEYS).step_by(1000) {
            let mut batch = WriteBatch::new();
            (first..first + 1000).for_each(|n| batch.put(&rows, key(n), value(n)).unwrap());
            db.write(batch, Durability::Buffered).unwrap();
        }
        rows.compact_range(..).unwrap();
        db.wait_until_idle().unwrap();
        Store { _place: place, db, rows }
    }

    fn pinned(&self) -> Snapshot {
        self.db.snapshot()
    }
}

fn value(number: u64) -> Vec<u8> {
    (0..12u64)
        .flat_map(|n| (number ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
        .collect()
}

fn main() {
    let (plain, deleted) = (Store::new(), Store::new());
    let _pins = deleted.pinned();
    for n in 0..LIVE {
        let from = n * (KEYS / LIVE);
        deleted.rows.delete_range(key(from)..key(from + 1), Durability::Buffered).unwrap();
    }
    deleted.db.flush().unwrap();
    deleted.db.wait_until_idle().unwrap();
    let fragments = deleted.db.stats().unwrap().keyspaces[0].range_deletes.fragments;
    assert_eq!(fragments as u64, LIVE, "all are live");
    let [without, with] = in_turns([&|| gets(&plain), &|| gets(&deleted)]);
    println!("gets without range deletes          {:.0} ns", nanos(without, GETS));
    println!(
        "gets with {LIVE} live ones         {:.0} ns  {:.2}",
        nanos(with, GETS),
        ratio(without, with)
    );

    let one_by_one = Store::new();
    let began = Instant::now();
    for n in 0..KEYS {
        one_by_one.rows.delete(key(n), Durability::Buffered).unwrap();
    }
    let each = began.elapsed();
    let by_range = Store::new();
    let _pins = by_range.pinned();
    let began = Instant::now();
    by_range.rows.delete_range(.., Durability::Buffered).unwrap();
    let at_once = began.elapsed();
    println!("{KEYS} deletes one by one         {each:?}");
    println!("one delete of their range           {at_once:?}  {:.0}x", ratio(each, at_once));

    for flushed in ["in memory", "flushed"] {
        let scan = || by_range.rows.scan(..).unwrap().next().is_none();
        let back = || by_range.rows.scan(..).unwrap().next_back().is_none();
        assert!(scan() && back());
        let [forward, backward] = in_turns([
            &|| {
                time(&|| {
                    black_box(scan());
                })
            },
            &|| {
                time(&|| {
                    black_box(back());
                })
            },
        ]);
        println!("a scan over it, {flushed}: {forward:?} forward, {backward:?} backward");
        by_range.db.flush().unwrap();
        by_range.db.wait_until_idle().unwrap();
    }
}

fn gets(store: &Store) -> Duration {
    let mut number = 1u64;
    let began = Instant::now();
    for _ in 0..GETS {
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        black_box(store.rows.get(key((number >> 32) % KEYS)).unwrap());
    }
    began.elapsed()
}

fn time(body: &dyn Fn()) -> Duration {
    let began = Instant::now();
    body();
    began.elapsed()
}

/// The median time of each, in turns.
fn in_turns(kinds: [&dyn Fn() -> Duration; 2]) -> [Duration; 2] {
    let mut times = [const { Vec::new() }; 2];
    for kind in kinds {
        kind();
    }
    for round in 0..ROUNDS {
        for turn in 0..2 {
            let kind = (round + turn) % 2;
            times[kind].push(kinds[kind]());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2]
    })
}

fn nanos(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count as f64
}

fn ratio(time: Duration, other: Duration) -> f64 {
    time.as_secs_f64() / other.as_secs_f64()
}
