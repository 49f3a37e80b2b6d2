//! Reading damaged manifests, and tables in their place.

use super::*;
use crate::storage::Commit;
use crate::version::{Change, Edit};
use terrane_policy::{PolicyOptions, Tiered};

fn commit(store: &Store, edit: &[u8]) {
    let (_, storage) = store.look();
    let snapshot = || panic!("the manifest has room");
    storage.commit(&Commit { edit, added: &[], dropped: &[], snapshot: &snapshot }).unwrap();
    storage.close(0);
}

#[test]
fn keyspaces_keep_their_policies_or_the_loss_is_reported() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "other", "key", "value");
    let policy = PolicyOptions::Tiered(Tiered { size_ratio: 7, ..Tiered::default() });
    db.create_keyspace("other").unwrap().set_policy(&policy).unwrap();
    let id = db.create_keyspace("other").unwrap().id();
    db.close().unwrap();
    let (target, report) = store.repair();
    assert!(report.complete && report.notes.is_empty());
    assert_eq!(target.create_keyspace("other").unwrap().policy().unwrap(), policy);

    let changes = vec![Change::SetPolicy { keyspace: id, policy: "nonsense".to_owned() }];
    commit(&store, &Edit { changes }.encode());
    let (target, report) = store.repair();
    assert!(report.complete);
    assert!(report.notes[0].starts_with("keyspace other has the default policy now: "));
    assert_eq!(rows(&target, "other").len(), 1);
}

#[test]
fn a_manifest_counts_up_to_an_edit_that_cannot_be_read() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "other", "key", "value");
    db.close().unwrap();
    let records = store.remains().edits.len();
    commit(&store, &[100, 0]);
    let (target, report) = store.repair();
    assert!(!report.complete);
    assert!(report.notes[0].starts_with(&format!("the manifest is read to record {records}: ")));
    assert_eq!(rows(&target, "other").len(), 1);
}

#[test]
fn a_loss_of_logs_is_reported_if_the_manifest_names_none() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "default", "a", "first");
    db.flush().unwrap();
    db.close().unwrap();
    let below = store.look().0.next_id;
    commit(&store, &Edit { changes: vec![Change::RetireLogs { below, next: 1 }] }.encode());
    let (target, report) = store.repair();
    assert!(of_file(&report, "the log").lost[0].contains("no log file"), "{report:#?}");
    assert_eq!(get(&target, "a").as_deref(), Some("first"));
}

/// Tables, by name.
fn tables(store: &Store) -> BTreeMap<String, Vec<u8>> {
    contents(&store.vfs).into_iter().filter(|(name, _)| name.ends_with(".sst")).collect()
}

fn create(store: &Store, name: &str, bytes: &[u8]) {
    write_all_at(&*store.vfs.create(name).unwrap(), bytes, 0).unwrap();
}

#[test]
fn without_a_manifest_the_last_keyspace_of_a_name_has_it() {
    const MAX: usize = MAX_KEYSPACE_NAME_BYTES;
    for len in [5, MAX - 14, MAX - 13, MAX - 12, MAX] {
        let name = &"n".repeat(len);
        let store = Store::new(Layout::Directory);
        let db = store.open();
        let mut ids = Vec::new();
        let mut dropped = BTreeMap::new();
        for value in ["first", "second", "third"] {
            db.drop_keyspace(name).unwrap();
            ids.push(db.create_keyspace(name).unwrap().id().0);
            put(&db, name, "key", value);
            put(&db, name, value, value);
            db.flush().unwrap();
            dropped.extend(tables(&store));
        }
        db.close().unwrap();
        dropped.iter().for_each(|(name, bytes)| create(&store, name, bytes));
        store.lose_manifest();
        let (target, report) = store.repair();
        let unlike = |id: &u32| {
            let longer = format!("{name} (keyspace {id})");
            if longer.len() <= MAX { longer } else { unnamed(*id) }
        };
        let names = [unlike(&ids[0]), unlike(&ids[1]), name.to_owned()];
        let expected: Vec<_> = names.iter().map(|name| (name.clone(), 2)).collect();
        assert_eq!(report.rows, expected);
        for (name, value) in names.iter().zip(["first", "second", "third"]) {
            let value = value.as_bytes().to_vec();
            let rows = rows(&target, name);
            assert!(rows[&b"key"[..]] == value && rows[&value] == value, "{name}");
        }
    }
}

#[test]
fn unnamed_tables_are_left_out_of_a_whole_store_and_counted() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "default", "key", "value");
    db.flush().unwrap();
    let (name, table) = tables(&store).pop_first().unwrap();
    put(&db, "default", "key", "newer");
    db.flush().unwrap();
    db.create_keyspace("default").unwrap().compact_range(..).unwrap();
    db.close().unwrap();
    create(&store, &name, &table);
    create(&store, "00999999.sst", b"the front of a table");
    let (target, report) = store.repair();
    let note = "2 tables that no commit names were left out: unfinished or merged away";
    assert_eq!((report.notes, report.complete), (vec![note.to_owned()], true));
    assert_eq!(get(&target, "key").unwrap(), "newer");
}

#[test]
fn tables_that_no_readable_manifest_names_are_taken_and_counted() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    for key in ["a", "b", "c"] {
        put(&db, "default", key, "value");
        db.flush().unwrap();
    }
    db.close().unwrap();
    create(&store, "00999999.sst", b"the front of a table");
    store.lose_manifest();
    let (target, report) = store.repair();
    assert_eq!(rows(&target, "default").len(), 3);
    let taken = |note: &&String| note.starts_with("3 tables were taken that no readable manifest");
    assert_eq!(report.notes.iter().filter(taken).count(), 1, "{:?}", report.notes);
    assert_eq!(of_file(&report, "00999999.sst").lost.len(), 1);
    assert!(!report.complete);
}

#[test]
fn missing_files_of_a_damaged_manifest_may_have_been_dropped() {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "default", "a", "1");
    put(&db, "default", "b", "2");
    db.flush().unwrap();
    let table = tables(&store).pop_first().unwrap().0;
    let records = store.remains().edits.len() as u64;
    put(&db, "default", "a", "3");
    db.flush().unwrap();
    db.create_keyspace("default").unwrap().compact_range(..).unwrap();
    db.wait_until_idle().unwrap();
    assert!(!tables(&store).contains_key(&table));
    let before = all_rows(&db);
    db.close().unwrap();
    store.lose_record(records);
    let (target, report) = store.repair();
    assert_eq!(all_rows(&target), before);
    let note = format!("{table} is not there, 2 entries: lost, or dropped by a commit that is");
    assert!(report.notes.contains(&note) && !report.complete, "{report:#?}");
    assert!(report.files.iter().all(|file| file.file != table && file.lost.is_empty()));
}

#[test]
fn a_log_of_a_commit_that_is_lost_shows_that_it_is() {
    for layout in LAYOUTS {
        let store = Store::new(layout);
        let db = store.open();
        put(&db, "default", "first", "1");
        let (file, base, len) = store.manifest();
        let mut old = vec![0; len as usize];
        read_exact_at(&*file, &mut old, base).unwrap();
        for n in 0..8 {
            put(&db, "default", &format!("{n}"), &"v".repeat(1000));
        }
        let before = all_rows(&db);
        db.close().unwrap();
        let (version_set, _) = store.look();
        let last = version_set.logs.last().unwrap();
        let note = format!(
            "{} holds log {}: the commit that opened it is lost",
            FileId::log(last.file),
            last.number
        );
        assert!(version_set.logs.len() > 1);
        assert!(store.repair().1.notes.is_empty());
        write_all_at(&*file, &old, base).unwrap();
        let (target, report) = store.repair();
        if layout == Layout::Directory {
            let tells = |note: &&String| note.ends_with("the commit that opened it is lost");
            let told: Vec<_> = report.notes.iter().filter(tells).collect();
            assert!(told.len() == 1 && !report.complete, "{report:#?}");
            assert!(version_set.logs.len() > 2 || *told[0] == note, "{report:#?}");
            assert_eq!(all_rows(&target), before);
        }
    }
}
