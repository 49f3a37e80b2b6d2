//! Names of a store's files, and descriptions of its place.

use super::*;

fn holding(names: &[&str]) -> MemoryVfs {
    let vfs = MemoryVfs::new();
    names.iter().for_each(|name| drop(vfs.create(name).unwrap()));
    vfs
}

#[test]
fn the_names_of_a_store_are_known_and_no_others() {
    let (table, log) = (FileId::table(3).to_string(), FileId::log(4).to_string());
    for name in [CURRENT, CURRENT_TEMP, CREATING, LOCK, &table, &log, "MANIFEST-000009"] {
        assert!(Directory::is_name(name), "{name}");
    }
    for name in ["", "letter.txt", "MANIFEST", "MANIFEST-x", "current", "3.blob"] {
        assert!(!Directory::is_name(name), "{name}");
    }
    assert_eq!(Directory::manifest_generation("MANIFEST-000009"), Some(9));
    assert_eq!(Directory::manifest_generation(&table), None);
}

#[test]
fn a_store_is_there_if_any_of_its_files_is() {
    let table = FileId::table(3).to_string();
    for (names, is_there) in [
        (&[][..], false),
        (&[LOCK, CURRENT_TEMP, "letter.txt"], false),
        (&["letter.txt", &table], true),
        (&[CURRENT], true),
        (&[CREATING], true),
    ] {
        assert_eq!(Directory::is_there(&holding(names)).unwrap(), is_there, "{names:?}");
    }
}

#[test]
fn a_creation_is_unfinished_until_a_manifest_is_named() {
    for (names, is_unfinished) in [
        (&[][..], false),
        (&[CREATING], true),
        (&[CREATING, LOCK], true),
        (&[CREATING, CURRENT], false),
        (&[CURRENT], false),
    ] {
        assert_eq!(Directory::is_unfinished(&holding(names)).unwrap(), is_unfinished, "{names:?}");
    }
}

#[test]
fn a_reopened_store_keeps_its_id_and_counts_its_commits() {
    let vfs = MemoryVfs::new();
    let first = store(&vfs);
    assert_eq!(first.name(), vfs.place());
    let (id, commits) = (first.id(), first.commits());
    assert!(!id.is_none());
    commit(&first, b"two", &[], &[]).unwrap();
    commit(&first, b"three", &[], &[]).unwrap();
    assert_eq!(first.commits(), commits + 2);
    drop(first);
    let second = open(&vfs);
    second.recover().unwrap().unwrap();
    assert_eq!((second.id(), second.commits()), (id, commits + 2));
}
