//! Readers, while super versions, memtables and tables are replaced under them.

use crate::explore::{crowded, explore, number, open, place, put, value};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::Vfs;
use terrane::{Db, Durability, WriteBatch};
use terrane_tests::fixtures::tiny;

const LAST: u64 = 6;

/// Writes 1 to [`LAST`] to one key, and compacts everything now and then.
fn overwrite(db: &Db) -> thread::JoinHandle<()> {
    let keyspace = db.default_keyspace();
    thread::spawn(move || {
        for n in 1..=LAST {
            put(&keyspace, b"key", n);
            if n % 3 == 0 {
                keyspace.compact_range(..).expect("nothing fails");
            }
        }
    })
}

#[test]
fn a_key_never_vanishes_and_never_goes_back() {
    explore(200, || {
        let db = open(&place(), crowded());
        let keyspace = db.default_keyspace();
        put(&keyspace, b"key", 0);
        let writer = overwrite(&db);
        let mut last = 0;
        for round in 0..6 {
            let found = if round % 2 == 0 {
                keyspace.get(b"key").expect("nothing fails")
            } else {
                let mut cursor = keyspace.cursor(..).expect("nothing fails");
                cursor.next().expect("nothing fails").map(|(_, value)| value.to_vec())
            };
            let found = number(&found.expect("the key is always there"));
            assert!(last <= found, "{found} after {last}");
            last = found;
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn a_snapshot_is_stable_through_flushes_and_merges() {
    explore(200, || {
        let db = open(&place(), crowded());
        let keyspace = db.default_keyspace();
        put(&keyspace, b"key", 0);
        let writer = overwrite(&db);
        for _ in 0..2 {
            let snapshot = db.snapshot();
            let look = || snapshot.get(&keyspace, b"key").expect("nothing fails");
            let seen = look().expect("the key is always there");
            // Sequence 1 is the entry of 0.
            assert_eq!(number(&seen) + 1, snapshot.sequence());
            for _ in 0..3 {
                thread::yield_now();
                assert_eq!(look(), Some(seen.clone()));
            }
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn a_batch_over_two_keyspaces_is_visible_whole_or_not_at_all() {
    explore(200, || {
        let db = open(&place(), crowded());
        let (one, two) = (db.default_keyspace(), db.create_keyspace("two").expect("nothing fails"));
        let writer = thread::spawn({
            let (db, one, two) = (db.clone(), one.clone(), two.clone());
            move || {
                for n in 1..=LAST {
                    let mut batch = WriteBatch::new();
                    batch.put(one.id(), b"key", &value(n)).expect("within limits");
                    batch.put(two.id(), b"key", &value(n)).expect("within limits");
                    db.write(batch, Durability::Buffered).expect("nothing fails");
                }
            }
        });
        for _ in 0..4 {
            let snapshot = db.snapshot();
            let look = |keyspace| {
                let found = snapshot.get(keyspace, b"key").expect("nothing fails");
                found.as_deref().map(number)
            };
            assert_eq!(look(&two), look(&one), "a batch is torn");
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn a_scan_reads_tables_that_were_dropped_since_it_began() {
    explore(100, || {
        let db = open(&place(), crowded());
        let keyspace = db.default_keyspace();
        (0..4u8).for_each(|key| put(&keyspace, &[key], 0));
        db.flush().expect("nothing fails");
        let writer = thread::spawn({
            let keyspace = keyspace.clone();
            move || {
                (0..4u8).for_each(|key| put(&keyspace, &[key], 1));
                keyspace.compact_range(..).expect("nothing fails");
            }
        });
        let mut cursor = keyspace.cursor(..).expect("nothing fails");
        let mut seen = Vec::new();
        while let Some((key, value)) = cursor.next().expect("what a scan holds is not removed") {
            seen.push((key[0], number(value)));
            thread::yield_now();
        }
        assert!(seen.iter().map(|(key, _)| *key).eq(0..4), "{seen:?}");
        // The writer goes from left to right, one key at a time.
        assert!(seen.is_sorted_by(|(_, a), (_, b)| a >= b), "no moment looked like {seen:?}");
        drop(cursor);
        writer.join().expect("no panic");
    });
}

#[test]
fn a_snapshot_taken_while_a_merge_starts_finds_its_version() {
    explore(400, || {
        // Jobs run on the calling thread: few steps, so that most orders differ in them.
        let executor = Arc::new(SliceExecutor::default());
        let db = place().open_with(crowded(), executor).expect("a sound place");
        let keyspace = db.default_keyspace();
        put(&keyspace, b"key", 0);
        db.flush().expect("nothing fails");
        let writer = thread::spawn({
            let keyspace = keyspace.clone();
            move || {
                put(&keyspace, b"key", 1);
                keyspace.compact_range(..).expect("nothing fails");
            }
        });
        for _ in 0..8 {
            let snapshot = db.snapshot();
            let found = snapshot.get(&keyspace, b"key").expect("nothing fails");
            let found = number(&found.expect("the key is always there"));
            assert_eq!(found + 1, snapshot.sequence());
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn files_pinned_by_readers_are_removed_after_the_next_write() {
    explore(200, || {
        let rig = place();
        let db = open(&rig, tiny());
        let keyspace = db.default_keyspace();
        // Each scan pins a table that the next merge drops.
        let [first, second, _] = [0, 1, 2].map(|n| {
            put(&keyspace, b"key", n);
            keyspace.compact_range(..).expect("nothing fails");
            keyspace.scan(..).expect("nothing fails")
        });
        db.wait_until_idle().expect("nothing fails");
        drop(first);
        let reader = thread::spawn(move || {
            // At any moment of the search for work that the write beside it causes.
            (0..thread_rng().gen_range(0..100)).for_each(|_| thread::yield_now());
            drop(second);
        });
        put(&keyspace, b"key", 3);
        reader.join().expect("no panic");
        put(&keyspace, b"key", 4);
        let tables = || {
            let names = rig.vfs.list().expect("nothing fails");
            names.iter().filter(|name| name.ends_with(".sst")).count()
        };
        let named = || keyspace.shape().expect("an open store").tables().count();
        while tables() > named() {
            thread::yield_now();
        }
    });
}
