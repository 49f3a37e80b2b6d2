//! Tables that a copy shares with another store by hard links.

use super::*;
use crate::error::ErrorKind;
use crate::storage::vfs::NativeVfs;
use std::fs;
use std::os::unix::fs::MetadataExt;

fn native(place: &tempfile::TempDir) -> Directory {
    let store = Directory::open(Arc::new(NativeVfs::open(place.path(), true).unwrap())).unwrap();
    assert!(store.recover().unwrap().is_none());
    store
}

#[test]
fn a_copy_shares_the_files_of_another_native_store() {
    let (place, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, copy) = (native(&place), native(&copies));
    let table = FileId::table(1);
    write_all_at(&*first.create(table, 0).unwrap(), b"table", 0).unwrap();
    commit(&first, b"one", &[table], &[]).unwrap();
    let path = first.path_of(table).unwrap();
    assert_eq!(path, place.path().join(table.to_string()));

    let in_memory = store(&MemoryVfs::new());
    assert!(!copy.link(table, &in_memory).unwrap(), "it has no path");
    assert_eq!(copy.files().unwrap(), []);
    assert!(copy.link(table, &first).unwrap());
    assert!(copies.path().join(CREATING).exists(), "the creation has begun");
    commit(&copy, b"copied", &[table], &[]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
    fs::remove_file(&path).unwrap();
    let again = Directory::open(Arc::new(NativeVfs::open(copies.path(), false).unwrap())).unwrap();
    again.recover().unwrap().unwrap();
    let mut found = [0; 9];
    assert_eq!(again.open(table).unwrap().read_at(&mut found, 0).unwrap(), 5);
    assert_eq!(&found[..5], b"table");
}

#[test]
fn a_file_that_cannot_be_opened_is_not_reported_missing() {
    let place = tempfile::tempdir().unwrap();
    let store = native(&place);
    let table = FileId::table(1);
    store.create(table, 0).unwrap();
    commit(&store, b"one", &[table], &[]).unwrap();
    let path = store.path_of(table).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(matches!(store.open(table).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
    fs::create_dir(&path).unwrap();
    assert!(matches!(store.open(table).map_err(Error::into_kind), Err(ErrorKind::Io(_))));
}
