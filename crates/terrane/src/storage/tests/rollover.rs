//! Rollovers that find no space.

use super::*;

fn commit(storage: &dyn Storage, edit: &[u8]) -> crate::error::Result<()> {
    storage.commit(&Commit { edit, added: &[], dropped: &[], snapshot: &|| edit.to_vec() })
}

#[test]
fn a_smaller_edit_fits_after_a_rollover_found_no_space() {
    for kind in KINDS {
        let vfs = FaultVfs::new(Arc::new(place(kind))).unwrap();
        let storage = open(kind, &vfs);
        storage.recover().unwrap();
        commit(&*storage, b"first").unwrap();
        vfs.set_capacity(0, Fault::NoSpace);
        let large = vec![0xed; 1 << 20];
        for _ in 0..2 {
            let refused = commit(&*storage, &large).unwrap_err();
            assert!(refused.is_no_space(), "{kind:?}: {refused}");
            assert!(!storage.in_doubt(), "{kind:?}");
        }
        commit(&*storage, b"second").unwrap();
        drop(storage);
        vfs.heal();
        let storage = open(kind, &vfs);
        let edits = storage.recover().unwrap().unwrap().edits;
        assert_eq!(edits, [b"first".to_vec(), b"second".to_vec()], "{kind:?}");
    }
}

#[test]
fn a_manifest_too_large_takes_edits_where_none_smaller_fits() {
    for kind in KINDS {
        let vfs = FaultVfs::new(Arc::new(place(kind))).unwrap();
        let storage = open(kind, &vfs);
        storage.recover().unwrap();
        let write = |id: FileId, bytes: usize| {
            storage.create(id, 0).and_then(|file| write_all_at(&*file, &vec![1; bytes], 0))
        };
        let ids: Vec<_> = (1..41).map(FileId::table).collect();
        ids.iter().for_each(|id| write(*id, 10).unwrap());
        let edit = |edit: &[u8], added: &[FileId], dropped: &[FileId]| {
            storage.commit(&Commit { edit, added, dropped, snapshot: &|| edit.to_vec() })
        };
        edit(b"tables", &ids, &[]).unwrap();
        edit(&vec![0xed; 1 << 20], &[], &[]).unwrap();
        edit(b"drops", &[], &ids[..35]).unwrap();
        // Nothing grows from now on, and what is free is taken.
        vfs.set_capacity(0, Fault::NoSpace);
        let mut full = (100..).map(|n| write(FileId::table(n), 64 << 10));
        assert!(full.find_map(Result::err).unwrap().is_no_space());
        let before = storage.manifest_bytes();
        edit(b"last", &[], &[]).unwrap();
        assert!(storage.manifest_bytes() - before < 1 << 16, "{kind:?}: a manifest was started");
    }
}
