//! Rows that may not be what they were: the report names every row that is not.

use super::model::{is_doubtful, sound};
use super::*;

/// Bytes of a sector here: the least that a device writes.
const SECTOR: usize = 512;

/// Damages to a sector.
#[derive(Clone, Copy, Debug)]
enum Sector {
    Zeroed,
    Filled,
    /// The sector before was written there again.
    Repeated,
}

/// Damages a sector of a file; returns whether it changed.
fn strike(file: &dyn File, at: usize, how: Sector) -> bool {
    let before = bytes(file);
    let end = (at + SECTOR).min(before.len());
    let old = &before[at..end];
    let new = match how {
        Sector::Zeroed => vec![0; old.len()],
        Sector::Filled => vec![0xa5; old.len()],
        Sector::Repeated if at < SECTOR => return false,
        Sector::Repeated => before[at - SECTOR..][..old.len()].to_vec(),
    };
    if new == old {
        return false;
    }
    write_all_at(file, &new, at as u64).unwrap();
    true
}

/// Sectors of a store that are not zeros: names of files, and offsets.
fn sectors(store: &Store) -> Vec<(String, usize)> {
    let mut sectors = Vec::new();
    for (name, bytes) in contents(&store.vfs) {
        let used = bytes.chunks(SECTOR).enumerate().filter(|(_, s)| s.iter().any(|b| *b != 0));
        sectors.extend(used.map(|(n, _)| (name.clone(), n * SECTOR)));
    }
    sectors
}

#[test]
fn rows_are_right_or_named_after_any_damaged_sector() {
    let mut repairs = 0;
    for (layout, seed) in LAYOUTS.into_iter().flat_map(|l| (0..3).map(move |seed| (l, seed))) {
        let sound = sound(layout, seed);
        for (name, at) in sectors(&sound.store) {
            for how in [Sector::Zeroed, Sector::Filled, Sector::Repeated] {
                let store = sound.store.copy();
                if !strike(&*store.vfs.open(&name).unwrap(), at, how) {
                    continue;
                }
                let (target, report) = store.repair();
                let context = format!("{layout:?} {seed} {name} {at} {how:?} {report:#?}");
                sound.judge(&target, &report, &context);
                repairs += 1;
            }
        }
    }
    assert!(repairs > 1000, "{repairs}");
}

#[test]
fn rows_are_right_or_named_after_the_loss_of_two_files() {
    for seed in 0..3 {
        let sound = sound(Layout::Directory, seed);
        let names = sound.store.vfs.list().unwrap();
        for first in &names {
            for second in names.iter().filter(|second| *second >= first) {
                let store = sound.store.copy();
                store.vfs.remove(first).unwrap();
                if first != second {
                    store.vfs.remove(second).unwrap();
                }
                let (target, report) = store.repair();
                sound.judge(&target, &report, &format!("{seed} {first} {second} {report:#?}"));
            }
        }
    }
}

/// A closed store whose key `b` was deleted after it was flushed, with the delete in a table of its own;
/// the table with the row, the table with the delete, and the rows.
fn deleted() -> (Store, FileId, FileId, Rows) {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    for key in ["a", "b", "c", "d"] {
        put(&db, "default", key, "value");
    }
    put(&db, "other", "b", "value");
    db.flush().unwrap();
    db.default_keyspace().delete("b", Durability::Buffered).unwrap();
    put(&db, "default", "c", "newer");
    db.flush().unwrap();
    // More than the logs hold.
    for n in 0..20 {
        put(&db, "other", &format!("{n:02}"), &"v".repeat(1000));
    }
    db.flush().unwrap();
    let before = rows(&db, "default");
    db.close().unwrap();
    let version_set = store.look().0;
    let tables = version_set.keyspaces.get(&KeyspaceId(0)).unwrap().shape.tables();
    let mut tables: Vec<_> = tables.map(|(.., info)| (info.first_seq, info.id.0)).collect();
    tables.sort_unstable();
    let [row, delete] = [0, 1].map(|n| FileId::table(tables[n].1));
    (store, row, delete, before)
}

#[test]
fn a_row_whose_delete_is_lost_with_its_table_is_doubtful() {
    let (store, _, delete, _) = deleted();
    store.vfs.remove(&delete.to_string()).unwrap();
    let (target, report) = store.repair();
    assert_eq!(get(&target, "b").as_deref(), Some("value"));
    assert_eq!(get(&target, "c").as_deref(), Some("value"));
    let [range] = &report.doubtful[..] else { panic!("{report:#?}") };
    let bounds = (range.from.as_deref(), range.through.as_deref());
    assert_eq!(bounds, (Some(&b"b"[..]), Some(&b"c"[..])));
    assert_eq!((range.keyspace.as_deref(), &range.file), (Some("default"), &delete.to_string()));
    assert_eq!((range.rows, report.doubtful_rows, report.complete), (2, 2, false));
}

#[test]
fn a_row_that_is_newer_than_a_lost_table_is_certain() {
    let (store, row, _, before) = deleted();
    store.vfs.remove(&row.to_string()).unwrap();
    let (target, report) = store.repair();
    assert_eq!(get(&target, "c").as_deref(), Some("newer"));
    assert_eq!(report.doubtful_rows, 0, "{report:#?}");
    for key in ["a", "d"] {
        assert!(
            is_doubtful(&report, "default", key.as_bytes()) && before.contains_key(key.as_bytes())
        );
    }
    assert!(!is_doubtful(&report, "other", b"b"));
}

#[test]
fn doubtful_rows_are_kept_apart_on_request() {
    let (store, _, delete, _) = deleted();
    store.vfs.remove(&delete.to_string()).unwrap();
    let target = Store::new(Layout::Directory).open();
    let report = repair(store.remains(), &target, DoubtfulRows::Apart).unwrap();
    let keys = |name| rows(&target, name).into_keys().collect::<Vec<_>>();
    assert_eq!(keys("default"), [b"a", b"d"]);
    assert_eq!(keys("default.doubtful"), [b"b", b"c"]);
    let counts: Vec<_> = report.rows.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(counts, [("default", 2), ("default.doubtful", 2), ("other", 21)]);
    assert_eq!(target.keyspaces().len(), 3);
}

#[test]
fn a_name_that_a_keyspace_has_is_not_given_to_doubtful_rows() {
    let names = |all: &[&str]| -> BTreeMap<u32, String> {
        (0..).zip(all.iter().map(|name| (*name).to_owned())).collect()
    };
    let long = "n".repeat(MAX_KEYSPACE_NAME_BYTES);
    for (names, expected) in [
        (names(&["a", "b"]), "a.doubtful"),
        (names(&["a", "a.doubtful"]), "a.doubtful.0"),
        (names(&[&long]), "default.doubtful"),
    ] {
        assert_eq!(doubtful_name(0, &names[&0], &names), expected);
    }
}

#[test]
fn every_row_is_doubtful_without_a_manifest() {
    let (store, ..) = deleted();
    store.lose_manifest();
    let (target, report) = store.repair();
    let [range] = &report.doubtful[..] else { panic!("{report:#?}") };
    assert_eq!((&range.keyspace, &range.from, &range.through), (&None, &None, &None));
    let count: usize = all_rows(&target).values().map(Rows::len).sum();
    assert_eq!((range.rows, report.doubtful_rows), (count as u64, count as u64));
}

#[test]
fn writes_before_a_lost_record_are_doubtful_and_later_ones_not() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "flushed", "a", "value");
    db.flush().unwrap();
    for key in ["a", "b", "c"] {
        put(&db, "default", key, &format!("value of {key}"));
    }
    db.close().unwrap();
    for (name, log) in contents(&store.vfs).into_iter().filter(|(name, _)| name.ends_with(".log")) {
        if let Some(at) = log.windows(10).position(|found| found == b"value of b") {
            flip(&*store.vfs.open(&name).unwrap(), at as u64);
        }
    }
    let (target, report) = store.repair();
    assert_eq!((get(&target, "b"), get(&target, "c").as_deref()), (None, Some("value of c")));
    // The lost record may have been one of any keyspace.
    assert_eq!(report.doubtful_rows, 2, "{report:#?}");
    let target = Store::new(Layout::Directory).open();
    repair(store.remains(), &target, DoubtfulRows::Apart).unwrap();
    assert_eq!(rows(&target, "default").into_keys().collect::<Vec<_>>(), [b"c"]);
    assert_eq!(
        rows(&target, "default.doubtful").len() + rows(&target, "flushed.doubtful").len(),
        2
    );
}

#[test]
fn rows_before_a_torn_end_without_a_claim_are_doubtful() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "default", "a", "first");
    put(&db, "default", "a", "second");
    std::mem::forget(db);
    for (name, log) in contents(&store.vfs).into_iter().filter(|(name, _)| name.ends_with(".log")) {
        if let Some(at) = log.windows(6).position(|found| found == b"second") {
            flip(&*store.vfs.open(&name).unwrap(), at as u64);
        }
    }
    let (target, report) = store.repair();
    assert_eq!(get(&target, "a").as_deref(), Some("first"));
    assert_eq!((report.doubtful_rows, report.last_write), (1, Some(1)), "{report:#?}");
    assert!(!report.complete);
}

#[test]
fn a_log_page_that_was_written_twice_makes_older_rows_doubtful() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    for n in 0..30 {
        put(&db, ["a", "b"][n % 2], &format!("{}", n % 6), &format!("value {n}"));
    }
    let before = all_rows(&db);
    // No claim is left, as where a process is killed.
    std::mem::forget(db);
    let name = store.vfs.list().unwrap().into_iter().find(|name| name.ends_with(".log")).unwrap();
    let written = bytes(&*store.vfs.open(&name).unwrap()).iter().rposition(|byte| *byte != 0);
    let mut older = 0;
    for at in (SECTOR..written.unwrap()).step_by(SECTOR) {
        let store = store.copy();
        assert!(strike(&*store.vfs.open(&name).unwrap(), at, Sector::Repeated));
        let (target, report) = store.repair();
        assert!(!report.complete, "{at} {report:#?}");
        for (keyspace, before) in &before {
            let after = rows(&target, keyspace);
            for (key, value) in before.iter().filter(|(key, value)| after.get(*key) != Some(value))
            {
                assert!(is_doubtful(&report, keyspace, key), "{at} {value:?} {report:#?}");
                older += 1;
            }
        }
    }
    assert!(older > 0);
}
