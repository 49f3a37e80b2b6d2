//! Stores of which the block cache holds everything, or a part.

use crate::rows::value;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};
use terrane_workload::Random;

/// Rows deleted one after another.
const DELETED: u64 = 1000;

/// A store and its number of rows.
pub struct Store {
    _place: tempfile::TempDir,
    pub db: Db,
    pub rows: Keyspace,
    pub count: u64,
}

/// Keys are spread evenly; their order is that of numbers.
pub fn key(number: u64, count: u64) -> [u8; 16] {
    let mut key = [0; 16];
    let (head, tail) = key.split_at_mut(8);
    head.copy_from_slice(&(number * (u64::MAX / count)).to_be_bytes());
    tail.copy_from_slice(&terrane_workload::mix(number).to_be_bytes());
    key
}

impl Store {
    /// A store of `count` rows with a cache: in `one` run, in `three`, with `half` of them deleted, or in `buckets`.
    pub fn new(kind: &str, count: u64, cache_bytes: u64) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut options = Options::default().memory_bytes(1 << 30).memtable_bytes(64 << 20);
        options = options.cache_bytes(cache_bytes);
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
}
