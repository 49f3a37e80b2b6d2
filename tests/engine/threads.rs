//! Many threads on one native store, with background work on other threads.
//!
//! Every writer has its own keys and its own model of them. Each of its batches writes one number to a
//! pair of keys, so readers can tell that batches are whole and that time does not run backward.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use terrane::{Db, Durability, Keyspace, Options, WriteBatch};
use terrane_tests::full;
use terrane_workload::Random;

const WRITERS: u64 = 4;
const KEYS: u64 = 60;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Limits so small that flushes and merges never pause.
fn options() -> Options {
    Options::default()
        .memtable_bytes(32 << 10)
        .wal_file_bytes(64 << 10)
        .max_total_wal_bytes(256 << 10)
        .cache_bytes(64 << 10)
        .sync_interval(Duration::from_millis(5))
        .allow_mmap_writes(true)
        .allow_mmap_reads(true)
}

fn key(writer: u64, name: &str, number: u64) -> Vec<u8> {
    format!("{writer}/{name}{number:03}").into_bytes()
}

/// Writes batches: a pair of keys that is never deleted, and puts and deletes of others.
fn write(keyspace: &Keyspace, db: &Db, writer: u64, batches: u64) -> Model {
    let mut random = Random(writer);
    let mut model = Model::new();
    for number in 0..batches {
        let mut batch = WriteBatch::new();
        let mut value = number.to_be_bytes().to_vec();
        value.extend((0..random.below(200)).map(|_| random.word() as u8));
        let pair = random.below(KEYS);
        for key in [key(writer, "left", pair), key(writer, "right", pair)] {
            batch.put(keyspace.id(), &key, &value).unwrap();
            model.insert(key, value.clone());
        }
        let key = key(writer, "other", random.below(KEYS));
        if random.one_in(3) {
            batch.delete(keyspace.id(), &key).unwrap();
            model.remove(&key);
        } else {
            batch.put(keyspace.id(), &key, &value).unwrap();
            model.insert(key, value);
        }
        let sync = random.one_in(20);
        db.write(batch, if sync { Durability::Sync } else { Durability::Buffered }).unwrap();
    }
    model
}

/// Gets random pairs: the number of a key never decreases.
fn get(keyspace: &Keyspace, stop: &AtomicBool) {
    let mut last = BTreeMap::new();
    let mut random = Random(7);
    while !stop.load(Ordering::Relaxed) {
        let key = key(random.below(WRITERS), "left", random.below(KEYS));
        let found = keyspace.get(&key).unwrap().map(|value| value[..8].to_vec());
        let before = last.insert(key, found.clone()).flatten();
        assert!(before <= found, "a get shows {found:?} after {before:?}");
    }
}

/// Scans in either direction: keys are in order, and both keys of a pair have the same value.
fn scan(keyspace: &Keyspace, stop: &AtomicBool, backward: bool) {
    while !stop.load(Ordering::Relaxed) {
        let mut cursor = keyspace.cursor(..).unwrap();
        let mut seen = Model::new();
        let mut last: Option<Vec<u8>> = None;
        while let Some((key, value)) = if backward { cursor.prev() } else { cursor.next() }.unwrap()
        {
            let in_order = last.as_deref().is_none_or(|l| if backward { key < l } else { l < key });
            assert!(in_order, "a scan is out of order");
            last = Some(key.to_vec());
            seen.insert(key.to_vec(), value.to_vec());
        }
        for writer in 0..WRITERS {
            for pair in 0..KEYS {
                let sides = ["left", "right"].map(|name| seen.get(&key(writer, name, pair)));
                assert_eq!(sides[0], sides[1], "a batch is torn");
            }
        }
    }
}

fn holds(keyspace: &Keyspace, model: &Model) {
    let mut scan = keyspace.scan(..).unwrap();
    for (key, value) in model {
        let found = scan.next().transpose().unwrap();
        assert_eq!(found, Some((key.clone(), value.clone())));
        assert_eq!(keyspace.get(key).unwrap().as_ref(), Some(value));
    }
    assert!(scan.next().is_none());
}

fn reopen(place: &Path, model: &Model) -> Db {
    let db = Db::open(place, options()).unwrap();
    holds(&db.default_keyspace(), model);
    assert_eq!(db.check().unwrap().damage, []);
    db
}

#[test]
fn writers_and_readers_on_many_threads_agree_with_a_model() {
    let batches = if full() { 60_000 } else { 2_500 };
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    let keyspace = db.default_keyspace();
    let stop = AtomicBool::new(false);
    let model: Model = std::thread::scope(|threads| {
        let (db, keyspace, stop) = (&db, &keyspace, &stop);
        threads.spawn(move || get(keyspace, stop));
        threads.spawn(move || scan(keyspace, stop, false));
        threads.spawn(move || scan(keyspace, stop, true));
        threads.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(db.check().unwrap().damage, [], "a check of a store in use");
            }
        });
        let spawn = |writer| threads.spawn(move || write(keyspace, db, writer, batches));
        let writers: Vec<_> = (0..WRITERS).map(spawn).collect();
        let models: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        models.into_iter().flat_map(|model| model.expect("the writer's own message")).collect()
    });
    holds(&keyspace, &model);
    let stats = db.stats().unwrap();
    assert!(stats.flushed_bytes > 0 && stats.merge_written_bytes > 0, "no work: {stats:?}");
    db.wait_until_idle().unwrap();
    holds(&keyspace, &model);
    assert_eq!(db.check().unwrap().damage, []);
    // Dropped without a close, then closed.
    drop((keyspace, db));
    reopen(dir.path(), &model).close().unwrap();
    reopen(dir.path(), &model);
}
