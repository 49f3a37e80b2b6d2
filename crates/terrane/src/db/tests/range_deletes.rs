//! Range deletes. Where a store with range tombstones in its tables went wrong, the test names the report.

use super::lost_logs::Lost;
use super::*;
use crate::stats::RangeDeleteStats;
use crate::write;
use crate::{Condition, Outcome};
use terrane_policy::{Leveled, TableInfo};

/// Options of a store whose policy compacts nothing before 20 runs wait.
pub(super) fn idle() -> Options {
    let policy = PolicyOptions::Tiered(Tiered { size_ratio: 20, ..Tiered::default() });
    Options { l0_stop_trigger: 40, ..Options::small() }.policy(policy)
}

/// Such a store, and its default keyspace.
pub(super) fn idle_store() -> (Db, Keyspace) {
    let db = Db::open_storage(directory(&faulty()), idle(), slices()).unwrap();
    let rows = db.default_keyspace();
    (db, rows)
}

pub(super) fn key(number: u32) -> String {
    format!("key{number:05}")
}

/// Puts keys with these numbers, in a table of their own.
pub(super) fn put_table(rows: &Keyspace, numbers: std::ops::Range<u32>, value: &str) {
    let mut batch = WriteBatch::new();
    numbers.for_each(|number| batch.put(rows, key(number), value.repeat(50)).unwrap());
    rows.db.write(batch, Buffered).unwrap();
    rows.db.flush().unwrap();
}

pub(super) fn delete(rows: &Keyspace, numbers: std::ops::Range<u32>) -> u64 {
    rows.delete_range(key(numbers.start)..key(numbers.end), Buffered).unwrap()
}

pub(super) fn count(rows: &Keyspace) -> usize {
    let there = rows.scan(..).unwrap().map(Result::unwrap).count();
    assert_eq!(rows.scan(..).unwrap().rev().map(Result::unwrap).count(), there);
    there
}

pub(super) fn tables(rows: &Keyspace) -> Vec<Arc<TableInfo>> {
    rows.shape().unwrap().tables().map(|(.., info)| info.clone()).collect()
}

pub(super) fn listed(db: &Db) -> RangeDeleteStats {
    db.stats().unwrap().keyspaces[0].range_deletes
}

#[test]
fn a_range_delete_hides_what_is_older_wherever_it_lies() {
    // RocksDB 2752 and 5392, Pebble 832: keys came back, or newer ones went, after tables were compacted or moved.
    let (db, rows) = idle_store();
    put_table(&rows, 0..100, "bottom");
    rows.compact_range(..).unwrap();
    put_table(&rows, 20..60, "level 0");
    rows.put(key(30), "memtable", Buffered).unwrap();
    let before = db.snapshot();
    delete(&rows, 10..90);
    rows.put(key(50), "newer", Buffered).unwrap();
    let holds = || {
        assert_eq!(count(&rows), 21);
        let found = [9, 10, 30, 50, 89, 90].map(|n| rows.get(key(n)).unwrap().is_some());
        assert_eq!(found, [true, false, false, true, false, true]);
        assert_eq!(rows.get(key(50)).unwrap().unwrap(), b"newer");
        assert_eq!(before.get(&rows, key(30)).unwrap().unwrap(), b"memtable");
        assert_eq!(before.scan(&rows, ..).unwrap().count(), 100);
        assert_eq!(db.check().unwrap().damage, []);
    };
    holds();
    db.flush().unwrap();
    holds();
    db.wait_until_idle().unwrap();
    holds();
    rows.compact_range(..).unwrap();
    holds();
}

#[test]
fn what_a_batch_wrote_before_goes_and_what_follows_stays() {
    // Kvrocks 2315, Pebble 478: entries of the batch of the range delete, and the version that a reader sees.
    let (db, rows) = idle_store();
    let mut batch = WriteBatch::new();
    batch.put(&rows, "a", "before").unwrap();
    batch.put(&rows, "b", "before").unwrap();
    batch.delete_range(&rows, "a".."c").unwrap();
    batch.put(&rows, "b", "after").unwrap();
    batch.put(&rows, "c", "beside").unwrap();
    batch.delete_range(&rows, "c".."c").unwrap();
    assert_eq!(batch.len(), 5, "a range without a key is no entry");
    let first = db.write(batch, Buffered).unwrap();
    let middle = db.snapshot();
    assert_eq!(delete_all(&rows), first + 1);
    rows.put("a", "last", Buffered).unwrap();
    for flushes in [false, true] {
        if flushes {
            db.flush().unwrap();
        }
        assert_eq!(entries(&db), [(b"a".to_vec(), b"last".to_vec())]);
        let seen: Vec<_> = middle.scan(&rows, ..).unwrap().map(|row| row.unwrap().1).collect();
        assert_eq!(seen, [b"after".to_vec(), b"beside".to_vec()]);
        assert_eq!(middle.get(&rows, "a").unwrap(), None);
    }
}

fn delete_all(rows: &Keyspace) -> u64 {
    rows.delete_range(.., Buffered).unwrap()
}

#[test]
fn wholly_hidden_tables_go_without_being_read_or_written() {
    let (db, rows) = idle_store();
    (0..5).for_each(|n| put_table(&rows, 100 * n..100 * n + 100, "value"));
    put_table(&rows, 1000..1010, "value");
    delete(&rows, 0..500);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&rows).len(), 1);
    let stats = db.stats().unwrap();
    assert_eq!((stats.merge_read_bytes, stats.merge_written_bytes), (0, 0));
    assert_eq!(listed(&db), RangeDeleteStats::default(), "it hides nothing any more");
    assert_eq!((count(&rows), db.check().unwrap().damage), (10, vec![]));
}

#[test]
fn a_full_store_is_emptied_by_an_edit_alone() {
    let vfs = faulty();
    // Few edits, so that the manifest has room for another.
    let options = Options { memtable_bytes: 1 << 20, wal_file_bytes: 4 << 20, ..idle() }
        .memory_bytes(64 << 20);
    let db = Db::open_storage(directory(&vfs), options, slices()).unwrap();
    let rows = db.default_keyspace();
    delete(&rows, 0..1);
    vfs.set_capacity(9 << 20, Fault::NoSpace);
    let fill = || -> Result<()> {
        for number in 0..100_000u32 {
            let word =
                |n: u32| (number.wrapping_mul(0x9e37_79b9) ^ n.wrapping_mul(n * n)).to_be_bytes();
            rows.put(key(number), (0..250).flat_map(word).collect::<Vec<u8>>(), Buffered)?;
        }
        Ok(())
    };
    let full = fill().unwrap_err();
    assert!(full.is_no_space(), "{full}");
    delete_all(&rows);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!((count(&rows), tables(&rows).len()), (0, 0));
    rows.put("k", [7; 1000], Buffered).unwrap();
    assert!(fill().unwrap_err().is_no_space());
}

#[test]
fn a_snapshot_keeps_what_is_hidden_and_its_release_frees_it() {
    let (db, rows) = idle_store();
    put_table(&rows, 0..100, "value");
    let snapshot = db.snapshot();
    delete(&rows, 0..100);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!((tables(&rows).len(), listed(&db).fragments), (1, 1));
    assert_eq!((count(&rows), snapshot.scan(&rows, ..).unwrap().count()), (0, 100));
    drop(snapshot);
    db.wait_until_idle().unwrap();
    assert_eq!((tables(&rows).len(), listed(&db).fragments), (0, 0));
}

#[test]
fn a_table_with_much_hidden_is_rewritten_when_idle() {
    let (db, rows) = idle_store();
    put_table(&rows, 0..200, "value");
    delete(&rows, 50..150);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let table = &tables(&rows)[..];
    assert_eq!((table.len(), table[0].entries, listed(&db).fragments), (1, 100, 0));
    // Of little, the list remembers it.
    delete(&rows, 10..11);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!((tables(&rows)[0].entries, listed(&db).fragments, count(&rows)), (100, 1, 99));
    rows.compact_range(..).unwrap();
    assert_eq!((tables(&rows)[0].entries, listed(&db).fragments), (99, 0));
    let cleared = tables(&rows)[0].cleared;
    assert!(cleared > 0 && tables(&rows)[0].cleared <= db.snapshot().sequence());
}

#[test]
fn a_scan_reads_no_block_of_what_is_hidden() {
    // Pebble 2015, RocksDB 4808: iterators that stepped over every deleted key, or seeked past too much.
    let (db, rows) = idle_store();
    (0..20).for_each(|n| put_table(&rows, 100 * n..100 * n + 100, "value"));
    let pinned = db.snapshot();
    put_table(&rows, 5000..5001, "value");
    delete(&rows, 1..1999);
    db.flush().unwrap();
    let blocks = || db.stats().unwrap().scans.blocks;
    let before = blocks();
    assert_eq!(count(&rows), 3);
    assert!(blocks() - before < 60, "{} blocks", blocks() - before);
    let mut cursor = rows.cursor(..).unwrap();
    let step =
        |row: Option<(&[u8], &[u8])>| row.map(|(key, _)| String::from_utf8(key.to_vec()).unwrap());
    assert_eq!(step(cursor.next().unwrap()), Some(key(0)));
    assert_eq!(step(cursor.next().unwrap()), Some(key(1999)));
    assert_eq!(step(cursor.prev().unwrap()), Some(key(0)));
    cursor.seek(key(700));
    assert_eq!(step(cursor.next().unwrap()), Some(key(1999)));
    cursor.seek(key(700));
    assert_eq!(step(cursor.prev().unwrap()), Some(key(0)));
    assert_eq!(pinned.scan(&rows, ..).unwrap().count(), 2000);
}

#[test]
fn range_deletes_outlive_a_restart_in_logs_and_in_the_manifest() {
    let vfs = faulty();
    let open = || Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
    let db = open();
    let rows = db.default_keyspace();
    put_table(&rows, 0..100, "value");
    delete(&rows, 0..10);
    db.flush().unwrap();
    delete(&rows, 90..100);
    db.close().unwrap();
    let db = open();
    let rows = db.default_keyspace();
    assert_eq!((count(&rows), db.check().unwrap().damage), (80, vec![]));
    db.wait_until_idle().unwrap();
    rows.compact_range(..).unwrap();
    assert_eq!((count(&rows), tables(&rows)[0].entries), (80, 80));
}

#[test]
fn the_store_announces_range_deletes_before_a_log_has_one() {
    let db = open(directory(&faulty()), slices()).unwrap();
    let required = || db.engine().state.lock().version_set.features.required;
    db.default_keyspace().put("a", "1", Buffered).unwrap();
    assert_eq!(required(), 0);
    let mut batch = WriteBatch::new();
    batch.delete_range(&db.default_keyspace(), ..).unwrap();
    assert!(matches!(db.try_write(batch.clone()).unwrap(), crate::TryWrite::WouldWait(_)));
    db.write(batch.clone(), Buffered).unwrap();
    assert_eq!(required(), 1);
    assert!(matches!(db.try_write(batch).unwrap(), crate::TryWrite::Written(_)));
}

#[test]
fn a_memtable_closes_at_a_thousand_range_deletes() {
    let (db, rows) = idle_store();
    put_table(&rows, 0..10, "value");
    for n in 0..1000 {
        let keyspaces = db.engine().keyspaces.load();
        let super_version = keyspaces.get(&rows.id()).unwrap().super_version.load_full();
        assert_eq!((super_version.active.deletions(), super_version.sealed.len()), (n, 0));
        delete(&rows, 20 + 2 * n as u32..21 + 2 * n as u32);
    }
    let waits = db.stats().unwrap().keyspaces[0].memtables_sealed;
    assert!(waits == 1 || db.stats().unwrap().keyspaces[0].memtable_entries == 0);
    // None of them hides anything, so none is listed.
    db.flush().unwrap();
    assert_eq!(listed(&db).fragments, 0);
}

#[test]
fn range_deletes_stall_at_their_bound_and_name_a_snapshot() {
    let (db, rows) = idle_store();
    put_table(&rows, 0..2, "value");
    let long = |n: u32| format!("key00000{}{n:06}", "x".repeat(2000));
    let snapshot = db.snapshot();
    let mut refused = None;
    for n in 0..2000 {
        match rows.delete_range(long(2 * n)..long(2 * n + 1), Buffered) {
            Ok(_) if n % 100 == 99 => db.flush().unwrap(),
            Ok(_) => {}
            Err(e) => {
                refused = Some(e);
                break;
            }
        }
    }
    let refused = refused.expect("there are too many");
    assert!(refused.to_string().contains("snapshot"), "{refused}");
    // Nothing else waits.
    rows.put("k", "v", Buffered).unwrap();
    drop(snapshot);
    rows.delete_range(long(0)..long(1), Buffered).unwrap();
    assert!(db.stats().unwrap().waits.range_deletes.count > 0);
    assert_eq!(listed(&db).fragments, 0, "the table was rewritten meanwhile");
}

#[test]
fn the_size_of_a_range_leaves_out_what_is_hidden() {
    let (db, rows) = idle_store();
    put_table(&rows, 0..2000, "value");
    let pinned = db.snapshot();
    let all = rows.approximate_size(..).unwrap();
    delete(&rows, 500..1500);
    db.flush().unwrap();
    let left = rows.approximate_size(..).unwrap();
    assert!((all / 3..all * 2 / 3).contains(&left), "{left} of {all}");
    assert!(rows.approximate_size(key(600)..key(700)).unwrap() < all / 50);
    delete_all(&rows);
    db.flush().unwrap();
    assert_eq!(rows.approximate_size(..).unwrap(), 0);
    drop(pinned);
}

#[test]
fn a_range_that_was_deleted_since_has_changed() {
    let (db, rows) = idle_store();
    put_table(&rows, 0..10, "value");
    let since = db.snapshot();
    delete(&rows, 5..8);
    let write = |condition: Condition<'_>| {
        let mut batch = WriteBatch::new();
        batch.put(&rows, "z", "").unwrap();
        db.write_if([condition], batch, Buffered).unwrap()
    };
    for flushes in [false, true] {
        if flushes {
            db.flush().unwrap();
        }
        let refused = |range: std::ops::Range<String>| match write(since.unchanged(&rows, range)) {
            Outcome::Written(_) => None,
            Outcome::Refused(refusals) => Some(refusals[0].key.clone()),
        };
        assert_eq!(refused(key(0)..key(5)), None);
        assert_eq!(refused(key(0)..key(6)), Some(key(5).into_bytes()));
        assert_eq!(refused(key(6)..key(9)), Some(key(6).into_bytes()));
        assert_eq!(refused(key(8)..key(9)), None);
        assert!(matches!(write(Condition::absent(&rows, key(7))), Outcome::Written(_)));
        assert!(matches!(write(Condition::present(&rows, key(7))), Outcome::Refused(_)));
    }
}

#[test]
fn a_group_decides_with_the_range_deletes_before_it() {
    let (db, rows) = idle_store();
    rows.put("a", "1", Buffered).unwrap();
    let mut deletes = WriteBatch::new();
    deletes.delete_range(&rows, "a".."b").unwrap();
    let mut puts = WriteBatch::new();
    puts.put(&rows, "c", "").unwrap();
    let group = vec![
        crate::ConditionalBatch {
            conditions: vec![Condition::present(&rows, "a")],
            batch: deletes,
        },
        crate::ConditionalBatch {
            conditions: vec![Condition::present(&rows, "a")],
            batch: puts.clone(),
        },
        crate::ConditionalBatch { conditions: vec![Condition::absent(&rows, "a")], batch: puts },
    ];
    let outcomes = db.write_group(group, Buffered).unwrap();
    let written: Vec<_> =
        outcomes.into_iter().map(|outcome| outcome.unwrap().written().is_some()).collect();
    assert_eq!(written, [true, false, true]);
}

#[test]
fn a_table_that_has_what_was_applied_to_it_is_damage() {
    let vfs = faulty();
    let db = Db::open_storage(directory(&vfs), idle(), slices()).unwrap();
    let rows = db.default_keyspace();
    put_table(&rows, 0..100, "value");
    let deleted = delete(&rows, 5..8);
    db.flush().unwrap();
    assert_eq!(db.check().unwrap().damage, []);
    // An edit says what is not so: the range delete was applied to the table.
    let shape = rows.shape().unwrap();
    let (level, run, info) = shape.tables().next().unwrap();
    let info = TableInfo { cleared: deleted, ..TableInfo::clone(info) };
    let (engine, keyspace) = (db.engine(), rows.id());
    let changes = vec![
        Change::DropTable { keyspace, table: info.id },
        Change::AddTable { keyspace, level, run, info },
    ];
    let edits = engine.state.lock_edits().unwrap();
    drop(edits.apply(changes, &[], &[]).unwrap());
    drop(edits);
    db.close().unwrap();
    let db = Db::open_storage(directory(&vfs), idle(), slices()).unwrap();
    let damage = db.check().unwrap().damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert!(damage[0].to_string().contains("range delete"), "{}", damage[0]);
}

#[test]
fn every_policy_keeps_deleted_ranges_deleted() {
    let leveled =
        Leveled { level_base_bytes: 4 << 10, target_file_bytes: 2 << 10, ..Leveled::default() };
    let options = Options { memtable_bytes: 4 << 10, ..Options::small() }
        .policy(PolicyOptions::Leveled(leveled));
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    for round in 0..20u32 {
        put_table(&rows, 0..200, "value");
        delete(&rows, 10 * round..10 * round + 5);
        for number in 10 * round..10 * round + 5 {
            assert_eq!(rows.get(key(number)).unwrap(), None);
        }
        db.wait_until_idle().unwrap();
        assert_eq!((count(&rows), db.check().unwrap().damage), (195, vec![]));
    }
}

#[test]
fn range_deletes_of_the_active_memtable_stall_none_for_good() {
    let options = Options { memtable_bytes: 16 << 20, wal_file_bytes: 16 << 20, ..idle() };
    let db = Db::open_storage(directory(&faulty()), options.memory_bytes(256 << 20), slices());
    let db = db.unwrap();
    let rows = db.default_keyspace();
    rows.put("a", "1", Buffered).unwrap();
    // Sealed, and not flushed yet: its flush names the range deletes that follow.
    write::seal_all(db.engine()).unwrap();
    let long = |n: u32| format!("{n:06}{}", "x".repeat(60_000));
    for n in 0..60 {
        let mut batch = WriteBatch::new();
        batch.delete_range(&rows, long(2 * n)..long(2 * n + 1)).unwrap();
        write::announce(db.engine(), &batch).unwrap();
        write::commit(db.engine(), &[&batch], Buffered, &|| Ok(())).unwrap();
    }
    db.wait_until_idle().unwrap();
    assert!(listed(&db).bytes > 4 << 20, "{:?}", listed(&db));
    rows.delete_range(long(1000)..long(1001), Buffered).unwrap();
    db.flush().unwrap();
    assert!(listed(&db).bytes < 1 << 20, "{:?}", listed(&db));
}

#[test]
fn a_batch_of_range_deletes_is_one_list() {
    let vfs = faulty();
    let db = Db::open_storage(directory(&vfs), idle(), slices()).unwrap();
    let rows = db.default_keyspace();
    let mut batch = WriteBatch::new();
    for n in 0..2000 {
        batch.put(&rows, key(n), "before").unwrap();
        batch.delete_range(&rows, key(n)..key(n + 1)).unwrap();
    }
    batch.put(&rows, key(7), "after").unwrap();
    batch.delete_range(&rows, "a".."b").unwrap();
    db.write(batch, Buffered).unwrap();
    // Neighbours with one number are one fragment.
    let lists = |db: &Db| {
        let keyspaces = db.engine().keyspaces.load();
        let keyspace = keyspaces.values().next().unwrap().clone();
        let all = keyspace.super_version.load();
        all.memtables().map(|memtable| memtable.range_deletes().fragments().len()).sum::<usize>()
    };
    assert_eq!((lists(&db), count(&rows)), (2, 1));
    drop((rows, db));
    let db = Db::open_storage(directory(&vfs), idle(), slices()).unwrap();
    assert_eq!((lists(&db), count(&db.default_keyspace())), (2, 1), "replayed");
}

#[test]
fn a_log_that_lost_a_range_delete_which_an_edit_names_is_damage() {
    let lost = Lost::new();
    let db = lost.open().unwrap();
    let rows = db.default_keyspace();
    rows.put("a", "1", Buffered).unwrap();
    write::seal_all(db.engine()).unwrap();
    rows.put("z", "2", Buffered).unwrap();
    let before = lost.logs();
    rows.delete_range("b".."x", Buffered).unwrap();
    // The flush of the older memtable names it.
    db.wait_until_idle().unwrap();
    assert_eq!(listed(&db).fragments, 1);
    std::mem::forget((rows, db));
    lost.put_back(before);
    let damage = lost.open().map(drop).unwrap_err();
    assert!(matches!(damage.kind(), crate::ErrorKind::Corrupt(_)), "{damage}");
}
