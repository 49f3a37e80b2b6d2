//! A store that is only read: every change is refused by name, and nothing is done behind the back of
//! its readers.

use super::{directory, entries, faulty, fill, open, slices};
use crate::storage::vfs::Vfs;
use crate::storage::{Directory, FileId};
use crate::{Condition, Db, Durability, Error, ErrorKind, Options, Result, WriteBatch};
use std::io;
use std::sync::Arc;
use terrane_policy::PolicyOptions;

#[track_caller]
fn refused<T>(change: Result<T>) {
    match change.err() {
        Some(error) => {
            assert_eq!(error.io_kind(), Some(io::ErrorKind::ReadOnlyFilesystem), "{error}");
            assert!(error.to_string().starts_with("could not write to "), "{error}");
        }
        None => panic!("it is changed"),
    }
}

#[test]
fn a_store_that_is_only_read_refuses_changes_and_does_no_work() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    for round in 0..6 {
        // Runs that are due, and logs that hold more than a memtable.
        fill(&db, 1000, round);
    }
    db.create_keyspace("other").unwrap();
    let expected = entries(&db);
    db.close().unwrap();

    let before = vfs.operations();
    let storage = Directory::read_only(Arc::new(vfs.clone())).unwrap();
    let options = Options { read_only: true, memtable_bytes: 64 << 10, ..Options::small() };
    let db = Db::open_storage(Arc::new(storage), options, slices()).unwrap();
    let rows = db.default_keyspace();
    refused(rows.put(b"k", b"v", Durability::Buffered));
    refused(rows.delete(b"k", Durability::Sync));
    let mut batch = WriteBatch::new();
    batch.put(&rows, "k", "v").unwrap();
    // Also if its condition does not hold.
    let first = &expected[0].0;
    refused(db.write_if([Condition::absent(&rows, first)], batch, Durability::Buffered));
    refused(db.flush());
    refused(rows.compact_range(..));
    refused(db.create_keyspace("new"));
    refused(db.drop_keyspace("other"));
    refused(rows.set_policy(&PolicyOptions::preset("tiered").unwrap()));
    db.sync().unwrap();
    db.wait_until_idle().unwrap();
    assert!(!db.run_jobs(u64::MAX).unwrap());
    assert!(entries(&db) == expected);
    db.close().unwrap();
    assert_eq!(vfs.operations(), before, "nothing was changed");
}

#[test]
fn a_check_of_a_read_only_store_calls_a_torn_copy_repairable() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    fill(&db, 10, 1);
    db.close().unwrap();
    // The second copy of the last commit.
    let edits = vfs.list().unwrap().into_iter().find(|n| n.starts_with("MANIFEST")).unwrap();
    let half = vfs.open(&edits).unwrap().len().unwrap() / 2;
    vfs.flip(&edits, (half + 40) * 8).unwrap();
    let storage = || Arc::new(Directory::read_only(Arc::new(vfs.clone())).unwrap());
    let inspected = crate::inspect(&*storage()).unwrap();
    let options = Options { read_only: true, ..Options::small() };
    let db = Db::open_storage(storage(), options, slices()).unwrap();
    let checked = db.check().unwrap();
    assert_eq!((checked.damage.len(), checked.repairable.len()), (0, 1), "{checked:?}");
    assert_eq!(checked.repairable, inspected.repairable);
    // What came after it was opened is damage.
    vfs.flip("CURRENT", 10 * 8).unwrap();
    let checked = db.check().unwrap();
    assert_eq!((checked.damage.len(), checked.repairable.len()), (1, 1), "{checked:?}");
    drop(db);
    let db = open(directory(&vfs), slices()).unwrap();
    let checked = db.check().unwrap();
    assert_eq!((checked.damage.len(), checked.repairable.len()), (0, 0), "{checked:?}");
}

#[test]
fn a_checkpoint_of_a_read_only_store_has_its_logs_contents() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    fill(&db, 1000, 1);
    let expected = entries(&db);
    db.close().unwrap();
    let storage = Directory::read_only(Arc::new(vfs)).unwrap();
    let options = Options { read_only: true, ..Options::small() };
    let db = Db::open_storage(Arc::new(storage), options, slices()).unwrap();
    let report = db.check().unwrap();
    assert!(report.wal_records > 0 && report.damage.is_empty(), "{report:?}");
    let copy = directory(&faulty());
    let mut checkpoint = db.begin_checkpoint(&*copy).unwrap();
    while checkpoint.step(&*copy).unwrap() {}
    drop((checkpoint, db));
    assert!(entries(&open(copy, slices()).unwrap()) == expected);
}

#[test]
fn a_store_with_a_lost_table_is_opened_to_read_the_rest() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    let rows = db.default_keyspace();
    // Two keyspaces, so that each has tables of its own.
    let other = db.create_keyspace("other").unwrap();
    for n in 0..10u8 {
        rows.put([n], [n; 100], Durability::Buffered).unwrap();
        other.put([n], [n; 100], Durability::Buffered).unwrap();
    }
    db.flush().unwrap();
    let lost = rows.shape().unwrap().tables().next().unwrap().2.id;
    drop((rows, other));
    db.close().unwrap();
    let name = FileId::table(lost.0).to_string();
    let length = vfs.open(&name).unwrap().len().unwrap();
    for cut in [1, 0] {
        if cut > 0 {
            vfs.open(&name).unwrap().set_len(length - cut).unwrap();
        } else {
            vfs.remove(&name).unwrap();
        }
        let refused = open(directory(&vfs), slices()).map(drop).map_err(Error::into_kind);
        assert!(matches!(refused, Err(ErrorKind::Corrupt(damage)) if damage.file == name));
        let storage = Directory::read_only(Arc::new(vfs.clone())).unwrap();
        let options = Options { read_only: true, ..Options::small() };
        let db = Db::open_storage(Arc::new(storage), options, slices()).unwrap();
        let is_lost = |found: Result<()>| match found.map_err(Error::into_kind) {
            Err(ErrorKind::Corrupt(damage)) => damage.file == name,
            _ => false,
        };
        let rows = db.default_keyspace();
        assert!(is_lost(rows.get([3]).map(drop)));
        assert!(is_lost(rows.scan(..).unwrap().try_for_each(|row| row.map(drop))));
        assert_eq!(rows.get([200]).unwrap(), None, "no table has it");
        let other = db.create_keyspace("other").unwrap();
        assert_eq!(other.get([3]).unwrap(), Some(vec![3; 100]));
        assert_eq!(other.scan(..).unwrap().count(), 10);
        assert_eq!(db.check().unwrap().damage[0].file, name);
    }
}
