//! Writers: group commit, stalls, and the background work that they cause.

use crate::explore::{crowded, explore, number, open, place, put, value};
use shuttle::thread;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::{Condition, Durability, Keyspace, Outcome, WriteBatch};
use terrane_tests::fixtures::tiny;

fn get(keyspace: &Keyspace, key: &[u8]) -> Option<u64> {
    keyspace.get(key).expect("nothing fails").as_deref().map(number)
}

#[test]
fn every_writer_returns_and_reads_what_it_wrote() {
    explore(200, || {
        let rig = place();
        let db = open(&rig, crowded());
        let keyspace = db.default_keyspace();
        let writers: Vec<_> = (0..3u8)
            .map(|writer| {
                let keyspace = keyspace.clone();
                thread::spawn(move || {
                    for n in 0..3u8 {
                        let sync = (writer + n) % 3 == 0;
                        let durability = if sync { Durability::Sync } else { Durability::Buffered };
                        keyspace.put(&[writer, n], &value(n.into()), durability).expect("room");
                        assert_eq!(get(&keyspace, &[writer, n]), Some(n.into()));
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        assert_eq!(db.check().expect("nothing fails").damage, []);
        db.close().expect("nothing fails");
        let keyspace = open(&rig, crowded()).default_keyspace();
        for key in (0..3).flat_map(|writer| (0..3).map(move |n| [writer, n])) {
            assert_eq!(get(&keyspace, &key), Some(key[1].into()));
        }
    });
}

#[test]
fn background_work_finishes_without_another_call() {
    explore(100, || {
        let db = open(&place(), crowded());
        let keyspace = db.default_keyspace();
        let writers = [0u8, 1].map(|writer| {
            let keyspace = keyspace.clone();
            thread::spawn(move || (0..4).for_each(|n| put(&keyspace, &[writer, n as u8], n)))
        });
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        // Nobody calls the store: sealed memtables are flushed all the same.
        while !db.is_flushed() {
            thread::yield_now();
        }
    });
}

#[test]
fn concurrent_flushes_end_with_everything_in_tables() {
    explore(100, || {
        let db = open(&place(), crowded());
        let threads = [0u8, 1, 2].map(|writer| {
            let (db, keyspace) = (db.clone(), db.default_keyspace());
            thread::spawn(move || {
                put(&keyspace, &[writer], 1);
                db.flush().expect("nothing fails");
                let shape = keyspace.shape().expect("an open store");
                let holds = |key: &[u8]| {
                    shape.tables().any(|(_, _, t)| *t.smallest <= *key && *key <= *t.largest)
                };
                assert!(holds(&[writer]), "a flush ended before its entry was in a table");
                db.wait_until_idle().expect("nothing fails");
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

#[test]
fn a_write_during_a_flush_goes_into_an_unflushed_memtable() {
    explore(400, || {
        // Jobs run on the calling thread: few steps, so that most orders differ in them.
        let executor = Arc::new(SliceExecutor::default());
        let db = place().open_with(tiny(), executor).expect("a sound place");
        let keyspace = db.default_keyspace();
        put(&keyspace, b"first", 0);
        let writer = thread::spawn({
            let keyspace = keyspace.clone();
            move || {
                for n in 0..24 {
                    keyspace.put(&[n], &[n], Durability::Buffered).expect("room");
                }
            }
        });
        db.flush().expect("nothing fails");
        writer.join().expect("no panic");
        db.flush().expect("nothing fails");
        for n in 0..24 {
            let found = keyspace.get(&[n]).expect("nothing fails");
            assert_eq!(found, Some(vec![n]), "a write is lost");
        }
    });
}

#[test]
fn writes_timed_syncs_flushes_and_compactions_run_at_once() {
    explore(60, || {
        let rig = place();
        // The executor's timer syncs at any moment.
        let db = open(&rig, crowded());
        let keyspace = db.default_keyspace();
        (0..3).for_each(|n| put(&keyspace, &[9, n], n.into()));
        let writers = [0u8, 1].map(|writer| {
            let keyspace = keyspace.clone();
            thread::spawn(move || {
                for n in 0..3u8 {
                    let durability = if n == 1 { Durability::Sync } else { Durability::Buffered };
                    keyspace.put(&[writer, n], &value(n.into()), durability).expect("room");
                    assert_eq!(get(&keyspace, &[writer, n]), Some(n.into()));
                }
            })
        });
        let flusher = thread::spawn({
            let db = db.clone();
            move || db.flush().expect("nothing fails")
        });
        keyspace.compact_range(..).expect("nothing fails");
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        flusher.join().expect("no panic");
        assert_eq!(db.check().expect("nothing fails").damage, []);
        db.close().expect("nothing fails");
        let keyspace = open(&rig, crowded()).default_keyspace();
        for key in [0, 1, 9].into_iter().flat_map(|of| (0..3).map(move |n| [of, n])) {
            assert_eq!(get(&keyspace, &key), Some(key[1].into()));
        }
    });
}

#[test]
fn increments_under_conditions_are_never_lost() {
    explore(200, || {
        let db = open(&place(), crowded());
        let keyspace = db.default_keyspace();
        let threads: Vec<_> = (0..3u8)
            .map(|thread| {
                let (db, keyspace) = (db.clone(), keyspace.clone());
                thread::spawn(move || {
                    // A plain write overtakes now and then.
                    put(&keyspace, &[thread], 0);
                    for _ in 0..2 {
                        loop {
                            let found = keyspace.get_versioned(b"count").expect("nothing fails");
                            let condition = match &found {
                                None => Condition::absent(&keyspace, b"count"),
                                Some(found) => Condition::version(&keyspace, b"count", found.seq),
                            };
                            let count = found.map_or(0, |found| number(&found.value));
                            let mut batch = WriteBatch::new();
                            batch.put(&keyspace, b"count", value(count + 1)).expect("room");
                            let outcome = db.write_if([condition], batch, Durability::Buffered);
                            if outcome.expect("nothing fails").written().is_some() {
                                break;
                            }
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(get(&keyspace, b"count"), Some(6));
    });
}

#[test]
fn only_one_of_many_creates_a_key() {
    explore(200, || {
        let db = open(&place(), crowded());
        let keyspace = db.default_keyspace();
        let threads: Vec<_> = (0..3u64)
            .map(|thread| {
                let (db, keyspace) = (db.clone(), keyspace.clone());
                thread::spawn(move || {
                    let mut batch = WriteBatch::new();
                    batch.put(&keyspace, b"key", value(thread)).expect("room");
                    let condition = Condition::absent(&keyspace, b"key");
                    let outcome = db.write_if([condition], batch, Durability::Buffered);
                    match outcome.expect("nothing fails") {
                        Outcome::Written(_) => Some(thread),
                        Outcome::Refused(refusals) => {
                            assert!(refusals[0].found.is_some(), "refused by nothing");
                            None
                        }
                    }
                })
            })
            .collect();
        let written: Vec<u64> =
            threads.into_iter().filter_map(|thread| thread.join().expect("no panic")).collect();
        assert_eq!(written.len(), 1);
        assert_eq!(get(&keyspace, b"key"), Some(written[0]));
    });
}
