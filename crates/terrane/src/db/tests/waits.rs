//! Waits of writes for each other, for the writer's lock and for the next log are counted. A clock
//! that tells when it is read shows that a write has begun to wait.

use super::{directory, faulty, slices};
use crate::sync::lock;
use crate::{Db, Durability, Options};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

fn open(options: Options) -> Db {
    Db::open_storage(directory(&faulty()), options, slices()).unwrap()
}

/// Sends a message whenever a write begins or ends a wait.
fn clock(db: &Db) -> Receiver<()> {
    let (read, told) = channel();
    db.engine().set_clock(move || {
        // The test may have seen enough.
        let _ = read.send(());
        0
    });
    // Events begin to count when the clock is set.
    while told.try_recv().is_ok() {}
    told
}

fn put(db: &Db, key: &[u8]) {
    db.default_keyspace().put(key, b"value", Durability::Buffered).unwrap();
}

#[test]
fn waits_for_the_writers_lock_and_for_another_group_are_counted() {
    let db = open(Options::small());
    put(&db, b"alone");
    let told = clock(&db);
    thread::scope(|threads| {
        let held = lock(&db.engine().writer);
        threads.spawn(|| put(&db, b"leads a group"));
        told.recv().unwrap();
        threads.spawn(|| put(&db, b"waits for that"));
        told.recv().unwrap();
        drop(held);
    });
    let waits = db.stats().unwrap().waits;
    assert_eq!(waits.lock.count, 1);
    // A condition variable may wake for no reason, and is waited for again.
    assert!(waits.group.count > 0);
}

#[test]
fn a_wait_for_each_log_that_is_not_ready_is_counted() {
    let db = open(Options { wal_file_bytes: 16 << 10, ..Options::small() });
    let rows = db.default_keyspace();
    let waits: Vec<_> = (0..3u8)
        .map(|n| {
            // One fits into a log. The job that would make the next was not run.
            rows.put(&[n], &[n; 15 << 10], Durability::Buffered).unwrap();
            db.stats().unwrap().waits.wal.count
        })
        .collect();
    assert_eq!(waits, [0, 1, 2]);
}
