//! Gets that read memory alone, and what others do meanwhile.

use super::*;
use crate::error::Closed;

/// Returns the names of the tables' files.
fn tables(vfs: &FaultVfs) -> Vec<String> {
    let mut names = vfs.list().unwrap();
    names.retain(|name| name.ends_with(".sst"));
    names
}

/// A store of one table, whose row `key` is read once more: from now on gets of it need memory alone.
fn shown(storage: Arc<dyn Storage>) -> (Db, Keyspace) {
    let db = open(storage, slices()).unwrap();
    let rows = db.create_keyspace("rows").unwrap();
    rows.put("key", "first", Buffered).unwrap();
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    (0..3).for_each(|_| assert!(rows.get("key").unwrap().is_some()));
    (db, rows)
}

#[test]
fn a_get_in_memory_keeps_no_file() {
    let vfs = faulty();
    let (db, rows) = shown(directory(&vfs));
    let before = tables(&vfs);
    let read = rows.get_with("key", |value| {
        rows.put("key", "second", Buffered).unwrap();
        rows.compact_range(..).unwrap();
        db.wait_until_idle().unwrap();
        assert!(before.iter().all(|name| !tables(&vfs).contains(name)), "{before:?}");
        assert_eq!(rows.get("key").unwrap(), Some(b"second".to_vec()));
        // What is lent stays though its table is gone.
        value.to_vec()
    });
    assert_eq!((before.len(), read.unwrap()), (1, Some(b"first".to_vec())));
}

#[test]
fn a_get_in_memory_keeps_no_storage() {
    let storage = directory(&faulty());
    let (db, rows) = shown(storage.clone());
    // As a get would be that another thread has under way.
    let mut pin = crate::sync::Pin::default();
    pin.pinned();
    drop((db, rows));
    assert_eq!(Arc::strong_count(&storage), 1);
}

#[test]
fn handles_show_nothing_of_a_dropped_keyspace_or_closed_store() {
    let (db, rows) = shown(directory(&faulty()));
    let snapshot = db.snapshot();
    let is_refused = |closed: Closed| {
        let refused = |result: Result<Option<Vec<u8>>>| match result.unwrap_err().kind() {
            ErrorKind::Closed(found) => *found == closed,
            _ => false,
        };
        refused(rows.get("key")) && refused(snapshot.get(&rows, "key"))
    };
    assert!(db.drop_keyspace("rows").unwrap());
    assert!(is_refused(Closed::Keyspace));
    assert!(!db.create_keyspace("rows").unwrap().contains_key("key").unwrap());
    let other = db.default_keyspace();
    other.put("key", "value", Buffered).unwrap();
    db.clone().close().unwrap();
    assert!(is_refused(Closed::Store) && other.get("key").is_err());
}

#[test]
fn a_get_that_reads_a_file_counts_what_one_in_memory_counts() {
    let (db, rows) = shown(directory(&faulty()));
    let counts = || db.stats().unwrap().gets;
    let of = |cache: u64| {
        db.engine().jobs.cache.resize(cache);
        let before = counts();
        assert!(rows.get("key").unwrap().is_some() && rows.get("kez").unwrap().is_none());
        counts().since(&before)
    };
    let in_memory = of(1 << 20);
    let in_file = of(0);
    assert_eq!((in_memory.operations, in_memory.blocks, in_memory.blocks_cached), (2, 1, 1));
    assert_eq!((in_file.operations, in_file.blocks, in_file.blocks_cached), (2, 1, 0));
    assert!(in_memory.bytes_read == 0 && in_file.bytes_read > 0);
}
