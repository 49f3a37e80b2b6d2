//! A store is open once: a second opener, in the same process or another, is told who holds it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use terrane::{Db, Durability, Error, Options};

/// In a process started by this test: the directory to open.
const PLACE: &str = "TERRANE_TEST_PLACE";

fn holder(place: &Path) -> String {
    match Db::open(place, Options::default()) {
        Err(Error::Busy(busy)) => busy.holder,
        Err(e) => panic!("the store is open, but: {e}"),
        Ok(_) => panic!("the store is open twice"),
    }
}

#[test]
fn a_second_opener_in_the_same_process_is_refused_until_the_first_closes() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
    let this = format!("process {} (", std::process::id());
    assert!(holder(dir.path()).starts_with(&this));
    // A handle that outlives the store keeps nobody out.
    let left = db.default_keyspace();
    db.close().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    assert!(matches!(left.put(b"key", b"late", Durability::Sync), Err(Error::Closed(_))));
    assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"value".to_vec()));
}

#[test]
fn a_second_opener_in_another_process_is_refused_until_the_first_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = other_process(dir.path());
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.into_iter().any(|line| line.contains("it is open")), "the other one opens it");
    let other = format!("process {} (second_opener", child.id());
    assert!(holder(dir.path()).starts_with(&other));
    // It ends without closing: the system lets go of its lock.
    child.kill().unwrap();
    child.wait().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"value".to_vec()));
    assert_eq!(db.check().unwrap().damage, []);
}

fn other_process(place: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_the_store_for_another_process", "--nocapture"])
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The other process: it opens the store and waits to be ended.
#[test]
fn hold_the_store_for_another_process() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let db = Db::open(Path::new(&place), Options::default()).unwrap();
    db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
    println!("it is open");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    // Ends when the test does, however that comes about.
    std::io::stdin().read_line(&mut line).unwrap();
}
