//! Data cut short by a crash is left out, every command that opens the store reports it, and it is
//! kept until its owner removes it.

use crate::place::{Place, names};
use std::fs;
use std::time::Duration;
use terrane::{Db, Durability, Options};

/// A store as a killed process leaves it, with three rows in its log. The second one is torn; nothing
/// says that this row and the third were on the file system.
fn torn_store() -> Place {
    let place = Place::new();
    let options = Options::default().sync_interval(Duration::MAX);
    let db = Db::open(place.path("running"), options).unwrap();
    for (key, value) in [("a", "first"), ("b", "the second"), ("c", "third")] {
        let durability = if key == "a" { Durability::Sync } else { Durability::Buffered };
        db.default_keyspace().put(key.as_bytes(), value.as_bytes(), durability).unwrap();
    }
    fs::create_dir(place.path("db")).unwrap();
    for name in names(&place.path("running")) {
        let mut bytes = fs::read(place.path("running").join(&name)).unwrap();
        let row = b"the second";
        if let Some(at) = bytes.windows(row.len()).position(|window| window == row) {
            bytes[at] ^= 1;
        }
        place.file(&format!("db/{name}"), bytes);
    }
    place
}

const TOLD: &str = "terrane: db: left out ";

#[test]
fn every_reading_command_reports_what_a_crash_cut_short() {
    let place = torn_store();
    let commands: [&[&str]; 6] = [
        &["get", "db", "a"],
        &["scan", "db"],
        &["stats", "db"],
        &["levels", "db"],
        &["keyspaces", "db"],
        &["policy", "db"],
    ];
    for command in commands {
        let run = place.run(command);
        assert!(run.err.starts_with(TOLD), "{command:?}: {:?}", run.err);
        assert!(run.err.ends_with(" bytes of writes that a crash cut short\n"), "{}", run.err);
        run.ok();
    }
    let check = place.run(&["check", "db"]);
    assert!(check.text().contains("of writes that a crash cut short"));
    assert_eq!(place.run(&["scan", "db"]).text(), "a\tfirst\n");
}

#[test]
fn the_first_command_that_writes_is_the_last_to_report_it() {
    for write in [&["put", "db", "d", "4"][..], &["delete", "db", "none"], &["compact", "db"]] {
        let place = torn_store();
        let run = place.run(write);
        assert!(run.err.contains(TOLD), "{write:?}: {:?}", run.err);
        run.ok();
        let later = place.run(&["scan", "db"]);
        assert_eq!(later.err, "", "{write:?}");
        assert!(later.text().starts_with("a\tfirst\n"));
    }
}

#[test]
fn quarantined_writes_are_listed_until_dropped() {
    let place = torn_store();
    let early = place.run(&["quarantine", "db"]);
    assert!(early.err.contains(TOLD) && early.err.contains("terrane: 0 bytes in quarantine"));
    assert_eq!(early.text(), "", "only a command that writes fills the quarantine");
    place.run(&["delete", "db", "none"]).ok();
    assert_eq!(place.run(&["quarantine", "db"]).text(), "3\tput\tdefault\tc\tthird\n");
    assert!(place.run(&["check", "db"]).text().contains(" are quarantined; "));
    let json = place.run(&["quarantine", "db", "--json"]).text();
    assert_eq!(
        json,
        "{\"sequence\":3,\"kind\":\"put\",\"keyspace\":\"default\",\"key\":\"c\",\"value\":\"third\"}\n"
    );
    assert!(place.run(&["quarantine", "db", "--drop"]).err.starts_with("terrane: dropped "));
    let after = place.run(&["quarantine", "db"]);
    assert_eq!(after.err, "terrane: 0 bytes in quarantine\n");
    assert_eq!(after.text(), "");
    assert_eq!(place.run(&["scan", "db"]).text(), "a\tfirst\n");
    place.run(&["check", "db"]).ok();
}
