//! Faults that other stores published, as far as this one has the feature. Each test says what went wrong there.

use super::range_deletes::{count, delete, idle, idle_store, key, listed, put_table, tables};
use super::*;
use crate::write;
use crate::{Outcome, Snapshot};
use std::cell::Cell;
use terrane_policy::Leveled;

/// A store with small tables in many levels.
fn leveled_store() -> (Db, Keyspace) {
    let leveled =
        Leveled { level_base_bytes: 8 << 10, target_file_bytes: 2 << 10, ..Leveled::default() };
    let options = Options { memtable_bytes: 4 << 10, ..Options::small() }
        .policy(PolicyOptions::Leveled(leveled));
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    let rows = db.default_keyspace();
    (db, rows)
}

/// Puts keys with these numbers, with values that no compression shortens.
fn put_random(rows: &Keyspace, numbers: std::ops::Range<u32>, round: u32) {
    for number in numbers {
        let word =
            |n: u32| (number.wrapping_mul(0x9e37_79b9) ^ n.wrapping_mul(n * n)).to_be_bytes();
        let value: Vec<u8> = (round..round + 25).flat_map(word).collect();
        rows.put(key(number), value, Buffered).unwrap();
    }
}

/// Runs some slices of jobs; returns whether the compaction ended before the last of them.
fn ends_within(db: &Db, compaction: &mut Waiter, slices: usize) -> bool {
    (0..slices).any(|_| {
        let is_done = compaction.is_done().unwrap();
        if !is_done {
            db.run_jobs(500).unwrap();
        }
        is_done
    })
}

fn value(rows: &Keyspace, number: u32) -> Option<Vec<u8>> {
    rows.get(key(number)).unwrap()
}

fn read(snapshot: &Snapshot, rows: &Keyspace, key: &str) -> Option<String> {
    let got = snapshot.get(rows, key).unwrap();
    let scanned = snapshot.scan(rows, key..=key).unwrap().next().map(|row| row.unwrap().1);
    assert_eq!(got, scanned, "{key}");
    got.map(|value| String::from_utf8(value).unwrap())
}

#[test]
fn dropping_a_hidden_table_keeps_its_neighbours_apart() {
    // RocksDB issue 2833: of tables that shared a range delete, one was removed as a whole. Merges no longer took its
    // neighbours together, wrote overlapping tables, and lost data.
    let (db, rows) = leveled_store();
    put_random(&rows, 0..400, 0);
    rows.compact_range(..).unwrap();
    let before = tables(&rows).len();
    assert!(before > 6, "{before} tables");
    delete(&rows, 95..305);
    let left = |n: u32| !(95..305).contains(&n);
    let holds = |newer: std::ops::Range<u32>| {
        for n in (0..400).step_by(5).chain([94, 95, 304, 305]) {
            assert_eq!(value(&rows, n).is_some(), left(n) || newer.contains(&n), "{n}");
        }
        let all = (0..400).filter(|n| left(*n) || newer.contains(n)).count();
        assert_eq!((count(&rows), db.check().unwrap().damage), (all, vec![]));
    };
    holds(0..0);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert!(tables(&rows).len() < before - 2, "hidden tables are dropped");
    holds(0..0);
    for round in 0..6 {
        // Across the gap, from within one neighbour into the other.
        put_random(&rows, 90..310, round + 1);
        db.wait_until_idle().unwrap();
        holds(90..310);
    }
    rows.compact_range(..).unwrap();
    holds(90..310);
}

#[test]
fn a_newer_key_outlives_the_merge_of_its_part_of_a_range() {
    // CockroachDB issue 31752: a key that was written after a range delete was merged to the bottom apart from other
    // tables with the same range delete; these then hid it.
    let (db, rows) = idle_store();
    let put = |key: &str, value: &str| rows.put(key, value, Buffered).unwrap();
    for key in ["b", "f", "j", "m", "p", "r"] {
        put(key, "old");
    }
    let first = db.snapshot();
    put("f", "newer");
    let second = db.snapshot();
    db.flush().unwrap();
    rows.delete_range("c".."p", Buffered).unwrap();
    db.flush().unwrap();
    put("o", "last");
    db.flush().unwrap();
    let holds = || {
        let seen: Vec<_> = rows.scan(..).unwrap().map(|row| row.unwrap().0).collect();
        assert_eq!(seen, [b"b", b"o", b"p", b"r"]);
        assert_eq!(rows.get("o").unwrap().unwrap(), b"last");
        assert_eq!(rows.get("f").unwrap(), None);
        assert_eq!(read(&first, &rows, "f").as_deref(), Some("old"));
        assert_eq!(read(&second, &rows, "f").as_deref(), Some("newer"));
        assert_eq!(read(&second, &rows, "m").as_deref(), Some("old"));
        assert_eq!(read(&second, &rows, "o"), None);
    };
    holds();
    for part in ["m".."s", "a".."g", "g".."n"] {
        rows.compact_range(part).unwrap();
        holds();
    }
    rows.compact_range(..).unwrap();
    holds();
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn an_older_snapshot_ignores_a_sealed_range_delete() {
    // CockroachDB pull request 48320: a snapshot lost the keys of a range that was deleted after it, while the range
    // delete lay in a memtable that waited for its flush.
    let (db, rows) = idle_store();
    put_table(&rows, 0..10, "table");
    rows.put(key(5), "memtable", Buffered).unwrap();
    let older = db.snapshot();
    delete(&rows, 0..10);
    write::seal_all(db.engine()).unwrap();
    rows.put(key(3), "active", Buffered).unwrap();
    assert_eq!(db.stats().unwrap().keyspaces[0].memtables_sealed, 1);
    assert_eq!((count(&rows), value(&rows, 3).unwrap()), (1, b"active".to_vec()));
    assert_eq!(older.scan(&rows, ..).unwrap().count(), 10);
    assert_eq!(older.scan(&rows, ..).unwrap().rev().count(), 10);
    assert_eq!(read(&older, &rows, &key(5)).as_deref(), Some("memtable"));
    assert_eq!(read(&older, &rows, &key(3)), Some("table".repeat(50)));
    let mut cursor = older.cursor(&rows, ..).unwrap();
    cursor.seek(key(7));
    assert_eq!(cursor.next().unwrap().unwrap().0, key(7).as_bytes());
}

#[test]
fn the_first_transaction_after_a_reopening_commits() {
    // RocksDB issue 1431: the memtable of a reopened store was said to start one number too late, so that no
    // transaction of the last number could be decided.
    for flushes in [false, true] {
        let vfs = faulty();
        let open = || Db::open_storage(directory(&vfs), idle(), slices()).unwrap();
        let db = open();
        db.default_keyspace().put("a", "1", Buffered).unwrap();
        let last = db.default_keyspace().put("b", "1", Buffered).unwrap();
        if flushes {
            db.flush().unwrap();
        }
        db.close().unwrap();
        let db = open();
        let rows = db.default_keyspace();
        let opened = db.snapshot();
        assert_eq!(opened.sequence(), last);
        let runs = Cell::new(0);
        let committed = db.transact(Buffered, |tx| -> Result<_> {
            runs.set(runs.get() + 1);
            let found = tx.get(&rows, "b")?;
            tx.scan(&rows, ..)?.for_each(drop);
            tx.put(&rows, "a", "2")?;
            Ok(found)
        });
        assert_eq!((committed.unwrap(), runs.get()), (Some(b"1".to_vec()), 1));
        let check = |range| {
            let condition = opened.unchanged(&rows, range);
            db.write_if([condition], WriteBatch::new(), Buffered).unwrap()
        };
        assert_eq!(check("b".."c"), Outcome::Written(last + 1));
        assert!(matches!(check("a".."b"), Outcome::Refused(_)));
    }
}

#[test]
fn nested_range_deletes_take_bounded_memory() {
    // RocksDB issue 11407: of range deletes with one start, each of which ended later, each fragment had all later
    // numbers; their flush, and the replay of their log, ran out of memory.
    for memtable_bytes in [256 << 10, 64 << 20] {
        let vfs = faulty();
        let open = || {
            let options = Options { memtable_bytes, ..idle() }.memory_bytes(256 << 20);
            Db::open_storage(directory(&vfs), options, slices()).unwrap()
        };
        let db = open();
        let rows = db.default_keyspace();
        let assert_bounded = |db: &Db| {
            let stats = &db.stats().unwrap().keyspaces[0];
            let (memtables, listed) = (stats.memtable_bytes, stats.range_deletes.bytes);
            assert!(memtables < 16 << 20 && listed < 8 << 20, "{memtables} and {listed} bytes");
        };
        for n in 1..1500 {
            let mut batch = WriteBatch::new();
            batch.put(&rows, key(n + 1), "value").unwrap();
            batch.delete_range(&rows, key(0)..key(n)).unwrap();
            db.write(batch, Buffered).unwrap();
            if n % 100 == 0 {
                assert_bounded(&db);
                assert_eq!(count(&rows), 2);
            }
        }
        db.close().unwrap();
        let db = open();
        assert_bounded(&db);
        let rows = db.default_keyspace();
        assert_eq!(count(&rows), 2);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
        rows.compact_range(..).unwrap();
        assert_eq!((count(&rows), listed(&db).fragments), (2, 0));
    }
}

/// Two tables over each other, a range delete over both, and newer keys; returns what readers see then.
fn layered(db: &Db) -> Snapshot {
    let rows = db.default_keyspace();
    put_table(&rows, 0..100, "bottom");
    rows.compact_range(..).unwrap();
    put_table(&rows, 40..60, "above");
    let before = db.snapshot();
    delete(&rows, 10..90);
    put_table(&rows, 50..52, "newer");
    before
}

fn assert_layered(db: &Db) {
    let rows = db.default_keyspace();
    assert_eq!(count(&rows), 22);
    let found = [9, 10, 40, 50, 51, 52, 89, 90].map(|n| value(&rows, n).is_some());
    assert_eq!(found, [true, false, false, true, true, false, false, true]);
}

#[test]
fn a_merge_that_is_cut_and_run_again_keeps_range_deletes() {
    // RocksDB pull request 14184: a merge that went on after a restart, at a table's boundary that cut a range delete,
    // wrote what the range delete had removed.
    for slices_before_cut in 0.. {
        let inner = Arc::new(MemoryVfs::default());
        let start = || FaultVfs::new(inner.clone()).unwrap();
        let open = |vfs| Db::open_storage(directory(vfs), idle(), slices()).unwrap();
        let vfs = start();
        let db = open(&vfs);
        drop(layered(&db));
        let mut compaction = db.default_keyspace().begin_compact_range(..).unwrap();
        let ended = ends_within(&db, &mut compaction, slices_before_cut);
        vfs.crash(Survivors::All).unwrap();
        drop((compaction, db));
        let db = open(&start());
        assert_layered(&db);
        db.default_keyspace().compact_range(..).unwrap();
        assert_layered(&db);
        assert_eq!(db.check().unwrap().damage, []);
        if ended {
            assert!(slices_before_cut > 5, "{slices_before_cut} slices");
            break;
        }
    }
}

#[test]
fn a_range_delete_stays_while_an_older_key_is_anywhere() {
    // Regolith before 0.2: a range delete could lie below older keys; a merge to the bottom level forgot it, since
    // nothing below it was left, and the keys above came back.
    for held in [false, true] {
        let (db, rows) = idle_store();
        let before = layered(&db);
        let before = held.then_some(before);
        let mut steps = 0;
        while db.run_jobs(100).unwrap() {
            assert_layered(&db);
            steps += 1;
        }
        assert!(steps > 0 || held);
        // The bottom without what lies above, then the rest.
        for part in [key(0)..key(30), key(70)..key(99), key(30)..key(70)] {
            rows.compact_range(part).unwrap();
            assert_layered(&db);
        }
        if let Some(before) = before {
            assert_eq!(before.scan(&rows, ..).unwrap().count(), 100);
            assert_eq!(read(&before, &rows, &key(45)), Some("above".repeat(50)));
        }
        db.wait_until_idle().unwrap();
        assert_layered(&db);
        assert_eq!(db.check().unwrap().damage, []);
    }
}

#[test]
fn a_snapshot_reads_late_what_was_removed_after_it() {
    // Fjall issue 198: a snapshot of all keyspaces held none of their tables; its first read of one, after a compaction
    // that dropped tables, saw the store as it was then.
    let (db, rows) = idle_store();
    let other = db.create_keyspace("other").unwrap();
    for keyspace in [&rows, &other] {
        put_table(keyspace, 0..50, "first");
        put_table(keyspace, 50..100, "second");
    }
    let snapshot = db.snapshot();
    for keyspace in [&rows, &other] {
        delete(keyspace, 0..100);
        put_table(keyspace, 20..30, "later");
        keyspace.compact_range(..).unwrap();
    }
    db.wait_until_idle().unwrap();
    for keyspace in [&other, &rows] {
        assert_eq!(count(keyspace), 10);
        assert_eq!(snapshot.scan(keyspace, ..).unwrap().count(), 100);
        assert_eq!(read(&snapshot, keyspace, &key(25)), Some("first".repeat(50)));
        assert_eq!(read(&snapshot, keyspace, &key(75)), Some("second".repeat(50)));
    }
    drop(snapshot);
    for keyspace in [&other, &rows] {
        keyspace.compact_range(..).unwrap();
        assert_eq!((count(keyspace), tables(keyspace).len()), (10, 1));
    }
}

#[test]
fn a_merge_keeps_the_version_that_each_snapshot_reads() {
    // lsm-tree issue 321: where the newest version of a key was newer than the oldest snapshot, a merge dropped all
    // others, also the one that this snapshot read.
    for merges in [false, true] {
        let (db, rows) = idle_store();
        let put = |value: &str| {
            rows.put("k", value, Buffered).unwrap();
            rows.put("other", value, Buffered).unwrap();
            if merges {
                db.flush().unwrap();
            }
            db.snapshot()
        };
        let none = db.snapshot();
        drop(put("1"));
        let second = put("2");
        drop(put("3"));
        let fourth = put("4");
        rows.delete("k", Buffered).unwrap();
        let deleted = db.snapshot();
        drop(put("5"));
        drop(put("6"));
        let holds = |oldest: bool| {
            let read = |snapshot| read(snapshot, &rows, "k");
            if oldest {
                assert_eq!((read(&none), read(&second)), (None, Some("2".to_owned())));
            }
            assert_eq!((read(&fourth), read(&deleted)), (Some("4".to_owned()), None));
            assert_eq!(rows.get("k").unwrap().unwrap(), b"6");
        };
        db.flush().unwrap();
        holds(true);
        rows.compact_range(..).unwrap();
        holds(true);
        // None of "other" lies between the version and the snapshot that reads it.
        let kept = tables(&rows).iter().map(|info| info.entries).sum::<u64>();
        assert_eq!(kept, 7, "2, 4, the delete and 6 of one key; 2, 4 and 6 of the other");
        drop((none, second));
        rows.compact_range(..).unwrap();
        assert_eq!(read(&fourth, &rows, "k").as_deref(), Some("4"));
        assert_eq!(read(&deleted, &rows, "k"), None);
    }
}

#[test]
fn a_snapshot_released_during_a_merge_takes_no_version() {
    // SlateDB issue 1769: a merge went on under a later oldest snapshot than it had started with, and skipped entries
    // of the key at which its output was cut.
    for slices_before_release in 0.. {
        let (db, rows) = idle_store();
        let mut snapshots = Vec::new();
        for round in ["1", "2", "3"] {
            put_table(&rows, 0..20, round);
            snapshots.push(db.snapshot());
        }
        delete(&rows, 5..15);
        db.flush().unwrap();
        let mut compaction = rows.begin_compact_range(..).unwrap();
        let ended = ends_within(&db, &mut compaction, slices_before_release);
        snapshots.remove(0);
        finish(&db, compaction, |_| ()).unwrap();
        assert_eq!(count(&rows), 10);
        for (snapshot, round) in snapshots.iter().zip(["2", "3"]) {
            assert_eq!(snapshot.scan(&rows, ..).unwrap().count(), 20);
            for n in [0, 5, 10, 19] {
                assert_eq!(read(snapshot, &rows, &key(n)), Some(round.repeat(50)));
            }
        }
        if ended {
            assert!(slices_before_release > 5, "{slices_before_release} slices");
            break;
        }
    }
}

#[test]
fn scans_that_find_nothing_conflict_with_what_they_missed() {
    // SlateDB issue 1711: only rows that a scan had returned were compared at the commit. Of two transactions that each
    // found nothing where the other wrote, both committed, and deleted keys came back unnoticed.
    for deleted in [false, true] {
        let (db, rows) = idle_store();
        if deleted {
            for key in ["a1", "c1"] {
                rows.put(key, "old", Buffered).unwrap();
                rows.delete(key, Buffered).unwrap();
            }
        }
        let on_call = |reads: KeyRange, writes: &str, mut meanwhile: Option<&dyn Fn()>| {
            db.transact(Buffered, |tx| -> Result<_> {
                let found = tx.scan(&rows, &reads)?.rev().count() + tx.scan(&rows, &reads)?.count();
                meanwhile.take().into_iter().for_each(|other| other());
                if found == 0 {
                    tx.put(&rows, writes, "on call")?;
                }
                Ok(found)
            })
            .unwrap()
        };
        let (of_a, of_c) = (KeyRange::from("a".."b"), KeyRange::from("c".."d"));
        let overtakes = || assert_eq!(on_call(of_c.clone(), "a1", None), 0);
        assert_eq!(on_call(of_a.clone(), "c1", Some(&overtakes)), 2, "it has seen the other");
        let keys: Vec<_> = rows.scan(..).unwrap().map(|row| row.unwrap().0).collect();
        assert_eq!(keys, [b"a1"]);
    }
}
