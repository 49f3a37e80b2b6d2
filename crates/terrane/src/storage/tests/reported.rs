//! Descriptions by both storages, and refusals of read-only ones.

use super::*;
use crate::entry::Seq;
use crate::error::ErrorKind;
use crate::storage::manifest::{FRAME_ALIGN, MIN_CAPACITY};

fn commit(storage: &dyn Storage, edit: &[u8], added: &[FileId]) -> crate::error::Result<()> {
    storage.commit(&Commit { edit, added, dropped: &[], snapshot: &|| edit.to_vec() })
}

#[test]
fn commits_and_the_bytes_of_manifests_are_counted() {
    for kind in KINDS {
        let vfs = FaultVfs::new(Arc::new(place(kind))).unwrap();
        let storage = open(kind, &vfs);
        assert!(storage.recover().unwrap().is_none());
        assert_eq!((storage.commits(), storage.manifest_bytes()), (0, 0));
        let mut bytes = Vec::new();
        for n in 1..=3 {
            let before = storage.manifest_bytes();
            commit(&*storage, b"edit", &[]).unwrap();
            bytes.push(storage.manifest_bytes() - before);
            assert_eq!(storage.commits(), n);
        }
        // The first starts a manifest, the others are appended.
        assert!(bytes[0] > 0 && bytes[1] > 0 && bytes[1] == bytes[2], "{kind:?}: {bytes:?}");
        let (id, name) = (storage.id(), storage.name());
        storage.close(0);
        drop(storage);
        let storage = open(kind, &vfs);
        storage.recover().unwrap().unwrap();
        storage.resume().unwrap();
        assert_eq!((storage.commits(), storage.manifest_bytes()), (3, 0));
        assert_eq!((storage.id(), storage.name()), (id, name));
        commit(&*storage, b"edit", &[]).unwrap();
        assert_eq!((storage.commits(), storage.manifest_bytes()), (4, bytes[1]), "{kind:?}");
    }
}

#[test]
fn a_storage_that_is_only_read_refuses_each_change_itself() {
    for kind in KINDS {
        let vfs = FaultVfs::new(Arc::new(place(kind))).unwrap();
        let storage = open(kind, &vfs);
        storage.recover().unwrap();
        let table = FileId::table(1);
        write_all_at(&*storage.create(table, 0).unwrap(), b"table", 0).unwrap();
        commit(&*storage, b"one", &[table]).unwrap();
        drop(storage);
        let storage: Box<dyn Storage> = match kind {
            Kind::Directory => Box::new(Directory::read_only(Arc::new(vfs.clone())).unwrap()),
            Kind::Volume(n) => {
                let names = (0..n).map(|n| format!("backing.{n}"));
                let backings = names.map(|name| vfs.open(&name).unwrap()).collect();
                let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
                Box::new(Volume::open(backings, options).unwrap())
            }
        };
        storage.recover().unwrap().unwrap();
        let before = vfs.operations();
        assert!(storage.read_only());
        storage.resume().unwrap();
        assert!(storage.create(FileId::table(2), 0).is_err());
        assert!(commit(&*storage, b"two", &[]).is_err());
        assert!(storage.remove(table).is_err());
        assert!(!storage.vacuum().unwrap());
        storage.close(9);
        assert_eq!(vfs.operations(), before, "{kind:?}");
    }
}

#[test]
fn a_file_of_a_failed_commit_is_removed_unless_named_later() {
    for named_again in [false, true] {
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
        let storage = open(Kind::Directory, &vfs);
        storage.recover().unwrap();
        commit(&*storage, b"one", &[]).unwrap();
        let table = FileId::table(1);
        storage.create(table, 0).unwrap();
        vfs.fail_from(vfs.operations(), Fault::Io);
        assert!(commit(&*storage, b"two", &[table]).is_err());
        vfs.heal();
        // The failed commit may be durable, and name it.
        storage.remove(table).unwrap();
        assert_eq!(storage.files().unwrap(), [table]);
        let added = [table];
        commit(&*storage, b"three", if named_again { &added } else { &[] }).unwrap();
        assert_eq!(storage.files().unwrap().contains(&table), named_again);
    }
}

/// The places of `marker` in the files: multiples of 16 KiB, where a record may start.
fn places(vfs: &MemoryVfs, marker: &[u8]) -> Vec<(String, u64)> {
    let mut places = Vec::new();
    for name in vfs.list().unwrap() {
        let file = vfs.open(&name).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, &mut bytes, 0).unwrap();
        let chunks = bytes.chunks(FRAME_ALIGN as usize).enumerate();
        let here = chunks.filter(|(_, chunk)| chunk.windows(marker.len()).any(|w| w == marker));
        places.extend(here.map(|(n, _)| (name.clone(), n as u64 * FRAME_ALIGN)));
    }
    places
}

/// A store with three commits, and how it is closed.
fn three_commits(kind: Kind, close: bool) -> MemoryVfs {
    let memory = place(kind);
    let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
    let storage = open(kind, &vfs);
    storage.recover().unwrap();
    for edit in [&b"the first"[..], b"the second", b"the third"] {
        commit(&*storage, edit, &[]).unwrap();
    }
    if close {
        storage.close(0);
    }
    vfs.crash(Survivors::Synced).unwrap();
    memory
}

#[test]
fn a_store_that_was_closed_misses_its_last_commit() {
    for kind in KINDS {
        for close in [false, true] {
            let memory = three_commits(kind, close);
            let copies = places(&memory, b"the third");
            assert_eq!(copies.len(), 2, "{kind:?}");
            for (name, at) in copies {
                let file = memory.open(&name).unwrap();
                write_all_at(&*file, &[0; FRAME_ALIGN as usize], at).unwrap();
            }
            let found = open(kind, &FaultVfs::new(Arc::new(memory)).unwrap()).recover();
            // The count of the last commit may not be durable after a crash.
            assert_eq!(
                matches!(found.map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))),
                close,
                "{kind:?} {close}"
            );
        }
    }
}

#[test]
fn a_commit_after_a_torn_end_starts_one_manifest() {
    for kind in KINDS {
        for torn in [false, true] {
            let memory = three_commits(kind, true);
            if torn {
                for (name, at) in places(&memory, b"the third") {
                    let file = memory.open(&name).unwrap();
                    write_all_at(&*file, b"torn", at + FRAME_ALIGN).unwrap();
                }
            }
            let storage = open(kind, &FaultVfs::new(Arc::new(memory)).unwrap());
            let found = storage.recover().unwrap().unwrap();
            assert_eq!((found.edits.len(), found.discarded_bytes), (3, if torn { 4 } else { 0 }));
            storage.resume().unwrap();
            commit(&*storage, b"the fourth", &[]).unwrap();
            let begun = storage.manifest_bytes() >= MIN_CAPACITY;
            assert_eq!((begun, storage.commits()), (torn, 4), "{kind:?} {torn}");
        }
    }
}

#[test]
fn a_file_and_its_name_are_durable_before_their_commit() {
    for kind in KINDS {
        let memory = place(kind);
        let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
        let storage = open(kind, &vfs);
        storage.recover().unwrap();
        commit(&*storage, b"one", &[]).unwrap();
        let table = FileId::table(1);
        let file = storage.create(table, 0).unwrap();
        write_all_at(&*file, b"table", 0).unwrap();
        file.sync().unwrap();
        commit(&*storage, b"two", &[table]).unwrap();
        vfs.crash(Survivors::Synced).unwrap();
        let storage = open(kind, &FaultVfs::new(Arc::new(memory)).unwrap());
        storage.recover().unwrap().unwrap();
        assert_eq!(storage.open(table).unwrap().len().unwrap(), 5, "{kind:?}");
    }
}

/// A storage with no more than what it must have.
struct Plain(Directory);

impl Storage for Plain {
    fn name(&self) -> String {
        self.0.name()
    }
    fn id(&self) -> StoreId {
        self.0.id()
    }
    fn commits(&self) -> u64 {
        self.0.commits()
    }
    fn recover(&self) -> crate::error::Result<Option<Recovered>> {
        self.0.recover()
    }
    fn resume(&self) -> crate::error::Result<()> {
        self.0.resume()
    }
    fn close(&self, synced: Seq) {
        self.0.close(synced);
    }
    fn create(&self, id: FileId, capacity: u64) -> crate::error::Result<Arc<dyn File>> {
        self.0.create(id, capacity)
    }
    fn open(&self, id: FileId) -> crate::error::Result<Arc<dyn File>> {
        self.0.open(id)
    }
    fn commit(&self, commit: &Commit<'_>) -> crate::error::Result<()> {
        self.0.commit(commit)
    }
    fn remove(&self, id: FileId) -> crate::error::Result<()> {
        self.0.remove(id)
    }
    fn files(&self) -> crate::error::Result<Vec<FileId>> {
        self.0.files()
    }
    fn space(&self) -> crate::error::Result<Space> {
        self.0.space()
    }
    fn check(&self) -> crate::error::Result<Vec<Corruption>> {
        self.0.check()
    }
}

#[test]
fn a_storage_of_the_least_methods_takes_a_store_that_works() {
    use crate::executor::SliceExecutor;
    use crate::{Db, Durability, Options};
    let vfs = MemoryVfs::new();
    let plain = || Arc::new(Plain(Directory::open(Arc::new(vfs.clone())).unwrap()));
    let executor = || Arc::new(SliceExecutor::default());
    let db = Db::open_storage(plain(), Options::small(), executor()).unwrap();
    db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!(db.check().unwrap().damage, []);
    db.close().unwrap();
    let storage = plain();
    let db = Db::open_storage(storage.clone(), Options::small(), executor()).unwrap();
    assert_eq!(db.default_keyspace().get("key").unwrap(), Some(b"value".to_vec()));
    let table = FileId::table(1);
    assert!(!storage.read_only() && !storage.vacuum().unwrap());
    assert_eq!((storage.path_of(table), storage.manifest_bytes()), (None, 0));
    assert!(!storage.link(table, &*plain()).unwrap());
    assert_eq!((storage.orphans().unwrap(), storage.check_files().unwrap()), (vec![], vec![]));
}
