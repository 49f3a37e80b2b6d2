mod creation;
#[cfg(unix)]
mod links;
mod names;
mod orphans;

use super::current::{COPY, encode_current};
use super::names::MANIFEST;
use super::*;
use crate::error::ErrorKind;
use crate::storage::format::Format;
use crate::storage::vfs::MemoryVfs;
use crate::storage::write_all_at;
use std::collections::BTreeSet;

/// Commits `edit`, with the same bytes as the snapshot.
fn commit(store: &Directory, edit: &[u8], added: &[FileId], dropped: &[FileId]) -> Result<()> {
    store.commit(&Commit { edit, added, dropped, snapshot: &|| edit.to_vec() })
}

fn open(vfs: &MemoryVfs) -> Directory {
    Directory::open(Arc::new(vfs.clone())).unwrap()
}

/// A store of one table and one log.
fn store(vfs: &MemoryVfs) -> Directory {
    let store = open(vfs);
    assert!(store.recover().unwrap().is_none());
    let table = store.create(FileId::table(1), 0).unwrap();
    table.write_at(b"table", 0).unwrap();
    let log = store.create(FileId::log(2), 100).unwrap();
    assert_eq!(log.len().unwrap(), 100);
    commit(&store, b"one", &[FileId::table(1), FileId::log(2)], &[]).unwrap();
    store
}

#[test]
fn a_place_without_a_store_says_what_it_is() {
    let vfs = MemoryVfs::new();
    vfs.create(LOCK).unwrap();
    assert!(open(&vfs).recover().unwrap().is_none());
    vfs.create("letter.txt").unwrap();
    assert!(matches!(open(&vfs).recover().map_err(Error::into_kind), Err(ErrorKind::NoStore(_))));
    vfs.create(&FileId::table(3).to_string()).unwrap();
    assert!(
        matches!(open(&vfs).recover().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))),
        "files without a manifest"
    );
}

#[test]
fn opening_removes_leftovers_and_no_other_files() {
    let vfs = MemoryVfs::new();
    let first = store(&vfs);
    first.create(FileId::table(3), 0).unwrap();
    commit(&first, b"two", &[], &[FileId::table(1)]).unwrap();
    assert_eq!(first.files().unwrap().len(), 3, "dropped is not removed");
    for name in ["MANIFEST-000009", "MANIFEST-1", CURRENT_TEMP, CREATING, "3.sst", "00000003.blob"]
    {
        vfs.create(name).unwrap();
    }
    let before = vfs.list().unwrap();
    let second = open(&vfs);
    let found = second.recover().unwrap().unwrap();
    assert_eq!(found.edits, [b"one", b"two"]);
    assert_eq!(vfs.list().unwrap(), before, "nothing has changed yet");
    let orphans = |store: &Directory| -> Vec<String> {
        store.orphans().unwrap().into_iter().map(|orphan| orphan.file).collect()
    };
    let (one, three) = (FileId::table(1).to_string(), FileId::table(3).to_string());
    let expected = [CREATING, CURRENT_TEMP, "MANIFEST-000009", one.as_str(), &three];
    let found: BTreeSet<_> = orphans(&second).into_iter().collect();
    assert_eq!(found, expected.map(str::to_owned).into());
    second.resume().unwrap();
    assert!(orphans(&second).is_empty());
    assert_eq!(second.files().unwrap(), [FileId::log(2)]);
    let names =
        ["00000002.log", "00000003.blob", "3.sst", CURRENT, "MANIFEST-000001", "MANIFEST-1"];
    assert_eq!(vfs.list().unwrap(), names);
    assert!(second.check().unwrap().is_empty());
}

#[test]
fn the_first_file_of_a_store_follows_the_mark_of_its_creation() {
    let vfs = MemoryVfs::new();
    let store = open(&vfs);
    assert!(store.recover().unwrap().is_none());
    store.create(FileId::table(1), 0).unwrap();
    assert!(Directory::is_unfinished(&vfs).unwrap());
    commit(&store, b"one", &[FileId::table(1)], &[]).unwrap();
    assert!(!vfs.list().unwrap().contains(&CREATING.to_owned()));
}

#[test]
fn a_kept_orphan_is_none_once_its_name_is_created() {
    let vfs = MemoryVfs::new();
    let store = store(&vfs);
    let orphan = |id: FileId| Orphan { file: id.to_string(), kept: true };
    for id in [FileId::table(7), FileId::table(8)] {
        vfs.create(&id.to_string()).unwrap();
        let mut files = lock(&store.files);
        files.unnamed.insert(id);
        files.orphans.push(orphan(id));
    }
    store.create(FileId::table(7), 0).unwrap();
    assert_eq!(store.orphans().unwrap(), [orphan(FileId::table(8))]);
}

#[test]
fn a_name_of_another_manifest_or_store_is_damage() {
    let vfs = MemoryVfs::new();
    let store = store(&vfs);
    for (id, generation, damaged) in
        [(store.id(), 2, 1), (StoreId::random().unwrap(), 1, 1), (store.id(), 1, 0)]
    {
        let file = vfs.open(CURRENT).unwrap();
        write_all_at(&*file, &encode_current(id, generation), 0).unwrap();
        assert_eq!(store.check().unwrap().len(), damaged, "{id} {generation}");
    }
}

#[test]
fn a_live_file_is_not_removed_created_or_dropped_twice() {
    let vfs = MemoryVfs::new();
    let store = store(&vfs);
    let id = FileId::table(1);
    assert!(matches!(
        store.remove(id).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    assert!(matches!(
        store.create(id, 0).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    commit(&store, b"two", &[], &[id]).unwrap();
    assert!(matches!(
        commit(&store, b"", &[], &[id]).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    let reader = store.open(id).unwrap();
    store.remove(id).unwrap();
    let mut buf = [0; 5];
    assert_eq!((reader.read_at(&mut buf, 0).unwrap(), &buf), (5, b"table"));
    assert!(matches!(store.open(id).map_err(Error::into_kind), Err(ErrorKind::Io(_))));
    store.remove(id).expect("it is gone already");
}

#[test]
fn a_file_that_cannot_be_removed_stays_and_may_be_removed_later() {
    use crate::storage::vfs::FaultVfs;
    use crate::storage::vfs::fault::Fault;
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let store = Directory::open(Arc::new(vfs.clone())).unwrap();
    assert!(store.recover().unwrap().is_none());
    let id = FileId::table(1);
    store.create(id, 0).unwrap();
    vfs.fail_at(vfs.operations(), Fault::Io);
    assert!(matches!(store.remove(id).map_err(Error::into_kind), Err(ErrorKind::Io(_))));
    assert_eq!(store.files().unwrap(), [id]);
    store.remove(id).unwrap();
    assert_eq!(store.files().unwrap(), []);
}

#[test]
fn optional_features_that_are_not_known_outlive_a_generation() {
    let vfs = MemoryVfs::new();
    let first = store(&vfs);
    let later = Format { optional: 8, ..Format::CURRENT };
    let mut state = lock(&first.commit_state);
    state.manifest.as_mut().unwrap().add_features(later);
    state.needs_rollover = true;
    drop(state);
    commit(&first, b"by a later release", &[], &[]).unwrap();
    let second = open(&vfs);
    second.recover().unwrap();
    lock(&second.commit_state).needs_rollover = true;
    commit(&second, b"by this one", &[], &[]).unwrap();
    let third = open(&vfs);
    third.recover().unwrap();
    let manifest = lock(&third.commit_state).manifest.as_ref().unwrap().for_next_generation();
    assert_eq!((manifest.format, third.files().unwrap().len()), (later, 2));
}

#[test]
fn a_full_manifest_rolls_over_with_a_snapshot() {
    let vfs = MemoryVfs::new();
    let first = store(&vfs);
    for n in 0..100u8 {
        commit(&first, &[n; 900], &[], &[]).unwrap();
    }
    let manifests: Vec<_> =
        vfs.list().unwrap().into_iter().filter(|n| n.starts_with(MANIFEST)).collect();
    assert_eq!(manifests.len(), 1);
    assert_ne!(manifests[0], manifest_name(1));
    let edits = open(&vfs).recover().unwrap().unwrap().edits;
    assert!(edits.len() < 60);
    assert!(edits.iter().rev().zip((0..100).rev()).all(|(e, n)| *e == [n; 900]));
    assert_eq!(first.space().unwrap().live, (1 << 20) + 5);
}

/// The space that the files of a store take, summed file by file.
fn summed(vfs: &MemoryVfs) -> u64 {
    let sizes = vfs.sizes().unwrap().into_iter();
    sizes
        .filter(|file| Directory::is_name(&file.name) && file.name != CURRENT)
        .map(|f| f.taken)
        .sum()
}

#[test]
fn space_is_the_sum_of_the_files_at_every_step() {
    let vfs = MemoryVfs::new();
    let first = store(&vfs);
    let check = |store: &Directory, tables: u64, what: &str| {
        let manifest = lock(&store.commit_state).manifest.as_ref().unwrap().region().1;
        let space = store.space().unwrap();
        assert_eq!((space.taken, space.live), (summed(&vfs), manifest + tables), "{what}");
    };
    check(&first, 5, "a table and a log");
    first.create(FileId::table(3), 0).unwrap().write_at(b"other table", 0).unwrap();
    check(&first, 5, "a table that no commit names");
    commit(&first, b"two", &[FileId::table(3)], &[FileId::table(1)]).unwrap();
    check(&first, 11, "one that was dropped and is there");
    first.remove(FileId::table(1)).unwrap();
    check(&first, 11, "and is removed");
    let second = open(&vfs);
    second.recover().unwrap();
    commit(&second, b"three", &[], &[FileId::table(3)]).unwrap();
    check(&second, 0, "a drop before anything was measured");
    let third = Directory::read_only(Arc::new(vfs.clone())).unwrap();
    third.recover().unwrap();
    check(&third, 0, "a leftover that may not be removed");
}

#[test]
fn space_is_known_without_opening_each_table() {
    let vfs = MemoryVfs::new();
    store(&vfs);
    let store = open(&vfs);
    store.recover().unwrap();
    assert!(store.check_files().unwrap().is_empty());
    let before = store.space().unwrap();
    vfs.remove(&FileId::table(1).to_string()).unwrap();
    assert_eq!(store.space().unwrap(), before);
}

#[test]
fn a_damaged_copy_is_reported_and_the_next_commit_repairs_it() {
    for (name, offset) in [("MANIFEST-000001", 40), (CURRENT, 9), (CURRENT, COPY as u64 + 9)] {
        let vfs = MemoryVfs::new();
        let first = store(&vfs);
        vfs.open(name).unwrap().write_at(&[0xff], offset).unwrap();
        assert_eq!(first.check().unwrap().len(), 1, "{name}");
        let second = open(&vfs);
        let found = second.recover().unwrap().unwrap();
        assert_eq!((found.edits.len(), found.repaired.len()), (1, 1), "{name}");
        if name == CURRENT {
            let copy = offset / COPY as u64;
            assert_eq!(found.repaired[0].offset, copy * COPY as u64);
            assert!(found.repaired[0].expected.starts_with(&format!("copy {} of", copy + 1)));
        }
        commit(&second, b"two", &[], &[]).unwrap();
        assert!(second.check().unwrap().is_empty());
        assert_eq!(open(&vfs).recover().unwrap().unwrap().edits, [b"two"]);
    }
}

#[test]
fn any_one_lost_sector_of_current_and_manifest_is_repaired() {
    let vfs = MemoryVfs::new();
    store(&vfs);
    for name in ["MANIFEST-000001", CURRENT] {
        let file = vfs.open(name).unwrap();
        let mut sound = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut sound, 0).unwrap();
        for size in crate::storage::vfs::fault::SECTORS {
            for sector in (0..sound.len() as u64).step_by(size as usize) {
                file.write_at(&vec![0xee; size as usize], sector).unwrap();
                let found = open(&vfs).recover().unwrap().unwrap();
                assert_eq!(found.edits, [b"one"], "{name}, {size} at {sector}");
                file.write_at(&sound, 0).unwrap();
            }
        }
    }
}

#[test]
fn a_log_that_cannot_be_allocated_is_not_created() {
    use crate::storage::vfs::FaultVfs;
    use crate::storage::vfs::fault::Fault;
    let memory = MemoryVfs::new();
    store(&memory);
    let vfs = FaultVfs::new(Arc::new(memory)).unwrap();
    let store = Directory::open(Arc::new(vfs.clone())).unwrap();
    store.recover().unwrap();
    vfs.set_capacity(store.space().unwrap().taken + 200_000, Fault::NoSpace);
    assert!(matches!(
        store.create(FileId::log(5), 300_000).map_err(Error::into_kind),
        Err(ErrorKind::NoSpace(_))
    ));
    assert_eq!(store.files().unwrap(), [FileId::log(2), FileId::table(1)]);
    let log = store.create(FileId::log(6), 100_000).unwrap();
    vfs.set_capacity(0, Fault::NoSpace);
    write_all_at(&*log, &[1; 100_000], 0).expect("its room was allocated");
}

#[test]
fn a_missing_or_short_file_is_damage_that_is_named() {
    let vfs = MemoryVfs::new();
    let store = store(&vfs);
    let table = FileId::table(1);
    vfs.open(&table.to_string()).unwrap().set_len(4).unwrap();
    assert_eq!(store.check().unwrap()[0].file, table.to_string());
    let again = open(&vfs);
    again.recover().unwrap();
    assert_eq!(
        again.check_files().unwrap()[0].file,
        table.to_string(),
        "the manifest has its length"
    );
    vfs.remove(&table.to_string()).unwrap();
    assert_eq!(store.check().unwrap()[0].found, "no such file");
    assert!(matches!(store.open(table).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
    vfs.remove("MANIFEST-000001").unwrap();
    assert!(matches!(open(&vfs).recover().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
    vfs.open(CURRENT).unwrap().write_at(&[0; 2 * COPY], 0).unwrap();
    assert!(matches!(open(&vfs).recover().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
}

#[test]
fn a_store_lives_in_native_files() {
    use crate::storage::vfs::NativeVfs;
    let place = tempfile::tempdir().unwrap();
    let vfs = || Arc::new(NativeVfs::open(place.path(), true).unwrap());
    let _lock = vfs().lock("test").unwrap();
    let first = Directory::open(vfs()).unwrap();
    assert!(first.recover().unwrap().is_none());
    first.create(FileId::table(1), 0).unwrap().write_at(b"x", 0).unwrap();
    commit(&first, b"one", &[FileId::table(1)], &[]).unwrap();
    let second = Directory::open(vfs()).unwrap();
    assert_eq!(second.recover().unwrap().unwrap().edits, [b"one"]);
    assert_eq!(second.open(FileId::table(1)).unwrap().len().unwrap(), 1);
    assert!(second.check().unwrap().is_empty());
}
