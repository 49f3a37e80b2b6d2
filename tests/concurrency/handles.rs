//! Native files of which only one may be open at once: they close and reopen under their users.

use crate::explore::explore;
use shuttle::thread;
use std::sync::Arc;
use terrane::storage::vfs::{NativeVfs, Vfs};
use terrane::storage::{read_exact_at, write_all_at};

fn vfs(dir: &tempfile::TempDir) -> Arc<NativeVfs> {
    Arc::new(NativeVfs::open(dir.path(), true).expect("a directory").open_at_most(1))
}

#[test]
fn files_that_reopen_under_their_users_keep_their_bytes() {
    explore(100, || {
        let dir = tempfile::tempdir().expect("a directory");
        let vfs = vfs(&dir);
        let users = ["a", "b", "c"].map(|name| {
            let vfs = vfs.clone();
            thread::spawn(move || {
                let file = vfs.create(name).expect("a new file");
                for n in 0..3u64 {
                    let bytes = name.repeat(8);
                    write_all_at(&*file, bytes.as_bytes(), n * 8).expect("room");
                    file.sync().expect("nothing fails");
                    let mut found = vec![0; 8 * (n as usize + 1)];
                    read_exact_at(&*file, &mut found, 0).expect("all that was written");
                    assert_eq!(found, name.repeat(found.len()).as_bytes());
                }
            })
        });
        users.into_iter().for_each(|user| user.join().expect("no panic"));
    });
}

#[test]
fn a_file_keeps_its_bytes_when_another_takes_its_name() {
    explore(200, || {
        let dir = tempfile::tempdir().expect("a directory");
        let vfs = vfs(&dir);
        let write = |name: &str| {
            let file = vfs.create(name).expect("a new file");
            write_all_at(&*file, name.as_bytes(), 0).expect("room");
            file.sync().expect("nothing fails");
            file
        };
        let old = write("old");
        drop(write("new"));
        let reader = thread::spawn(move || {
            let mut found = [0; 3];
            for _ in 0..3 {
                read_exact_at(&*old, &mut found, 0).expect("3 bytes");
                assert_eq!(&found, b"old", "the bytes of another file");
            }
        });
        // Opening one closes another.
        let user = thread::spawn({
            let vfs = vfs.clone();
            move || {
                for _ in 0..3 {
                    let file = vfs.create("other").expect("a new file");
                    file.len().expect("a length");
                }
            }
        });
        vfs.rename("new", "old").expect("nothing fails");
        reader.join().expect("no panic");
        user.join().expect("no panic");
    });
}
