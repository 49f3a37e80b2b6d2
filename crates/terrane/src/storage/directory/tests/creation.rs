//! Creations that never ended, and stores beside which a `CREATING` lies that is not theirs.

use super::*;
use crate::storage::vfs::FaultVfs;
use crate::storage::vfs::fault::Survivors;

/// Writes a `CREATING` for the store `id`.
fn mark(vfs: &MemoryVfs, id: StoreId) {
    write_all_at(&*vfs.create(CREATING).unwrap(), &encode_current(id, 0), 0).unwrap();
}

fn is_damage(vfs: &MemoryVfs) -> bool {
    matches!(open(vfs).recover().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_)))
}

#[test]
fn a_creation_that_never_ended_is_removed() {
    // With a table and a log, and also with a manifest, whole or torn.
    for manifest in [None, Some(1 << 20), Some(100), Some(0)] {
        let vfs = MemoryVfs::new();
        vfs.create("letter.txt").unwrap();
        let first = open(&vfs);
        match manifest {
            None => drop(first.create(FileId::table(1), 0).unwrap()),
            Some(len) => {
                first.create(FileId::log(1), 100).unwrap();
                commit(&first, b"one", &[FileId::log(1)], &[]).unwrap();
                vfs.open("MANIFEST-000001").unwrap().set_len(len).unwrap();
                vfs.remove(CURRENT).unwrap();
                mark(&vfs, first.id());
            }
        }
        assert!(Directory::is_unfinished(&vfs).unwrap());
        assert!(open(&vfs).recover().unwrap().is_none(), "{manifest:?}");
        assert_eq!(vfs.list().unwrap(), [CREATING, "letter.txt"], "{manifest:?}");
        let again = store(&vfs);
        assert_eq!(again.files().unwrap(), [FileId::log(2), FileId::table(1)]);
    }
}

#[test]
fn a_reader_finds_no_store_in_an_unfinished_creation() {
    let vfs = MemoryVfs::new();
    open(&vfs).create(FileId::table(1), 0).unwrap();
    let before = vfs.list().unwrap();
    let reader = Directory::read_only(Arc::new(vfs.clone())).unwrap();
    assert!(reader.recover().unwrap().is_none());
    assert_eq!(vfs.list().unwrap(), before);
}

#[test]
fn a_store_without_current_is_damaged_whatever_creating_says() {
    type Mark = fn(&MemoryVfs, StoreId);
    let marks: [(&str, Mark); 3] = [
        ("an empty one", |vfs, _| drop(vfs.create(CREATING).unwrap())),
        ("that of another store", |vfs, _| mark(vfs, StoreId::new([3; StoreId::BYTES]))),
        ("its own, which outlived the creation", mark),
    ];
    for (what, put) in marks {
        for with_manifest in [true, false] {
            if !with_manifest && what != "an empty one" {
                continue;
            }
            let vfs = MemoryVfs::new();
            let first = store(&vfs);
            commit(&first, b"two", &[], &[]).unwrap();
            vfs.remove(CURRENT).unwrap();
            if !with_manifest {
                vfs.remove("MANIFEST-000001").unwrap();
            }
            put(&vfs, first.id());
            let before = vfs.list().unwrap();
            assert!(!Directory::is_unfinished(&vfs).unwrap(), "{what}");
            assert!(is_damage(&vfs), "{what}");
            assert_eq!(vfs.list().unwrap(), before, "{what}: nothing was removed");
        }
    }
}

#[test]
fn a_creating_that_outlived_its_creation_is_removed_at_open() {
    let memory = MemoryVfs::new();
    let first = store(&memory);
    mark(&memory, first.id());
    let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
    let again = Directory::open(Arc::new(vfs.clone())).unwrap();
    again.recover().unwrap().unwrap();
    again.resume().unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    assert!(!memory.list().unwrap().contains(&CREATING.to_owned()));
}

#[test]
fn a_finished_creation_leaves_no_mark_for_a_crash_to_restore() {
    let memory = MemoryVfs::new();
    let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
    let store = Directory::open(Arc::new(vfs.clone())).unwrap();
    assert!(store.recover().unwrap().is_none());
    commit(&store, b"one", &[], &[]).unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    let names = memory.list().unwrap();
    assert!(names.contains(&CURRENT.to_owned()) && !names.contains(&CREATING.to_owned()));
}

#[test]
fn a_creation_over_the_remains_of_another_survives_any_cut() {
    // Whether a creation succeeds that is cut at this operation.
    let attempt = |memory: &MemoryVfs, cut: Option<u64>| -> bool {
        let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
        cut.into_iter().for_each(|at| vfs.cut_at(at));
        let create = || -> Result<()> {
            let store = Directory::open(Arc::new(vfs.clone()))?;
            if store.recover()?.is_some() {
                return Ok(());
            }
            let table = store.create(FileId::table(1), 0)?;
            write_all_at(&*table, b"table", 0)?;
            table.sync()?;
            commit(&store, b"one", &[FileId::table(1)], &[])
        };
        let done = create().is_ok();
        vfs.crash(Survivors::Random(cut.unwrap_or(0))).unwrap();
        done
    };
    for first in 0.. {
        let mut first_is_done = false;
        for second in 0.. {
            let memory = MemoryVfs::new();
            first_is_done = attempt(&memory, Some(first));
            let second_is_done = attempt(&memory, Some(second));
            assert!(attempt(&memory, None), "cut at {first}, then at {second}");
            if second_is_done {
                break;
            }
        }
        if first_is_done {
            break;
        }
    }
}
