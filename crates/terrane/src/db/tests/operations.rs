//! Events that report sampled gets and writes.

use super::*;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use terrane_policy::operations::{LevelReads, OperationStats};

/// Reports of a keyspace's operations.
type Reported = Arc<Mutex<Vec<(u64, OperationStats, OperationStats, Vec<LevelReads>)>>>;

/// A store on these files whose clock moves on by a millisecond at each reading, and that clock.
fn open_with_clock(files: &FaultVfs) -> (Db, Arc<AtomicU64>) {
    let executor = Arc::new(SliceExecutor::default());
    let db = Db::open_storage(directory(files), Options::small(), executor).unwrap();
    let now = Arc::new(AtomicU64::new(0));
    let read = now.clone();
    db.engine().set_clock(move || read.fetch_add(1000, Ordering::Relaxed));
    (db, now)
}

fn open_on(files: &FaultVfs) -> Db {
    open_with_clock(files).0
}

/// A new store, and what it will report.
fn open() -> (Db, Reported) {
    (open_on(&faulty()), Reported::default())
}

fn listen(db: &Db, reported: &Reported) {
    let reported = reported.clone();
    db.set_listener(Some(Arc::new(move |_, event: &Event| {
        if let Event::Operations { lasted_micros, gets, writes, levels, .. } = event {
            lock(&reported).push((*lasted_micros, gets.clone(), writes.clone(), levels.clone()));
        }
    })));
}

#[test]
fn gets_and_writes_are_reported_each_second() {
    let (db, reported) = open();
    listen(&db, &reported);
    let rows = db.default_keyspace();
    for n in 0..6000u32 {
        rows.put(n.to_be_bytes(), "value", Durability::Buffered).unwrap();
        assert!(rows.get(n.to_be_bytes()).unwrap().is_some());
    }
    let reported = lock(&reported);
    assert!(reported.len() >= 2, "{}", reported.len());
    for (lasted, gets, writes, _) in reported.iter() {
        assert!(*lasted >= 1_000_000, "{lasted}");
        for stats in [gets, writes] {
            assert!(stats.count > 0 && stats.quantiles.is_sorted());
            assert!(stats.p50_micros >= 100 && stats.p50_micros <= stats.p99_micros);
            assert!(stats.p99_micros <= stats.max_micros);
        }
    }
    let keys = |of: &[u8]| u32::from_be_bytes(of.try_into().unwrap());
    let last = &reported[reported.len() - 1].2.quantiles;
    assert!(keys(&last[0]) > keys(&reported[0].1.quantiles[0]));
}

#[test]
fn a_report_covers_no_pause_of_listening() {
    let ((db, now), reported) = (open_with_clock(&faulty()), Reported::default());
    let rows = db.default_keyspace();
    let put = |key: &str| {
        rows.put(key, "value", Durability::Buffered).unwrap();
    };
    let put_until_reported = |key: &str| {
        let before = lock(&reported).len();
        while lock(&reported).len() == before {
            put(key);
        }
    };
    listen(&db, &reported);
    put_until_reported("first");
    put("unreported");
    // Another listener takes over without a pause: nothing is lost.
    listen(&db, &reported);
    put_until_reported("second");
    let keys = |report: usize| lock(&reported)[report].2.quantiles.clone();
    assert_eq!(keys(1).last(), Some(&b"unreported".to_vec()));
    put("unreported");
    db.set_listener(None);
    put("unheard");
    now.fetch_add(3_600_000_000, Ordering::Relaxed);
    listen(&db, &reported);
    put_until_reported("third");
    let (lasted, ..) = lock(&reported)[2];
    assert!((1_000_000..2_000_000).contains(&lasted), "{lasted}");
    assert!(keys(2).iter().all(|key| key == b"third"));
}

#[test]
fn filters_and_blocks_of_gets_are_reported_by_level() {
    let (files, reported) = (faulty(), Reported::default());
    let db = open_on(&files);
    let rows = db.default_keyspace();
    for n in 0..200u8 {
        rows.put([n, 1], vec![n; 100], Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    rows.compact_range(..).unwrap();
    db.close().unwrap();
    // Nothing is cached.
    let db = open_on(&files);
    let rows = db.default_keyspace();
    let deepest = rows.shape().unwrap().levels().len() - 1;
    listen(&db, &reported);
    // Each key is there, and one between each two is not.
    let mut asked = 0;
    while lock(&reported).is_empty() {
        for n in 0..200u8 {
            assert!(rows.get([n, 1]).unwrap().is_some());
            // The table does not cover the key before its first.
            assert!(n == 0 || rows.get([n, 0]).unwrap().is_none());
            asked += 1;
        }
    }
    let reported = lock(&reported);
    let LevelReads {
        filter_lookups,
        filter_positives,
        filter_false_positives,
        searches,
        blocks_read,
    } = reported[0].3[deepest];
    assert!(filter_lookups > 0 && filter_lookups <= 2 * asked);
    assert!(filter_positives > 0 && filter_positives <= filter_lookups);
    assert!(filter_false_positives < filter_positives && filter_positives <= searches);
    assert!(blocks_read > 0 && blocks_read < searches, "{blocks_read} of {searches}");
}

#[test]
fn a_batch_counts_for_the_keyspace_of_its_first_entry() {
    let (db, reported) = open();
    listen(&db, &reported);
    let other = db.create_keyspace("other").unwrap();
    while lock(&reported).is_empty() {
        let mut batch = WriteBatch::new();
        batch.delete(&other, "first").unwrap();
        batch.put(&db.default_keyspace(), "second", "value").unwrap();
        db.write(batch, Durability::Buffered).unwrap();
    }
    let reported = lock(&reported);
    assert_eq!(reported[0].2.quantiles.first(), Some(&b"first".to_vec()));
    assert_eq!(reported[0].2.quantiles.last(), Some(&b"first".to_vec()));
}
