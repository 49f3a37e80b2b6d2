//! Logs after a crash, discarded records, and logs that no manifest names.

use super::*;
use crate::recovery::MARK;

/// The log that has a value, whose first byte may be damaged.
fn log(store: &Store, value: &str) -> (FileId, Arc<dyn File>) {
    let (version_set, storage) = store.look();
    let mut logs = version_set.logs.iter().map(|log| FileId::log(log.file));
    let has = |id: &FileId| find(&*storage.open(*id).unwrap(), value).is_some();
    let id = logs.find(has).unwrap();
    (id, storage.open(id).unwrap())
}

fn find(file: &dyn File, value: &str) -> Option<u64> {
    let rest = &value.as_bytes()[1..];
    let at = bytes(file).windows(rest.len()).position(|found| found == rest)?;
    Some(at as u64 - 1)
}

fn place_of(file: &dyn File, value: &str) -> u64 {
    find(file, value).unwrap()
}

/// A store of three rows in its log, that was not closed. The second one's record is damaged.
fn torn(layout: Layout) -> Store {
    let store = Store::new(layout);
    let db = store.open();
    for (key, value) in [("a", "first"), ("b", "second"), ("c", "third")] {
        put(&db, "default", key, value);
    }
    std::mem::forget(db);
    let (_, log) = log(&store, "second");
    flip(&*log, place_of(&*log, "second"));
    store
}

#[test]
fn writes_behind_what_a_crash_may_have_left_are_taken() {
    for layout in LAYOUTS {
        let store = torn(layout);
        let (target, report) = store.repair();
        assert_eq!((get(&target, "a").as_deref(), get(&target, "b")), (Some("first"), None));
        assert_eq!(get(&target, "c").as_deref(), Some("third"));
        let (id, file) = log(&store, "second");
        // From the second record to the end of the third: all three have a length of their own.
        let [a, b, c] = ["first", "second", "third"].map(|value| place_of(&*file, value));
        let (begins, ends) = (b - a, (c + 5).next_multiple_of(8));
        assert_eq!(begins % 8, 0);
        let note = format!("{id}: {} bytes from {begins} on are what a crash left", ends - begins);
        assert!(report.notes.len() == 1 && report.notes[0].starts_with(&note), "{report:#?}");
        let file = of_file(&report, &id.to_string());
        assert!(file.lost.is_empty() && file.entries == 2, "{report:#?}");
        // The record may have had a newer version of the first row.
        let [range] = &report.doubtful[..] else { panic!("{report:#?}") };
        assert_eq!((range.rows, range.last, report.complete), (1, Some(2), false));
    }
}

#[test]
fn what_an_opening_discarded_stays_out_though_it_is_sound_again() {
    for layout in LAYOUTS {
        let store = torn(layout);
        let (id, file) = log(&store, "second");
        let db = store.open();
        put(&db, "default", "d", "fourth");
        let before = all_rows(&db);
        db.close().unwrap();
        // The damage was one of the reading.
        flip(&*file, place_of(&*file, "second"));
        let (target, report) = store.repair();
        assert_eq!(all_rows(&target), before, "{report:#?}");
        assert!(report.complete && report.notes.is_empty());
        assert_eq!(of_file(&report, &id.to_string()).entries, 1);
    }
}

#[test]
fn rows_of_a_lost_table_are_salvaged_from_a_log_that_has_them() {
    for layout in LAYOUTS {
        let store = Store::new(layout);
        let table = TableOptions { block_bytes: 256, ..TableOptions::default() };
        let options = Options { memtable_bytes: 64 << 10, table, ..Options::small() };
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(store.storage(), options, executor).unwrap();
        put(&db, "other", "key", "which keeps the log");
        for n in 0..150 {
            put(&db, "default", &format!("{:03}", n % 100), &format!("{n} {}", "v".repeat(1000)));
        }
        db.default_keyspace().delete("000", Durability::Buffered).unwrap();
        db.wait_until_idle().unwrap();
        let before = all_rows(&db);
        db.close().unwrap();
        let (version_set, storage) = store.look();
        let tables = version_set.tables();
        assert!(!tables.is_empty());
        for info in &tables {
            let file = storage.open(FileId::table(info.id.0)).unwrap();
            write_all_at(&*file, &vec![0; file.len().unwrap() as usize], 0).unwrap();
        }
        let (target, report) = store.repair();
        assert!(!report.complete, "the tables are lost");
        assert!(all_rows(&target) == before, "{report:#?}");

        // But with a record lost it is unknown what was deleted since.
        let (_, log) = log(&store, "which keeps");
        flip(&*log, place_of(&*log, "which keeps"));
        let (target, _) = store.repair();
        let flushed = version_set.keyspaces.get(&KeyspaceId(0)).unwrap().flushed;
        assert!(flushed > 50);
        let newest = |n: u64| if n < 50 { n + 100 } else { n };
        // The batch with sequence n + 2 has value n.
        let kept = (1..100).filter(|n| newest(*n) + 2 > flushed).count();
        assert_eq!(rows(&target, "default").len(), kept);
    }
}

#[test]
fn rows_of_a_dropped_keyspace_stay_away() {
    for layout in LAYOUTS {
        let store = Store::new(layout);
        let db = store.open();
        put(&db, "dropped", "key", "value");
        put(&db, "default", "key", "value");
        db.drop_keyspace("dropped").unwrap();
        db.close().unwrap();
        let (target, report) = store.repair();
        assert!(report.complete && report.notes.is_empty(), "{report:#?}");
        assert_eq!(
            (target.keyspaces(), report.rows),
            (vec!["default".into()], vec![("default".into(), 1)])
        );
    }
}

/// A store without a manifest: a log that has become a spare one; what was discarded of another; and
/// one with three rows.
fn without_manifest() -> (Store, [String; 3]) {
    let store = Store::new(Layout::Directory);
    let logs = || {
        let names = store.vfs.list().unwrap().into_iter();
        names.filter(|name| name.ends_with(".log")).collect::<Vec<_>>()
    };
    let db = store.open();
    for n in 0..12 {
        put(&db, "default", &format!("spare {n}"), &"v".repeat(1000));
    }
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    for (key, value) in [("a", "first"), ("b", "second")] {
        put(&db, "default", key, value);
    }
    std::mem::forget(db);
    let (_, file) = log(&store, "second");
    flip(&*file, place_of(&*file, "second"));
    let db = store.open();
    for (key, value) in [("d", "fourth"), ("e", "fifth"), ("f", "sixth")] {
        put(&db, "default", key, value);
    }
    db.close().unwrap();
    let begins = |with: &'static [u8; 8]| {
        let mut logs = logs().into_iter().filter(|name| {
            let log = bytes(&*store.vfs.open(name).unwrap());
            log.starts_with(with) && log.iter().any(|byte| *byte != 0)
        });
        logs.next().unwrap()
    };
    let (spare, quarantine) = (begins(&[0; 8]), begins(MARK));
    let last = log(&store, "fourth").0.to_string();
    store.lose_manifest();
    (store, [spare, quarantine, last])
}

#[test]
fn spare_logs_and_quarantine_are_no_loss_without_a_manifest() {
    let (store, [spare, quarantine, last]) = without_manifest();
    let (target, report) = store.repair();
    assert_eq!(rows(&target, "default").len(), 12 + 4, "{report:#?}");
    for name in [&spare, &quarantine] {
        let file = of_file(&report, name);
        assert_eq!((file.entries, &file.lost), (0, &vec![]), "{name}");
    }
    assert_eq!(of_file(&report, &last).entries, 3);
    assert!(report.files.iter().all(|file| file.lost.is_empty()), "{report:#?}");
}

#[test]
fn losses_of_logs_are_reported_without_a_manifest() {
    let (store, [.., last]) = without_manifest();
    let log = store.vfs.open(&last).unwrap();
    let place = |value| place_of(&*log, value);
    let begins = place("fifth") - place("fourth") - 1;
    let (begins, length) = (begins.next_multiple_of(8), place("sixth") - place("fifth"));
    flip(&*log, place("fifth"));
    let (target, report) = store.repair();
    assert_eq!(get(&target, "e"), None);
    assert_eq!(get(&target, "f").as_deref(), Some("sixth"));
    let gap = format!("{length} bytes from {begins} on, before the next record");
    assert_eq!(of_file(&report, &last).lost, [gap]);

    flip(&*log, 0);
    let (_, report) = store.repair();
    let lost = "all of it: its first record cannot be read".to_owned();
    let file = of_file(&report, &last);
    assert_eq!((&file.lost, file.entries), (&vec![lost], 0));
}

#[test]
fn a_log_in_part_of_a_manifest_is_reported_unless_retired_since() {
    for retired in [false, true] {
        let store = Store::new(Layout::Directory);
        let db = store.open();
        let records = store.remains().edits.len() as u64;
        put(&db, "default", "a", "first");
        put(&db, "default", "b", "second");
        let (id, log) = log(&store, "first");
        for n in 0..6 {
            put(&db, "default", &format!("{n}"), &"v".repeat(1000));
        }
        if retired {
            db.flush().unwrap();
        }
        db.close().unwrap();
        store.lose_record(records);
        if !retired {
            flip(&*log, 0);
        }
        let (target, report) = store.repair();
        let second = place_of(&*log, "second") - place_of(&*log, "first");
        let gap = format!("{second} bytes from 0 on, before the next record");
        let expected = if retired { vec![] } else { vec![gap] };
        assert_eq!(of_file(&report, &id.to_string()).lost, expected, "{report:#?}");
        assert_eq!(get(&target, "b").as_deref(), Some("second"));
    }
}
