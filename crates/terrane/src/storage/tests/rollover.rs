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
