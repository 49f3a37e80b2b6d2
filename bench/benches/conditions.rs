//! The price of conditions, transactions and updates, as ratios to plain writes of the same rows in the same run.
//!
//! ```sh
//! cargo bench -p terrane-bench --bench conditions
//! ```
//!
//! The kinds take turns, a round each, on stores of their own; the median of the rounds is printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::{Duration, Instant};
use terrane::{Condition, Db, Durability, Keyspace, Options, WriteBatch};

const ROUNDS: usize = 7;
const THREADS: u32 = 8;

/// Writes a key of a writer; each key once.
type Write = fn(&Db, &Keyspace, [u8; 8], Durability);

const KINDS: [(&str, Write); 4] = [
    ("plain", |db, keyspace, key, durability| {
        db.write(batch(keyspace, key), durability).unwrap();
    }),
    ("if absent", |db, keyspace, key, durability| {
        let condition = Condition::absent(keyspace, key);
        let outcome = db.write_if([condition], batch(keyspace, key), durability).unwrap();
        assert!(outcome.written().is_some());
    }),
    ("if another key is unchanged", |db, keyspace, key, durability| {
        let snapshot = db.snapshot();
        let condition = snapshot.unchanged(keyspace, [0xff; 8]..=[0xff; 8]);
        let outcome = db.write_if([condition], batch(keyspace, key), durability).unwrap();
        assert!(outcome.written().is_some());
    }),
    ("transaction that reads the key", |db, keyspace, key, durability| {
        let body = |tx: &mut terrane::Transaction| -> terrane::Result<()> {
            assert_eq!(tx.get(keyspace, key)?, None);
            tx.put(keyspace, key, [7; 100])
        };
        db.transact(durability, body).unwrap();
    }),
];

fn batch(keyspace: &Keyspace, key: [u8; 8]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.put(keyspace, key, [7; 100]).unwrap();
    batch
}

fn main() {
    for (title, threads, each, durability) in [
        ("8 threads, sync", THREADS, 300, Durability::Sync),
        ("8 threads, buffered", THREADS, 20_000, Durability::Buffered),
        ("1 thread, buffered", 1, 100_000, Durability::Buffered),
    ] {
        let mut times = [const { Vec::new() }; KINDS.len()];
        for round in 0..ROUNDS {
            for turn in 0..KINDS.len() {
                let kind = (round + turn) % KINDS.len();
                times[kind].push(run(KINDS[kind].1, threads, each, durability));
            }
        }
        let medians = times.map(|mut times| {
            times.sort_unstable();
            times[ROUNDS / 2].as_secs_f64()
        });
        println!("{title}");
        for ((name, _), seconds) in KINDS.iter().zip(medians) {
            let rate = f64::from(threads * each) / seconds;
            println!("  {name:32} {rate:9.0} a second  {:.2}", medians[0] / seconds);
        }
    }
}

/// The time in which each of the threads writes its keys.
fn run(write: Write, threads: u32, each: u32, durability: Durability) -> Duration {
    let place = tempfile::tempdir().unwrap();
    let db = Db::open(place.path().join("db"), Options::default()).unwrap();
    let keyspace = db.default_keyspace();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (db, keyspace) = (&db, &keyspace);
            scope.spawn(move || {
                for n in 0..each {
                    // Spread over all keys, as a hash would.
                    let key = u64::from(thread * each + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    write(db, keyspace, (key >> 1).to_be_bytes(), durability);
                }
            });
        }
    });
    began.elapsed()
}
