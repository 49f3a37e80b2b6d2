//! Stores of many keyspaces: the cost of an operation does not grow with their number.

use crate::schedule;
use crate::storage::Directory;
use crate::storage::vfs::MemoryVfs;
use crate::{Db, Durability, Options};
use std::sync::Arc;
use std::time::Instant;

/// Prints the cost of many keyspaces: `cargo test --release -p terrane --features testing --lib
/// many_keyspaces -- --ignored --nocapture`; the environment variable `KEYSPACES` sets other numbers.
#[test]
#[ignore = "measures"]
fn what_many_keyspaces_cost() {
    let sizes = std::env::var("KEYSPACES").unwrap_or("1000,4000,16000".to_owned());
    for keyspaces in sizes.split(',').map(|size| size.parse::<usize>().unwrap()) {
        let vfs = MemoryVfs::new();
        let open = || {
            let storage = Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap());
            let executor = Arc::new(crate::executor::SliceExecutor::default());
            Db::open_storage(storage, Options::default(), executor).unwrap()
        };
        let db = open();
        let names: Vec<_> = (0..keyspaces).map(|n| format!("keyspace {n:06}")).collect();
        let started = Instant::now();
        let mut lap = started;
        let mut spent = |what: &str| {
            let now = Instant::now();
            println!("{keyspaces} {what}: {:.2} s", (now - lap).as_secs_f64());
            lap = now;
        };
        for name in &names {
            db.create_keyspace(name).unwrap();
        }
        spent("create");
        for name in &names {
            db.create_keyspace(name).unwrap().put("key", "value", Durability::Buffered).unwrap();
        }
        spent("put");
        db.flush().unwrap();
        spent("flush");
        db.close().unwrap();
        let db = open();
        spent("open");
        for name in &names {
            assert!(db.create_keyspace(name).unwrap().get("key").unwrap().is_some());
        }
        spent("get");
        let mut snapshots = Vec::new();
        for n in 0..10 * keyspaces as u64 {
            db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
            snapshots.push((n.wrapping_mul(0x9e37_79b9_7f4a_7c15), db.snapshot()));
        }
        snapshots.sort_by_key(|(order, _)| *order);
        spent("snapshots taken");
        drop(snapshots);
        spent("snapshots released");
        for name in names.iter().rev() {
            assert!(db.drop_keyspace(name).unwrap());
        }
        spent("drop");
    }
}

/// A store with logs of 16 KiB, of which each row of 3 KiB takes a good part.
fn of_short_logs(keyspaces: u32) -> Db {
    let db = super::open(super::directory(&super::faulty()), super::slices()).unwrap();
    for n in 0..keyspaces {
        let keyspace = db.create_keyspace(&format!("{n}")).unwrap();
        keyspace.put("key", vec![b'v'; 3 << 10], Durability::Buffered).unwrap();
    }
    db
}

fn sealed_logs(db: &Db) -> usize {
    db.engine().state.lock().logs.sealed().len()
}

#[test]
fn a_creation_copies_few_of_the_other_keyspaces() {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let db = Db::open_storage(storage, Options::small(), super::slices()).unwrap();
    for n in 0..1000 {
        db.create_keyspace(&format!("{n}")).unwrap();
    }
    let before = db.engine().keyspaces.load_full();
    db.create_keyspace("one more").unwrap();
    // A keyspace in a copied chunk has two owners.
    let copied = before.values().filter(|keyspace| Arc::strong_count(keyspace) > 1).count();
    assert!(copied < 250, "{copied}");
}

#[test]
fn logs_retire_with_the_last_keyspace_that_keeps_them() {
    let db = of_short_logs(40);
    assert!(sealed_logs(&db) > 4);
    db.flush().unwrap();
    assert_eq!(sealed_logs(&db), 0);
}

#[test]
fn a_dropped_keyspace_keeps_no_log() {
    let db = of_short_logs(40);
    let engine = db.engine();
    let _waiter = db.begin_flush().unwrap();
    // The first flush counts what keeps the oldest log.
    let mut job = schedule::next_job(engine, crate::schedule::JobFilter::Flush).unwrap();
    while job.run_for(u64::MAX).unwrap() == crate::jobs::Progress::More {}
    for n in 1..5 {
        assert!(db.drop_keyspace(&n.to_string()).unwrap());
    }
    db.wait_until_idle().unwrap();
    assert_eq!(sealed_logs(&db), 0);
}
