//! Operands, into a store with the merge operator and into one without.

use super::*;
use crate::operand::Operand;

/// Returns options with an operator that appends.
fn appending() -> Options {
    let append = |older: &[u8], newer: &[u8]| [older, newer].concat();
    Options::small().merge_operator(Arc::new(append))
}

fn open(store: &Store, options: Options) -> Db {
    Db::open_storage(store.storage(), options, Arc::new(SliceExecutor::default())).unwrap()
}

/// Writes a value, two operands over it, which a flush joins, and a plain row.
fn written(flushed: bool) -> Store {
    let store = Store::new(Layout::Directory);
    let db = open(&store, appending());
    put(&db, "default", "joined", "a");
    put(&db, "default", "plain", "x");
    if flushed {
        db.flush().unwrap();
    }
    for operand in [b"b", b"c"] {
        let operand = Operand::Custom(operand);
        db.default_keyspace().merge("joined", operand, Durability::Buffered).unwrap();
    }
    if flushed {
        db.flush().unwrap();
    }
    db.close().unwrap();
    store
}

#[test]
fn operands_are_joined_by_the_operator_of_the_new_store() {
    for flushed in [false, true] {
        let target = open(&Store::new(Layout::Directory), appending());
        let remains = written(flushed).remains();
        let report = repair(remains, &target, DoubtfulRows::Together).unwrap();
        assert!(report.complete, "{report:?}");
        let values = ["joined", "plain"].map(|key| get(&target, key).unwrap());
        assert_eq!(values, ["abc", "x"]);
    }
}

#[test]
fn operands_without_their_operator_are_named_as_lost() {
    for flushed in [false, true] {
        let (target, report) = written(flushed).repair();
        assert!(!report.complete, "{report:?}");
        assert_eq!(get(&target, "joined").as_deref(), Some("a"), "what lies below stays");
        assert_eq!(get(&target, "plain").as_deref(), Some("x"));
        assert_eq!(report.doubtful_rows, 1);
        let [doubtful] = &report.doubtful[..] else { panic!("{report:?}") };
        assert_eq!(doubtful.from.as_deref(), Some(&b"joined"[..]));
        assert_eq!((&doubtful.from, doubtful.rows), (&doubtful.through, 1));
        assert!(doubtful.reason.contains("merge_operator"));
        let lost = report.files.iter().flat_map(|file| &file.lost).chain(&report.notes);
        assert!(lost.clone().any(|why| why.contains("merge_operator")), "{report:?}");
    }
}

/// Returns a store with counters, its rows, and the file of a table. The table has, joined, operands of a log that is
/// gone and of the log that is left; that log has newer operands as well.
fn counted() -> (Store, Rows, FileId) {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    let add = |key: &str, n: i64| {
        let rows = db.default_keyspace();
        rows.merge(key, Operand::Add(n), Durability::Buffered).unwrap();
    };
    put(&db, "default", "b", "100");
    put(&db, "default", "c", "100");
    db.flush().unwrap();
    add("b", 1);
    add("c", 1);
    // More than a log holds.
    for n in 0..5 {
        put(&db, "default", &format!("a{n}"), &"v".repeat(1000));
    }
    add("b", 2);
    db.flush().unwrap();
    add("b", 4);
    add("b", 8);
    let expected = rows(&db, "default");
    assert_eq!((&*expected[&b"b"[..]], &*expected[&b"c"[..]]), (&b"115"[..], &b"101"[..]));
    db.close().unwrap();
    let version_set = store.look().0;
    let tables = version_set.keyspaces.get(&KeyspaceId(0)).unwrap().shape.tables();
    let newest = tables.map(|(.., info)| (info.last_seq, info.id.0)).max().unwrap();
    assert!((3..newest.0).contains(&version_set.log_start), "the log has some of its operands");
    (store, expected, FileId::table(newest.1))
}

#[test]
fn operands_in_both_a_log_and_a_table_count_once() {
    let (store, expected, _) = counted();
    let (target, report) = store.repair();
    assert!(report.complete, "{report:?}");
    assert_eq!(rows(&target, "default"), expected);
    // Also where every row is doubtful.
    store.lose_manifest();
    let (target, report) = store.repair();
    assert_eq!(rows(&target, "default"), expected, "{report:?}");
}

#[test]
fn a_row_whose_operands_are_lost_with_their_table_is_doubtful() {
    let (store, _, table) = counted();
    store.vfs.remove(&table.to_string()).unwrap();
    let (target, report) = store.repair();
    assert_eq!(get(&target, "b").as_deref(), Some("114"), "the log has the others");
    for key in ["b", "c"] {
        assert!(model::is_doubtful(&report, "default", key.as_bytes()), "{key}: {report:?}");
    }
    assert_eq!(report.doubtful_rows, 2);
}

#[test]
fn a_compacted_counter_rests_on_a_table_that_the_log_lacks() {
    let (store, ..) = counted();
    let db = store.open();
    db.default_keyspace().compact_range(..).unwrap();
    db.default_keyspace().merge("b", Operand::Add(16), Durability::Buffered).unwrap();
    db.flush().unwrap();
    db.default_keyspace().compact_range(..).unwrap();
    let expected = rows(&db, "default");
    db.close().unwrap();
    let (target, report) = store.repair();
    assert!(report.complete, "{report:?}");
    assert_eq!(rows(&target, "default"), expected);
    for name in store.vfs.list().unwrap().iter().filter(|name| name.ends_with(".sst")) {
        store.vfs.remove(name).unwrap();
    }
    let (target, report) = store.repair();
    for (key, value) in rows(&target, "default") {
        let is_right = expected.get(&key) == Some(&value);
        assert!(is_right || model::is_doubtful(&report, "default", &key), "{key:?}: {report:?}");
    }
}

#[test]
fn a_lost_log_record_of_an_operand_makes_its_row_doubtful() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "default", "n", "100");
    let rows = db.default_keyspace();
    for n in [1, 2, 4] {
        rows.merge("n", Operand::Add(n), Durability::Buffered).unwrap();
    }
    db.close().unwrap();
    let log = store.vfs.list().unwrap().into_iter().find(|name| name.ends_with(".log")).unwrap();
    let file = store.vfs.open(&log).unwrap();
    let (version_set, _) = store.look();
    let found = crate::wal::scan(&bytes(&*file), version_set.logs[0].id()).unwrap();
    let third = found.into_iter().find(|found| found.header.first == 3).unwrap();
    flip(&*file, third.offset + crate::wal::record::HEADER_BYTES as u64);
    let (target, report) = store.repair();
    assert_eq!(get(&target, "n").as_deref(), Some("105"), "all but the lost one");
    assert!(model::is_doubtful(&report, "default", b"n"), "{report:?}");
}

#[test]
fn merges_of_one_key_in_a_batch_are_repaired_together() {
    let store = Store::new(Layout::Directory);
    let db = open(&store, appending());
    let mut batch = WriteBatch::new();
    batch.put(KeyspaceId(0), "k", "a").unwrap();
    for operand in [b"b", b"c"] {
        batch.merge(KeyspaceId(0), "k", Operand::Custom(operand)).unwrap();
        batch.merge(KeyspaceId(0), "l", Operand::Custom(operand)).unwrap();
    }
    db.write(batch, Durability::Buffered).unwrap();
    db.close().unwrap();
    let target = open(&Store::new(Layout::Directory), appending());
    let report = repair(store.remains(), &target, DoubtfulRows::Together).unwrap();
    assert!(report.complete, "{report:?}");
    assert_eq!(["k", "l"].map(|key| get(&target, key).unwrap()), ["abc", "bc"]);
}
