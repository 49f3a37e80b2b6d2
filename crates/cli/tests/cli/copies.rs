//! Whole stores into other places, and stores in a single file.

use crate::place::{Place, names};
use std::process::Stdio;

/// A store of two keyspaces, some rows in tables and one in the log alone.
fn store() -> Place {
    let place = Place::new();
    let rows: String = (0..20_000).map(|n| format!("{n:06}\t{n}\n")).collect();
    for keyspace in ["default", "other"] {
        let load = ["load", "db", "--format", "tsv", "--keyspace", keyspace];
        place.run_with_input(&load, rows.as_bytes()).ok();
    }
    place.flush("db");
    place.run(&["put", "db", "last", "in the log"]).ok();
    place
}

fn rows(place: &Place, store: &str) -> String {
    place.run(&["scan", store]).text() + &place.run(&["scan", store, "--keyspace", "other"]).text()
}

#[test]
fn a_checkpoint_is_the_store_as_it_was() {
    let place = store();
    let before = rows(&place, "db");
    place.run(&["checkpoint", "db", "copy"]).ok();
    place.run(&["put", "db", "later", "1"]).ok();
    place.run(&["compact", "db"]).ok();
    assert_eq!(rows(&place, "copy"), before);
    place.run(&["check", "copy"]).ok();
    place.run(&["put", "copy", "new", "2"]).ok();
    place.run(&["get", "db", "new"]).fails(1, &[]);
}

#[test]
fn a_store_is_copied_into_a_file_and_out_again() {
    let place = store();
    let before = rows(&place, "db");
    place.run(&["export", "db", "store.terrane"]).ok();
    assert_eq!(names(&place.path(".")), ["db", "store.terrane"]);
    place.run(&["import", "store.terrane", "back"]).ok();
    assert_eq!(rows(&place, "back"), before);
    place.run(&["check", "back"]).ok();
    // A file goes into another file.
    place.run(&["export", "store.terrane", "again.terrane"]).ok();
    assert_eq!(rows(&place, "again.terrane"), before);
}

#[test]
fn every_command_takes_a_file_for_a_directory() {
    let place = store();
    place.run(&["export", "db", "f"]).ok();
    place.run(&["put", "f", "a", "1"]).ok();
    assert_eq!(place.run(&["get", "f", "a"]).ok(), b"1");
    place.run(&["delete", "f", "a"]).ok();
    place.run_with_input(&["load", "f", "--format", "tsv"], b"b\nc\n").ok();
    assert_eq!(place.run(&["scan", "f", "--reverse", "--limit", "1"]).text(), "last\tin the log\n");
    place.run(&["compact", "f"]).ok();
    assert!(place.run(&["stats", "f"]).text().contains("20,003"));
    assert!(place.run(&["levels", "f"]).text().contains("level"));
    place.run(&["keyspaces", "f", "--drop", "other"]).ok();
    place.run(&["policy", "f", "tiered"]).ok();
    place.run(&["checkpoint", "f", "d"]).ok();
    let check = place.run(&["check", "f"]).text();
    assert!(check.contains("20,003 entries"), "{check}");
    assert_eq!(names(&place.path(".")), ["d", "db", "f"]);
}

#[test]
fn what_is_there_already_is_left_alone() {
    let place = store();
    place.file("taken", "hello");
    std::fs::create_dir(place.path("empty")).unwrap();
    for target in ["taken", "empty", "db"] {
        place.run(&["checkpoint", "db", target]).fails(3, &[target, "there already"]);
        place.run(&["export", "db", target]).fails(3, &[target, "there already"]);
    }
    assert_eq!(std::fs::read(place.path("taken")).unwrap(), b"hello");
    assert!(names(&place.path("empty")).is_empty());
    place.run(&["export", "db", "missing/f"]).fails(7, &["missing/f"]);
    for copy in ["checkpoint", "import"] {
        let nothing = ["none holds no Terrane store", "no such directory or file"];
        place.run(&[copy, "none", "copy"]).fails(4, &nothing);
    }
    place.run(&["import", "taken", "copy"]).fails(4, &["taken"]);
    place.run(&["import", "db", "copy"]).fails(4, &["directory db"]);
    assert!(!place.path("copy").exists());
}

#[test]
fn a_copy_of_a_damaged_store_is_not_left_behind() {
    let place = store();
    place.run(&["compact", "db"]).ok();
    for name in names(&place.path("db")).iter().filter(|n| n.ends_with(".sst")) {
        let path = place.path("db").join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    }
    place.run(&["export", "db", "f"]).fails(6, &["is damaged"]);
    place.run(&["checkpoint", "db", "d"]).fails(6, &["is damaged"]);
    assert_eq!(names(&place.path(".")), ["db"]);
}

#[test]
fn a_file_is_held_by_one_process_at_a_time() {
    let place = store();
    place.run(&["export", "db", "f"]).ok();
    let held = terrane::Db::open_file(place.path("f"), terrane::Options::default()).unwrap();
    // By its id, where the system says so.
    let holder = if cfg!(target_os = "linux") {
        format!("f is in use by process {}", std::process::id())
    } else {
        "f is in use by another process".to_owned()
    };
    for args in [["get", "f", "last"].as_slice(), &["check", "f"], &["export", "f", "g"]] {
        place.run(args).fails(5, &[&holder]);
    }
    drop(held);
    place.run(&["get", "f", "last"]).ok();
    assert_eq!(names(&place.path(".")), ["db", "f"]);
}

/// Flips a bit of a block in the middle of the store's largest table, and names it.
fn damage_a_table(place: &Place) -> String {
    let tables = names(&place.path("db")).into_iter().filter(|name| name.ends_with(".sst"));
    let bytes = |name: &String| std::fs::read(place.path("db").join(name)).unwrap();
    let name = tables.max_by_key(|name| bytes(name).len()).unwrap();
    let mut damaged = bytes(&name);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(place.path("db").join(&name), damaged).unwrap();
    name
}

#[test]
fn no_copy_is_made_of_a_damaged_block() {
    let place = store();
    for keyspace in ["default", "other"] {
        place.run(&["compact", "db", "--keyspace", keyspace]).ok();
    }
    place.run(&["export", "db", "sound"]).ok();
    let name = damage_a_table(&place);
    place.run(&["export", "db", "f"]).fails(6, &[&name, "is damaged"]);
    place.run(&["checkpoint", "db", "d"]).fails(6, &[&name, "is damaged"]);
    // A volume's blocks rot as well.
    let path = place.path("sound");
    let mut bytes = std::fs::read(&path).unwrap();
    let table = std::fs::read(place.path("db").join(name)).unwrap();
    let block = &table[100..200];
    let at = bytes.windows(block.len()).position(|b| b == block).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    place.run(&["import", "sound", "i"]).fails(6, &["is damaged"]);
    assert_eq!(names(&place.path(".")), ["db", "sound"]);
}

/// A file that a copy leaves when its process is killed at some moment.
fn unfinished_volume() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("volume");
    let volume = terrane::storage::Volume::open_file(&path, true).unwrap();
    begin_copy(&volume);
    drop(volume);
    std::fs::read(&path).unwrap()
}

/// Starts a copy in `target` and does not end it.
fn begin_copy(target: &dyn terrane::storage::Storage) {
    let dir = tempfile::tempdir().unwrap();
    let db = terrane::Db::open(dir.path(), terrane::Options::default()).unwrap();
    db.default_keyspace().put(b"a", b"1", terrane::Durability::Buffered).unwrap();
    let mut checkpoint = db.begin_checkpoint(target).unwrap();
    for _ in 0..3 {
        checkpoint.step(target).unwrap();
    }
}

#[test]
fn a_copy_removes_nothing_that_it_did_not_make() {
    let place = store();
    let before = rows(&place, "db");
    place.file("text.unfinished", "hello");
    place.file("killed.unfinished", unfinished_volume());
    place.file("empty.unfinished", "");
    place.run(&["export", "db", "whole.unfinished"]).ok();
    place.run(&["checkpoint", "db", "tree.unfinished"]).ok();
    for name in ["notes", "left"] {
        std::fs::create_dir(place.path(&format!("{name}.unfinished"))).unwrap();
    }
    place.file("notes.unfinished/text", "hello");
    place.file("left.unfinished/CREATING", "");
    let stores = ["whole.unfinished", "tree.unfinished"];
    let contents = |name: &str| {
        let path = place.path(name);
        if path.is_dir() {
            names(&path).concat().into_bytes()
        } else {
            std::fs::read(path).unwrap()
        }
    };
    for name in ["text", "killed", "empty", "whole", "tree", "notes", "left"] {
        let unfinished = format!("{name}.unfinished");
        let found = contents(&unfinished);
        for copy in ["export", "checkpoint", "repair"] {
            let copied = place.run(&[copy, "db", name]);
            assert!(
                copied.err.contains(&format!("{unfinished} is there already")),
                "{}",
                copied.err
            );
            copied.ok();
            assert_eq!(rows(&place, name), before);
            assert!(contents(&unfinished) == found, "{copy} changed {unfinished}");
            let copied = place.path(name);
            match copied.is_dir() {
                true => std::fs::remove_dir_all(copied).unwrap(),
                false => std::fs::remove_file(copied).unwrap(),
            }
        }
    }
    for name in stores {
        assert_eq!(rows(&place, name), before);
    }
    assert_eq!(names(&place.path(".")).len(), 1 + 7, "{:?}", names(&place.path(".")));
}

#[test]
fn a_slash_may_end_the_name_of_a_new_directory() {
    let place = store();
    let before = rows(&place, "db");
    place.run(&["checkpoint", "db", "a/"]).ok();
    place.run(&["repair", "db/", "./b//"]).ok();
    place.run(&["export", "db", "f/"]).fails(3, &["path of a file", "f/", "for example: f"]);
    place.run(&["export", "db", "f"]).ok();
    place.run(&["import", "f", "c/"]).ok();
    for copy in ["a", "b", "c", "f"] {
        assert_eq!(rows(&place, copy), before);
    }
    place.run(&["checkpoint", "db", "a/"]).fails(3, &["a", "there already"]);
    assert_eq!(names(&place.path(".")), ["a", "b", "c", "db", "f"]);
}

#[test]
fn an_unfinished_copy_is_called_one() {
    let place = Place::new();
    place.file("f", unfinished_volume());
    let vfs = terrane::storage::vfs::NativeVfs::open(&place.path("d"), true).unwrap();
    begin_copy(&terrane::storage::Directory::open(std::sync::Arc::new(vfs)).unwrap());
    place.file("d/00000007.sst", "half of it");
    let left = names(&place.path("d"));
    assert!(left.contains(&"CREATING".to_owned()) && left.iter().any(|n| n.ends_with(".log")));
    for store in ["f", "d"] {
        for command in ["check", "stats", "scan"] {
            place.run(&[command, store]).fails(4, &[store, "unfinished copy"]);
        }
    }
    assert_eq!(names(&place.path("d")), left);
    // Where a store is written to, it makes room.
    place.run(&["put", "d", "key", "value"]).ok();
    assert_eq!(place.run(&["scan", "d"]).text(), "key\tvalue\n");
}

#[test]
fn a_stray_creating_lets_no_write_remove_a_store_sans_current() {
    let place = store();
    std::fs::remove_file(place.path("db/CURRENT")).unwrap();
    place.file("db/CREATING", "");
    let before = names(&place.path("db"));
    place.run(&["put", "db", "a", "b"]).fails(6, &["CURRENT", "terrane repair"]);
    place.run(&["check", "db"]).fails(6, &["is damaged"]);
    place.run(&["scan", "db"]).fails(6, &["CURRENT"]);
    let left: Vec<_> = names(&place.path("db")).into_iter().filter(|n| n != "LOCK").collect();
    assert_eq!(left, before.into_iter().filter(|n| n != "LOCK").collect::<Vec<_>>());
}

#[test]
#[cfg(unix)]
fn a_copy_that_is_interrupted_leaves_nothing_behind() {
    let place = Place::new();
    let row = format!("\t{}\n", "v".repeat(1000));
    let rows: String =
        (0..60_000u64).map(|n| format!("{:010x}{row}", n * 40_503 % 65_537)).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], rows.as_bytes()).ok();
    for copy in ["export", "checkpoint", "repair"] {
        let mut child = place
            .terrane(&[copy, "db", "c"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = child.id().to_string();
        while !place.path("c.unfinished").exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::process::Command::new("kill").args(["-s", "TERM", &id]).status().unwrap();
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        match ended.status.code() {
            // It was done before it heard.
            Some(0) => std::fs::rename(place.path("c"), place.path(copy)).unwrap(),
            code => {
                assert_eq!(code, Some(130), "{copy}: {err}");
                assert!(err.contains("interrupted; removed c.unfinished"), "{err}");
            }
        }
        assert!(!place.path("c").exists() && !place.path("c.unfinished").exists());
    }
}
