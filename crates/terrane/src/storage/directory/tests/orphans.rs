//! Files that no commit names: of a commit that was lost, of an unfinished one, or of another store.

use super::*;
use crate::storage::manifest::FRAME_ALIGN;

/// Writes a file that ends like a table started after `commits` commits of the store with this salt.
fn write_table(vfs: &MemoryVfs, number: u64, salt: u64, commits: u64) {
    let mut bytes = vec![7; 100];
    let (data_len, directory_offset, directory_len) = (60, 60, 40);
    Footer { table: number, salt, commits, data_len, directory_offset, directory_len }
        .encode(&mut bytes);
    write_all_at(&*vfs.create(&FileId::table(number).to_string()).unwrap(), &bytes, 0).unwrap();
}

/// A store of three commits that was closed, and its salt.
fn closed(vfs: &MemoryVfs) -> u64 {
    let store = store(vfs);
    commit(&store, b"two", &[], &[]).unwrap();
    commit(&store, b"three", &[], &[]).unwrap();
    store.close(0);
    store.id().salt()
}

#[test]
fn a_table_later_than_the_last_commit_shows_lost_commits() {
    for (commits, of_this_store, lost) in
        [(0, true, false), (3, true, false), (4, true, true), (9, true, true), (9, false, false)]
    {
        let vfs = MemoryVfs::new();
        let salt = closed(&vfs);
        write_table(&vfs, 9, if of_this_store { salt } else { !salt }, commits);
        match open(&vfs).recover() {
            Ok(found) => {
                assert_eq!((found.unwrap().edits.len(), lost), (3, false), "{commits}");
            }
            Err(e) => {
                let damage = e.into_corruption().unwrap();
                assert!(lost, "{damage}");
                assert_eq!(damage.file, "MANIFEST-000001");
                assert!(damage.expected.starts_with(&format!("the {commits} commits")));
            }
        }
    }
}

#[test]
fn what_is_no_whole_table_shows_nothing() {
    let vfs = MemoryVfs::new();
    let salt = closed(&vfs);
    write_table(&vfs, 9, salt, 9);
    let file = vfs.open(&FileId::table(9).to_string()).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    for (name, bytes) in [
        (FileId::table(9), &bytes[..bytes.len() - 1]),
        (FileId::table(9), &bytes[bytes.len() - FOOTER_BYTES + 1..]),
        (FileId::table(9), &[]),
        (FileId::log(9), &bytes),
    ] {
        vfs.remove(&FileId::table(9).to_string()).unwrap();
        write_all_at(&*vfs.create(&name.to_string()).unwrap(), bytes, 0).unwrap();
        let again = open(&vfs);
        again.recover().unwrap().unwrap();
        assert_eq!(again.orphans().unwrap(), [Orphan { file: name.to_string(), kept: false }]);
        vfs.create(&FileId::table(9).to_string()).unwrap();
    }
}

#[test]
fn tables_of_a_possibly_lost_commit_are_kept_and_no_logs() {
    for witnessed in [false, true] {
        let vfs = MemoryVfs::new();
        let first = store(&vfs);
        (0..3).for_each(|n| commit(&first, &[n], &[], &[]).unwrap());
        first.close(0);
        let manifest = vfs.open("MANIFEST-000001").unwrap();
        if !witnessed {
            let witness = manifest.len().unwrap() - FRAME_ALIGN;
            write_all_at(&*manifest, &[0; 16], witness).unwrap();
        }
        let names = [FileId::log(8), FileId::table(9)].map(|id| id.to_string());
        names.iter().for_each(|name| drop(vfs.create(name).unwrap()));
        let again = open(&vfs);
        again.recover().unwrap().unwrap();
        let told = |kept: [bool; 2]| {
            let orphans = names.iter().cloned().zip(kept);
            orphans.map(|(file, kept)| Orphan { file, kept }).collect::<Vec<_>>()
        };
        assert_eq!(again.orphans().unwrap(), told([false, !witnessed]));
        again.resume().unwrap();
        let left: Vec<_> = told([false, !witnessed]).into_iter().filter(|o| o.kept).collect();
        assert_eq!(again.orphans().unwrap(), left);
        assert_eq!(vfs.list().unwrap().contains(&names[1]), !witnessed);
        assert!(!vfs.list().unwrap().contains(&names[0]));
    }
}

#[test]
fn the_generation_is_known_while_a_copy_of_its_name_is_sound() {
    let vfs = MemoryVfs::new();
    assert_eq!(Directory::current(&vfs), None);
    let store = store(&vfs);
    lock(&store.commit_state).needs_rollover = true;
    commit(&store, b"two", &[], &[]).unwrap();
    let expected = Some((store.id().salt(), 2));
    assert_eq!(Directory::current(&vfs), expected);
    let file = vfs.open(CURRENT).unwrap();
    write_all_at(&*file, &[0xff], 9).unwrap();
    assert_eq!(Directory::current(&vfs), expected, "the second copy");
    write_all_at(&*file, &[0xff], COPY as u64 + 9).unwrap();
    assert_eq!(Directory::current(&vfs), None);
}
