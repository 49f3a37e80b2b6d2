//! Tables under names of others, and tables that only a name attests.

use super::*;

/// A closed store of two tables, one for each of two keyspaces, whose logs are gone; the names of the
/// tables.
fn of_two_tables() -> (Store, [String; 2]) {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    for n in 0..100 {
        put(&db, "default", &format!("{n:03}"), "of the default keyspace");
        put(&db, "other", &format!("{n:03}"), "of the other");
    }
    db.flush().unwrap();
    db.close().unwrap();
    let (version_set, storage) = store.look();
    for (id, log) in store.remains().files {
        if id.kind == FileKind::Log {
            let log = store.vfs.open(log.name()).unwrap();
            write_all_at(&*log, &vec![0; log.len().unwrap() as usize], 0).unwrap();
        }
    }
    drop(storage);
    let names = version_set.tables().into_iter();
    let names = names.map(|info| FileId::table(info.id.0).to_string());
    (store, names.collect::<Vec<_>>().try_into().unwrap())
}

fn move_to(store: &Store, from: &str, to: &str) {
    copy_to(store, from, to);
    store.vfs.remove(from).unwrap();
}

fn copy_to(store: &Store, from: &str, to: &str) {
    let bytes = bytes(&*store.vfs.open(from).unwrap());
    write_all_at(&*store.vfs.create(to).unwrap(), &bytes, 0).unwrap();
}

/// Repairs the store, from which no row must be lost; returns the notes.
fn whole(store: &Store) -> Vec<String> {
    let (target, report) = store.repair();
    for (keyspace, value) in [("default", "of the default keyspace"), ("other", "of the other")] {
        let rows = rows(&target, keyspace);
        assert!(rows.len() == 100 && rows.values().all(|v| v == value.as_bytes()), "{report:#?}");
    }
    let tables = report.files.iter().filter(|file| file.file.ends_with(".sst"));
    let lost = |file: &SalvagedFile| file.lost.len() + file.lost_blocks.len();
    assert!(tables.map(lost).all(|lost| lost == 0), "{report:#?}");
    report.notes
}

fn number(name: &str) -> u64 {
    FileId::parse(name).unwrap().number
}

#[test]
fn a_renamed_table_is_known_by_its_footer() {
    let (store, [a, b]) = of_two_tables();
    assert!(whole(&store).is_empty());
    move_to(&store, &a, "00000099.sst");
    let note = format!("00000099.sst is table {} under another name", number(&a));
    assert_eq!(whole(&store), [note]);
    move_to(&store, &b, &a);
    move_to(&store, "00000099.sst", &b);
    let note = |is: &str, under| format!("{under} is table {} under another name", number(is));
    assert_eq!(whole(&store), [note(&b, &a), note(&a, &b)]);
}

#[test]
fn a_file_in_the_place_of_a_renamed_table_is_no_loss() {
    let (store, [a, _]) = of_two_tables();
    move_to(&store, &a, "00000099.sst");
    write_all_at(&*store.vfs.create(&a).unwrap(), &[7; 3000], 0).unwrap();
    let notes = whole(&store);
    let left_out = format!("{a} was left out: 00000099.sst is table {}, whole", number(&a));
    assert!(notes.contains(&left_out), "{notes:?}");
}

#[test]
fn a_copy_of_a_damaged_table_has_what_it_lost() {
    let (store, [a, _]) = of_two_tables();
    copy_to(&store, &a, "00000099.sst");
    assert_eq!(whole(&store).len(), 1, "the copy is not needed");
    let (table, copy) = (store.vfs.open(&a).unwrap(), store.vfs.open("00000099.sst").unwrap());
    flip(&*table, 20);
    whole(&store);
    // Another block of the copy.
    flip(&*copy, 600);
    let (target, report) = store.repair();
    assert!(!report.complete && of_file(&report, &a).entries < 100);
    assert_eq!(all_rows(&target).values().map(BTreeMap::len).sum::<usize>(), 200);
}

#[test]
fn a_table_without_a_footer_or_a_manifest_is_read_by_its_name() {
    let (store, [a, _]) = of_two_tables();
    let file = store.vfs.open(&a).unwrap();
    flip(&*file, file.len().unwrap() - 20);
    store.lose_manifest();
    let (_, report) = store.repair();
    let file = of_file(&report, &a);
    assert_eq!((file.entries, &file.lost, &file.lost_blocks), (100, &vec![], &vec![]));
}

#[test]
fn copies_of_an_intact_table_are_left_out() {
    let (store, [a, _]) = of_two_tables();
    for (copies, copy) in (1..).zip(["00000098.sst", "00000099.sst", "00000100.sst"]) {
        copy_to(&store, &a, copy);
        let dead = "tables that no commit names were left out: unfinished or merged away";
        assert_eq!(whole(&store), [format!("{copies} {dead}")]);
    }
}
