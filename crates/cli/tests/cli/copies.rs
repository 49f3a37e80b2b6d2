//! Whole stores into other places, and stores in a single file.

use crate::place::{Place, names};

/// A store of two keyspaces, some rows in tables and one in the log alone.
fn store() -> Place {
    let place = Place::new();
    let rows: String = (0..20_000).map(|n| format!("{n:06}\t{n}\n")).collect();
    for keyspace in ["default", "other"] {
        let load = ["load", "db", "--format", "tsv", "--keyspace", keyspace];
        place.run_with_input(&load, rows.as_bytes()).ok();
    }
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
fn a_store_goes_into_a_file_and_comes_back() {
    let place = store();
    let before = rows(&place, "db");
    place.run(&["export", "db", "store.terrane"]).ok();
    assert_eq!(names(&place.path(".")), ["db", "store.terrane"]);
    place.run(&["import", "store.terrane", "back"]).ok();
    assert_eq!(rows(&place, "back"), before);
    place.run(&["check", "back"]).ok();
    // A file goes into another file, too.
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
    assert!(check.contains("20003 entries"), "{check}");
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
    place.file("new.tmp", "hello");
    place.run(&["export", "db", "new"]).fails(3, &["new.tmp", "there already"]);
    assert_eq!(std::fs::read(place.path("new.tmp")).unwrap(), b"hello");
    assert_eq!(std::fs::read(place.path("taken")).unwrap(), b"hello");
    assert!(names(&place.path("empty")).is_empty());
    place.run(&["export", "db", "missing/f"]).fails(7, &["missing/f"]);
    place.run(&["checkpoint", "none", "copy"]).fails(4, &["none holds no Terrane store"]);
    place.run(&["import", "none", "copy"]).fails(4, &["none holds no Terrane store"]);
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
    for args in [["get", "f", "last"].as_slice(), &["check", "f"], &["export", "f", "g"]] {
        place.run(args).fails(5, &["f is in use by another process"]);
    }
    drop(held);
    place.run(&["get", "f", "last"]).ok();
    assert_eq!(names(&place.path(".")), ["db", "f"]);
}
