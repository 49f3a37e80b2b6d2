//! The files that a store has open, of its many.

use std::fs;
use std::path::Path;
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Durability::Buffered, Options, WriteBatch};
use terrane_policy::{Leveled, PolicyOptions};

/// This process's file descriptors in `dir`.
fn open_in(dir: &Path) -> usize {
    let all = fs::read_dir("/proc/self/fd").unwrap();
    let links = all.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    links.filter(|path| path.starts_with(dir)).count()
}

/// Waits until at most `most` files are open in `dir`. Files are closed once no thread is left that was pinned when
/// they were replaced: threads of other tests count, and somebody has to read or replace something to find that out.
fn wait_for_at_most(most: usize, dir: &Path) {
    while open_in(dir) > most {
        let place = tempfile::tempdir().unwrap();
        let db = Db::open(place.path(), Options::small()).unwrap();
        db.default_keyspace().put("a", "1", Buffered).unwrap();
        db.flush().unwrap();
        assert!(db.default_keyspace().get("a").unwrap().is_some());
        db.close().unwrap();
    }
}

/// Writes, reads, compacts and closes a store with many more tables than open files.
#[test]
fn a_store_has_as_many_files_open_as_its_options_say() {
    const MOST: usize = 8;
    let place = tempfile::tempdir().unwrap();
    let sizes =
        Leveled { target_file_bytes: 1 << 10, level_base_bytes: 4 << 10, ..Leveled::default() };
    let table = TableOptions { block_bytes: 512, ..TableOptions::default() };
    let options = Options::small()
        .max_open_files(MOST)
        .memtable_bytes(64 << 10)
        // Each read opens its table.
        .cache_bytes(0)
        .policy(PolicyOptions::Leveled(sizes))
        .table(TableOptions { compression: Compression::None, ..table });
    let value = |n: u32| n.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(25);
    // In addition to the queue: one just opened by each thread, the log, the lock.
    let few = || wait_for_at_most(MOST + 16, place.path());
    let db = Db::open(place.path(), options.clone()).unwrap();
    // Not in order, or tables would only be moved.
    for n in (0..4000u32).map(|i| i * 1237 % 4000) {
        let mut batch = WriteBatch::new();
        batch.put(db.default_keyspace().id(), &n.to_be_bytes(), &value(n)).unwrap();
        db.write(batch, Buffered).unwrap();
    }
    db.wait_until_idle().unwrap();
    few();
    let tables = fs::read_dir(place.path()).unwrap().count();
    assert!(tables > 200, "{tables} files");
    db.close().unwrap();

    let db = Db::open(place.path(), options).unwrap();
    for n in 0..4000u32 {
        assert_eq!(db.default_keyspace().get(&n.to_be_bytes()).unwrap(), Some(value(n)));
    }
    few();
    let mut scan = db.default_keyspace().scan(..).unwrap();
    for n in 0..4000u32 {
        assert_eq!(scan.next().unwrap().unwrap(), (n.to_be_bytes().to_vec(), value(n).to_vec()));
    }
    drop(scan);
    few();
    db.close().unwrap();
    wait_for_at_most(0, place.path());
}
