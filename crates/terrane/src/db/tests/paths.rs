//! Resolution of the path that a store is opened at.

use crate::storage::{FileId, Storage, Volume};
use crate::storage::{hold, hold_file};
use crate::{Db, Durability, Error, ErrorKind, Options, Result};
use std::fs;
use std::path::Path;

/// The reason why there is no store.
#[track_caller]
fn why<T>(opened: Result<T>) -> String {
    match opened.map_err(Error::into_kind) {
        Err(ErrorKind::NoStore(refused)) => refused.to_string(),
        Err(e) => panic!("{e}"),
        Ok(_) => panic!("it is opened"),
    }
}

fn options(create: bool, read_only: bool) -> Options {
    Options { create, read_only, ..Options::small() }
}

/// The ways of opening that create no store: what is only read is not created.
const NO_CREATION: [(bool, bool); 3] = [(false, false), (false, true), (true, true)];

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = (fs::read_dir(dir).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_directory_without_a_store_stays_untouched_without_create() {
    let place = tempfile::tempdir().unwrap();
    let dir = |name: &str| place.path().join(name);
    fs::create_dir(dir("empty")).unwrap();
    for name in ["foreign", "unfinished"] {
        fs::create_dir(dir(name)).unwrap();
    }
    fs::write(dir("foreign/letter.txt"), "").unwrap();
    fs::write(dir("unfinished/CREATING"), "").unwrap();
    for (create, read_only) in NO_CREATION {
        let opened = |name: &str| why(hold(&dir(name), &options(create, read_only)));
        assert!(opened("missing").contains("no such directory"));
        assert!(opened("empty").contains("it is empty"));
        assert!(opened("foreign").contains("letter.txt"));
        assert!(opened("unfinished").contains("interrupted"));
    }
    assert!(why(Db::inspect(dir("missing"))).contains("no such directory"));
    assert!(why(Db::inspect(dir("empty"))).contains("it is empty"));
    assert!(why(hold(&dir("foreign"), &options(true, false))).contains("letter.txt"));
    let left = ["empty", "foreign", "unfinished"].map(|name| names(&dir(name)));
    assert_eq!(left, [vec![], vec!["letter.txt".to_owned()], vec!["CREATING".to_owned()]]);
    assert!(!dir("missing").exists());
    for name in ["missing", "empty", "unfinished"] {
        let db = Db::open(dir(name), options(true, false)).unwrap();
        db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
        db.close().unwrap();
        for (create, read_only) in NO_CREATION {
            let db = Db::open(dir(name), options(create, read_only)).unwrap();
            assert!(db.default_keyspace().get("key").unwrap().is_some(), "{name}");
        }
    }
}

#[test]
fn a_store_of_another_program_is_named_and_left_alone() {
    let leveldb = [("CURRENT", "MANIFEST-000002\n"), ("MANIFEST-000002", ""), ("000003.log", "")];
    let rocksdb = [("CURRENT", ""), ("MANIFEST-000005", ""), ("OPTIONS-000007", "")];
    let lost = [("MANIFEST-000002", ""), ("000005.ldb", "")];
    let text = [("CURRENT", "on"), ("notes", "")];
    for (files, named) in
        [(&leveldb[..], "LevelDB"), (&rocksdb, "RocksDB"), (&lost, "LevelDB"), (&text, "CURRENT")]
    {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(place.path().join(name), text).unwrap();
        }
        let before = names(place.path());
        for (create, read_only) in [(true, false), (false, false), (false, true)] {
            let refused = why(hold(place.path(), &options(create, read_only)));
            assert!(refused.contains(named), "{refused}");
        }
        let vfs = crate::storage::vfs::NativeVfs::read_only(place.path()).unwrap();
        assert!(why(crate::storage::salvage::directory(&vfs)).contains(named));
        assert_eq!(names(place.path()), before);
    }
}

#[test]
fn a_damaged_current_is_no_store_of_another_program() {
    let place = tempfile::tempdir().unwrap();
    Db::open(place.path(), options(true, false)).unwrap().close().unwrap();
    fs::write(place.path().join("CURRENT"), "damaged").unwrap();
    let opened = hold(place.path(), &options(true, false)).map(|(storage, _)| storage.recover());
    assert!(matches!(opened.unwrap().map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
}

#[test]
fn lost_and_found_is_no_reason_to_refuse_a_new_store() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("lost+found")).unwrap();
    assert!(why(hold(place.path(), &options(false, false))).contains("it is empty"));
    for _ in 0..2 {
        Db::open(place.path(), options(true, false)).unwrap().close().unwrap();
    }
    assert!(place.path().join("lost+found").is_dir());
}

#[test]
fn a_file_without_a_store_stays_untouched_without_create() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| place.path().join(name);
    let begun = Volume::open_file(&file("unfinished"), true).unwrap();
    begun.recover().unwrap();
    begun.create(FileId::table(1), 0).unwrap();
    drop(begun);
    let before = fs::read(file("unfinished")).unwrap();
    for (create, read_only) in NO_CREATION {
        let opened = |name: &str| why(hold_file(&file(name), create, read_only));
        assert!(opened("missing").contains("no such file"));
        assert!(opened("unfinished").contains("interrupted"));
    }
    assert!(!file("missing").exists());
    assert!(fs::read(file("unfinished")).unwrap() == before);
    for name in ["missing", "unfinished"] {
        let db = Db::open_file(file(name), options(true, false)).unwrap();
        db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
        db.close().unwrap();
        for (create, read_only) in NO_CREATION {
            let held = hold_file(&file(name), create, read_only).unwrap();
            assert_eq!(held.name(), file(name).display().to_string());
            drop(held);
            let db = Db::open_file(file(name), options(create, read_only)).unwrap();
            assert!(db.default_keyspace().get("key").unwrap().is_some(), "{name}");
        }
    }
}

#[test]
fn a_new_store_gets_the_directories_that_it_needs() {
    let place = tempfile::tempdir().unwrap();
    for (path, one_file) in [("a/b/directory", false), ("c/d/file", true)] {
        let path = place.path().join(path);
        let open = |path: &Path, options| match one_file {
            true => Db::open_file(path, options),
            false => Db::open(path, options),
        };
        assert!(open(&path, options(false, false)).is_err());
        assert!(!path.parent().unwrap().exists());
        open(&path, options(true, false)).unwrap().close().unwrap();
        open(&path, options(false, false)).unwrap().close().unwrap();
    }
}

#[test]
fn a_store_in_use_says_which_program_holds_it() {
    let place = tempfile::tempdir().unwrap();
    let db = Db::open(place.path(), Options::small()).unwrap();
    let Err(ErrorKind::Busy(busy)) =
        Db::open(place.path(), Options::small()).map(drop).map_err(Error::into_kind)
    else {
        panic!("it is held")
    };
    let program = std::env::args_os().next().unwrap();
    let program = Path::new(&program).file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(busy.holder, format!("process {} ({program})", std::process::id()));
    db.close().unwrap();
    Db::open(place.path(), Options::small()).unwrap();
}
