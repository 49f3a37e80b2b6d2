//! A store that is opened read-only stays as it is: not a byte, a length or a time of any file changes.
//!
//! The stores were closed, or copied while they were open, as a killed process leaves them: then a
//! manifest's witness is old, logs end without a claim, and files are there that no edit names.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::{FaultVfs, MemoryVfs};
use terrane::storage::{Directory, Storage};
use terrane::{Db, Durability, ErrorKind, Options, Result};

/// The bytes of each file, and the time when it was changed.
type Files = BTreeMap<String, (Vec<u8>, SystemTime)>;

fn files(dir: &Path) -> Files {
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        (
            entry.file_name().into_string().unwrap(),
            (bytes, entry.metadata().unwrap().modified().unwrap()),
        )
    };
    std::fs::read_dir(dir).unwrap().map(file).collect()
}

fn small(allow_mmap: bool) -> Options {
    Options::default()
        .memtable_bytes(16 << 10)
        .wal_file_bytes(64 << 10)
        .allow_mmap_writes(allow_mmap)
        .allow_mmap_reads(allow_mmap)
}

/// Opens a store at a path: in a directory, mapped or not, or in a file.
type Open = fn(&Path, Options) -> Result<Db>;

const PLACES: [(&str, Open, bool); 3] = [
    ("directory", |dir, options| Db::open(dir, options), false),
    ("mapped", |dir, options| Db::open(dir, options), true),
    ("file", |dir, options| Db::open_file(dir.join("store"), options), false),
];

#[test]
fn no_file_of_a_store_opened_read_only_changes() {
    for (name, open, mapped) in PLACES {
        let [left, copied] = [(), ()].map(|()| tempfile::tempdir().unwrap());
        let db = open(left.path(), small(mapped)).unwrap();
        let rows = db.create_keyspace("rows").unwrap();
        for n in 0..400u32 {
            rows.put(n.to_be_bytes(), [7; 100], Durability::Buffered).unwrap();
            if n % 150 == 149 {
                db.flush().unwrap();
            }
        }
        db.wait_until_idle().unwrap();
        for file in std::fs::read_dir(left.path()).unwrap().map(|file| file.unwrap()) {
            std::fs::copy(file.path(), copied.path().join(file.file_name())).unwrap();
        }
        db.close().unwrap();
        for (how, dir) in [("closed", left.path()), ("killed", copied.path())] {
            let before = files(dir);
            for round in 0..2 {
                let options = small(mapped).read_only(true);
                let db = open(dir, options).unwrap();
                let rows = db.create_keyspace("rows").unwrap();
                assert_eq!(rows.scan(..).unwrap().count(), 400, "{name}, {how}");
                assert_eq!(db.check().unwrap().damage, []);
                db.sync().unwrap();
                db.wait_until_idle().unwrap();
                if round == 0 { db.close().unwrap() } else { drop(db) }
            }
            let after = files(dir);
            for (file, (bytes, changed)) in &before {
                let (now, touched) = &after[file];
                assert!(bytes == now, "{name}, {how}: {file} was written");
                assert_eq!(changed, touched, "{name}, {how}: {file} was touched");
            }
            assert!(before.keys().eq(after.keys()), "{name}, {how}: a file was made or removed");
        }
    }
}

#[test]
fn a_storage_that_may_be_changed_is_refused_read_only() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let storage =
        || -> Arc<dyn Storage> { Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap()) };
    let executor = || Arc::new(SliceExecutor::default());
    Db::open_storage(storage(), Options::default(), executor()).unwrap().close().unwrap();
    let before = vfs.operations();
    let options = Options::default().read_only(true);
    let refused = Db::open_storage(storage(), options, executor()).map(drop).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::InvalidArgument(_)), "{refused}");
    assert_eq!(vfs.operations(), before);
}
