//! A manifest, or a `CURRENT`, of another store.

use super::*;

const MANIFEST: &str = "MANIFEST-000001";
const CURRENT: &str = "CURRENT";

/// A directory with a table for each edit, under `salt` or the store's own, and the store's salt.
fn store(edits: std::ops::Range<u8>, salt: Option<u64>) -> (MemoryVfs, u64) {
    directory_in(MemoryVfs::new(), edits, salt)
}

/// The directory of another store.
fn other_store(edits: std::ops::Range<u8>) -> MemoryVfs {
    let vfs = MemoryVfs::new();
    // The ids that it draws are numbered.
    vfs.draw_id().unwrap();
    directory_in(vfs, edits, None).0
}

fn directory_in(vfs: MemoryVfs, edits: std::ops::Range<u8>, salt: Option<u64>) -> (MemoryVfs, u64) {
    let storage = Directory::open(Arc::new(vfs.clone())).unwrap();
    assert!(storage.recover().unwrap().is_none());
    for n in edits {
        let id = FileId::table(n.into());
        let own = storage.id().salt();
        let bytes = table(id.number, salt.unwrap_or(own), 0, 2000);
        write_all_at(&*storage.create(id, 0).unwrap(), &bytes, 0).unwrap();
        let snapshot = || vec![n];
        storage
            .commit(&Commit { edit: &[n], added: &[id], dropped: &[], snapshot: &snapshot })
            .unwrap();
    }
    (vfs, storage.id().salt())
}

/// Puts the file of this name from one directory into another in place of its own.
fn replace(name: &str, from: &MemoryVfs, to: &MemoryVfs) {
    let bytes = bytes(&*from.open(name).unwrap());
    write_all_at(&*to.create(name).unwrap(), &bytes, 0).unwrap();
}

fn is_ignored(vfs: &MemoryVfs, salt: u64) -> bool {
    let remains = directory(vfs).unwrap();
    let noted = remains.notes.iter().any(|note| note.contains("is ignored"));
    let nothing = remains.edits.is_empty() && remains.named.is_empty() && !remains.whole;
    assert_eq!(noted, nothing, "{:?}", remains.notes);
    assert!(remains.salts.contains(&salt), "its logs can be read");
    assert_eq!(remains.files.len(), 3);
    noted
}

#[test]
fn the_manifest_of_another_store_is_ignored_despite_current() {
    let foreign = other_store(5..9);
    for current in ["sound", "lost"] {
        for salt in [None, Some(77)] {
            let (vfs, own) = store(0..3, salt);
            replace(MANIFEST, &foreign, &vfs);
            if current == "lost" {
                vfs.remove(CURRENT).unwrap();
            }
            let readable = if current == "sound" { own } else { salt.unwrap_or(own) };
            assert!(is_ignored(&vfs, readable), "CURRENT {current}, tables under {salt:?}");
        }
    }
}

#[test]
fn current_distinguishes_stores_with_equal_tables() {
    let foreign = other_store(0..3);
    let (vfs, own) = store(0..3, None);
    replace(MANIFEST, &foreign, &vfs);
    assert!(is_ignored(&vfs, own));
}

#[test]
fn a_manifest_that_the_tables_confirm_is_kept_despite_current() {
    let foreign = other_store(0..1);
    for salt in [None, Some(77)] {
        let (vfs, own) = store(0..3, salt);
        assert!(!is_ignored(&vfs, own));
        replace(CURRENT, &foreign, &vfs);
        assert!(!is_ignored(&vfs, own), "CURRENT of another store, tables under {salt:?}");
        vfs.remove(CURRENT).unwrap();
        assert!(!is_ignored(&vfs, own), "no CURRENT, tables under {salt:?}");
    }
}

#[test]
fn a_manifest_that_names_no_table_is_kept_without_current() {
    let vfs = MemoryVfs::new();
    let storage = Directory::open(Arc::new(vfs.clone())).unwrap();
    assert!(storage.recover().unwrap().is_none());
    let commit = Commit { edit: b"edit", added: &[], dropped: &[], snapshot: &|| b"edit".to_vec() };
    storage.commit(&commit).unwrap();
    vfs.remove(CURRENT).unwrap();
    assert_eq!(directory(&vfs).unwrap().edits, [b"edit"]);
}
