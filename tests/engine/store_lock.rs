//! Only one process has a store open: a second open, there or in another process, names the holder.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use terrane::{Db, Durability, Error, ErrorKind, Options};

/// In the process started by this test: the directory to open.
const PLACE: &str = "TERRANE_TEST_PLACE";

fn holder(place: &Path) -> String {
    match Db::open(place, Options::default()).map_err(Error::into_kind) {
        Err(ErrorKind::Busy(busy)) => busy.holder,
        Err(e) => panic!("the store is open, but: {e}"),
        Ok(_) => panic!("the store is open twice"),
    }
}

#[test]
fn a_second_open_in_one_process_is_refused_until_close() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
    let this = format!("process {} (", std::process::id());
    assert!(holder(dir.path()).starts_with(&this));
    // A handle that outlives the store locks nobody out.
    let left = db.default_keyspace();
    db.close().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    assert!(matches!(
        left.put(b"key", b"late", Durability::Sync).map_err(Error::into_kind),
        Err(ErrorKind::Closed(_))
    ));
    assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"value".to_vec()));
}

#[test]
fn a_second_process_is_refused_until_the_first_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = other_process(dir.path());
    let output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(
        output.into_iter().any(|line| line.contains("it is open")),
        "the other process did not open it"
    );
    let other = format!("process {} (engine", child.id());
    assert!(holder(dir.path()).starts_with(&other));
    // It ends without closing: the system releases its lock.
    child.kill().unwrap();
    child.wait().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"value".to_vec()));
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn several_readers_leave_the_store_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    let rows = db.default_keyspace();
    rows.put(b"table", b"1", Durability::Buffered).unwrap();
    db.flush().unwrap();
    rows.put(b"log", b"2", Durability::Buffered).unwrap();
    db.close().unwrap();
    std::fs::remove_file(dir.path().join("LOCK")).unwrap();
    std::fs::write(dir.path().join("00000999.sst"), "a stray").unwrap();
    let files = || -> BTreeMap<_, _> {
        let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        names.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    };
    let before = files();
    let read = || Options::default().read_only(true);
    let open = [(); 2].map(|()| Db::open(dir.path(), read()).unwrap());
    for db in &open {
        let rows = db.default_keyspace();
        assert_eq!(rows.get(b"table").unwrap(), Some(b"1".to_vec()));
        assert_eq!(rows.get(b"log").unwrap(), Some(b"2".to_vec()));
        assert!(rows.put(b"log", b"3", Durability::Buffered).is_err());
        assert_eq!(db.check().unwrap().damage, []);
    }
    #[cfg(unix)]
    assert_eq!(holder(dir.path()), "another process");
    drop(open);
    assert!(files() == before, "something was changed");
    assert!(matches!(
        Db::open(dir.path().join("none"), read()).map_err(Error::into_kind),
        Err(ErrorKind::NoStore(_))
    ));
}

#[test]
#[cfg(unix)]
fn deleting_the_lock_file_lets_nobody_in() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    let rows = db.default_keyspace();
    rows.put(b"key", b"value", Durability::Sync).unwrap();
    std::fs::remove_file(dir.path().join("LOCK")).unwrap();
    assert_eq!(holder(dir.path()), "another process");
    rows.put(b"other", b"value", Durability::Sync).unwrap();
    db.close().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    assert!(db.default_keyspace().get(b"other").unwrap().is_some());
}

#[test]
#[cfg(unix)]
fn a_store_whose_directory_was_replaced_refuses_writes() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("store");
    let db = Db::open(&place, Options::default()).unwrap();
    let rows = db.default_keyspace();
    rows.put(b"key", b"value", Durability::Sync).unwrap();
    std::fs::rename(&place, dir.path().join("elsewhere")).unwrap();
    let other = Db::open(&place, Options::default()).unwrap();
    assert!(rows.put(b"lost", b"value", Durability::Sync).is_err());
    assert!(rows.put(b"lost", b"value", Durability::Buffered).is_err());
    assert!(db.flush().is_err());
    other.default_keyspace().put(b"key", b"other", Durability::Sync).unwrap();
    assert_eq!(other.check().unwrap().damage, []);
}

fn other_process(place: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_lock::hold_the_store_for_another_process", "--nocapture"])
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The other process: opens the store and waits to be killed.
#[test]
fn hold_the_store_for_another_process() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let db = Db::open(Path::new(&place), Options::default()).unwrap();
    db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
    println!("it is open");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    // Ends with the test, however that ends.
    std::io::stdin().read_line(&mut line).unwrap();
}

#[cfg(unix)]
#[test]
fn a_forked_child_writes_nothing_and_keeps_the_store_locked() {
    let dir = tempfile::tempdir().unwrap();
    let open = |place: &Path| match place.file_name().is_some_and(|name| name == "file") {
        true => Db::open_file(place, Options::default()),
        false => Db::open(place, Options::default()),
    };
    for place in ["directory", "file"].map(|name| dir.path().join(name)) {
        let db = open(&place).unwrap();
        let rows = db.default_keyspace();
        // Through memory, which the child shares.
        rows.put(b"key", b"value", Durability::Buffered).unwrap();
        // SAFETY: the child takes no lock that another thread may hold, and ends with `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let refused = |result: terrane::Result<()>| {
                let kind = result.map_err(Error::into_kind);
                matches!(kind, Err(ErrorKind::Closed(terrane::Closed::Forked)))
            };
            let all = [
                refused(rows.put(b"key", b"child's", Durability::Sync).map(drop)),
                refused(rows.delete(b"key", Durability::Buffered).map(drop)),
                refused(db.create_keyspace("child's").map(drop)),
                refused(db.drop_keyspace("other").map(drop)),
                refused(db.sync()),
                refused(db.flush()),
                refused(rows.compact_range(..)),
                refused(db.wait_until_idle()),
                refused(db.clone().close()),
                rows.get(b"key").is_ok_and(|value| value.as_deref() == Some(b"value")),
            ];
            drop((rows, db));
            // SAFETY: nothing of the parent is run at the end of the process.
            unsafe { libc::_exit(i32::from(all.contains(&false))) };
        }
        let mut status = -1;
        // SAFETY: the child above, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child was refused");
        assert_eq!(rows.get(b"key").unwrap(), Some(b"value".to_vec()));
        rows.put(b"key", b"parent's", Durability::Buffered).unwrap();
        db.sync().unwrap();
        let again = open(&place).map_err(Error::into_kind);
        assert!(matches!(again, Err(ErrorKind::Busy(_))), "the child did not release the lock");
        db.close().unwrap();
        let db = open(&place).unwrap();
        assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"parent's".to_vec()));
    }
}
