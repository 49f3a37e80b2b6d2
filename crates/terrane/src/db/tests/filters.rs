//! Compaction filters.

use super::gated::{Gate, Gated};
use super::*;
use crate::executor::ThreadExecutor;
use crate::storage::vfs::Vfs;
use crate::{ErrorKind, FilterDecision, Millis};

/// Options whose merges remove the values that start with "old", whose policy compacts nothing before 20 runs wait.
fn options() -> Options {
    let policy = PolicyOptions::Tiered(Tiered { size_ratio: 20, ..Tiered::default() });
    Options { l0_stop_trigger: 40, ..Options::small() }.policy(policy).compaction_filter(Arc::new(
        |keyspace, key, value| {
            assert!(keyspace == "default" && key.starts_with(b"k"));
            let is_old = value.starts_with(b"old");
            if is_old { FilterDecision::Remove } else { FilterDecision::Keep }
        },
    ))
}

fn store() -> (Db, Keyspace) {
    let db = Db::open_storage(directory(&faulty()), options(), slices()).unwrap();
    let rows = db.default_keyspace();
    (db, rows)
}

fn put(rows: &Keyspace, key: &str, value: &str) {
    rows.put(key, value, Buffered).unwrap();
}

fn get(rows: &Keyspace, key: &str) -> Option<String> {
    rows.get(key).unwrap().map(|value| String::from_utf8(value).unwrap())
}

fn entries_in_tables(rows: &Keyspace) -> u64 {
    rows.shape().unwrap().tables().map(|(.., info)| info.entries).sum()
}

#[test]
fn merges_remove_what_the_filter_says_and_flushes_do_not() {
    let (db, rows) = store();
    put(&rows, "k1", "old");
    put(&rows, "k2", "new");
    // The newest version counts.
    put(&rows, "k3", "older");
    put(&rows, "k3", "new");
    put(&rows, "k4", "new");
    put(&rows, "k4", "old");
    db.flush().unwrap();
    assert_eq!(get(&rows, "k1").unwrap(), "old");
    rows.compact_range(..).unwrap();
    let found = ["k1", "k2", "k3", "k4"].map(|key| get(&rows, key).is_some());
    assert_eq!(found, [false, true, true, false]);
    assert_eq!(entries_in_tables(&rows), 2, "nothing is left of what was removed");
}

#[test]
fn a_filter_takes_nothing_away_from_a_snapshot_of_the_present() {
    let (db, rows) = store();
    put(&rows, "k1", "old");
    let snapshot = db.snapshot();
    rows.compact_range(..).unwrap();
    assert_eq!(snapshot.get(&rows, "k1").unwrap(), Some(b"old".to_vec()));
    drop(snapshot);
    rows.compact_range(..).unwrap();
    assert_eq!((get(&rows, "k1"), entries_in_tables(&rows)), (None, 0));
}

#[test]
fn what_a_filter_removes_hides_older_versions() {
    let (db, rows) = store();
    put(&rows, "k1", "first");
    put(&rows, "k2", "first");
    rows.compact_range(..).unwrap();
    put(&rows, "k1", "old");
    db.flush().unwrap();
    rows.compact_range("k1".."k2").unwrap();
    assert_eq!((get(&rows, "k1"), get(&rows, "k2").unwrap()), (None, "first".to_owned()));
}

#[test]
fn a_filter_takes_nothing_away_from_a_snapshot() {
    let (db, rows) = store();
    put(&rows, "k1", "old");
    let snapshot = db.snapshot();
    put(&rows, "k2", "old");
    rows.compact_range(..).unwrap();
    assert_eq!((get(&rows, "k1").unwrap(), get(&rows, "k2")), ("old".to_owned(), None));
    assert_eq!(snapshot.get(&rows, "k1").unwrap().unwrap(), b"old");
    drop(snapshot);
    put(&rows, "k3", "new");
    rows.compact_range(..).unwrap();
    assert_eq!((get(&rows, "k1"), entries_in_tables(&rows)), (None, 1));
}

#[test]
fn a_filter_sees_the_value_of_what_expires() {
    let (db, rows) = store();
    let mut batch = WriteBatch::new();
    for (key, value) in [("k1", "old"), ("k2", "new")] {
        batch.put_expiring_at(&rows, key, value, Millis::MAX).unwrap();
    }
    // Neither tombstones nor what is deleted with a range is asked about: the filter would panic.
    batch.put(&rows, "x", "old").unwrap();
    batch.delete_range(&rows, "x".."y").unwrap();
    batch.delete(&rows, "x").unwrap();
    db.write(batch, Buffered).unwrap();
    rows.compact_range(..).unwrap();
    assert_eq!((get(&rows, "k1"), get(&rows, "k2").unwrap()), (None, "new".to_owned()));
}

#[test]
fn a_filter_that_panics_stops_writes_and_reads_continue() {
    let (memory, gate) = (Arc::new(MemoryVfs::new()), Gate::default());
    let vfs: Arc<dyn Vfs> = Arc::new(Gated::on(memory.clone(), &gate));
    let storage = Arc::new(Directory::open(vfs).unwrap());
    let db = Db::open_storage(storage, options(), Arc::new(ThreadExecutor::new(2))).unwrap();
    let rows = db.default_keyspace();
    put(&rows, "k1", "new");
    // The filter refuses the key.
    put(&rows, "x", "new");
    db.flush().unwrap();
    let failed = rows.compact_range(..).unwrap_err();
    assert!(matches!(failed.kind(), ErrorKind::JobPanicked(_)), "{failed}");
    assert_eq!(entries(&db).len(), 2);
    assert!(rows.put("k2", "new", Buffered).is_err());
    drop((rows, db));
    let db = open(Arc::new(Directory::open(memory).unwrap()), slices()).unwrap();
    assert_eq!(entries(&db).len(), 2);
}
