//! What both storages tell of themselves, and what they refuse where they may only read.

use super::*;

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
        // The first begins a manifest, the others are appended.
        assert!(bytes[0] > 0 && bytes[1] > 0 && bytes[1] == bytes[2], "{kind:?}: {bytes:?}");
        let (id, name) = (storage.id(), storage.name());
        storage.close();
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
        assert_eq!(vfs.operations(), before, "{kind:?}");
    }
}

#[test]
fn a_file_of_a_failed_commit_goes_when_a_later_one_does_not_name_it() {
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
