//! Waits of writes for each other, for the writer's lock and for the next log are counted. A clock
//! that reports its readings shows that a write has started to wait.

use super::gated::Gated;
use super::{directory, faulty, slices};
use crate::Durability::Buffered;
use crate::storage::Directory;
use crate::{Db, Durability, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, ThreadId};

fn open(options: Options) -> Db {
    Db::open_storage(directory(&faulty()), options, slices()).unwrap()
}

/// Sends a message whenever the thread of a write starts or ends a wait.
fn clock(db: &Db) -> Receiver<ThreadId> {
    let (read, told) = channel();
    let test = thread::current().id();
    db.engine().set_clock(move || {
        let reader = thread::current().id();
        if reader != test {
            // The test may have seen enough.
            let _ = read.send(reader);
        }
        0
    });
    told
}

/// Waits until that thread starts to wait.
fn waits(told: &Receiver<ThreadId>, thread: ThreadId) {
    while told.recv().unwrap() != thread {}
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
        let held = db.engine().log.writer();
        for key in [&b"leads a group"[..], b"waits for that"] {
            let db = &db;
            let writer = threads.spawn(move || put(db, key));
            waits(&told, writer.thread().id());
        }
        drop(held);
    });
    let waits = db.stats().unwrap().waits;
    assert_eq!(waits.lock.count, 1);
    // A condition variable may wake for no reason, and is waited for again.
    assert!(waits.group.count > 0);
}

#[test]
fn writers_that_wait_for_a_sync_share_the_next_record() {
    let (vfs, gate) = Gated::new();
    let storage = Arc::new(Directory::open(Arc::new(vfs)).unwrap());
    let db = Db::open_storage(storage, Options::small(), slices()).unwrap();
    let (rows, told) = (db.default_keyspace(), clock(&db));
    gate.close("sync 0");
    let sync = &|key: u8| rows.put([key], "value", Durability::Sync).unwrap();
    thread::scope(|threads| {
        threads.spawn(|| sync(0));
        gate.wait_held();
        for key in 1..4 {
            let writer = threads.spawn(move || sync(key));
            waits(&told, writer.thread().id());
        }
        gate.open();
    });
    assert_eq!(db.stats().unwrap().waits.sync.count, 2);
    let report = db.check().unwrap();
    assert_eq!((report.damage, report.wal_records), (vec![], 2));
    assert_eq!(rows.scan(..).unwrap().count(), 4);
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

#[test]
fn an_append_to_the_page_of_the_one_before_reads_no_clock() {
    let vfs = faulty();
    let readings = |maps: bool| {
        vfs.allow_mmap_writes(maps);
        let db = Db::open_storage(directory(&vfs), Options::small(), slices()).unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let read = clock.clone();
        db.engine().set_clock(move || read.fetch_add(1, Relaxed));
        let readings = |bytes: usize, durability| {
            let before = clock.load(Relaxed);
            db.default_keyspace().put(b"key", vec![0; bytes], durability).unwrap();
            clock.load(Relaxed) - before
        };
        let buffered = [1, 1, 4096, 1].map(|bytes| readings(bytes, Buffered));
        // Appended by a call, and synced.
        let synced = readings(1, Durability::Sync);
        let after = [1, 1].map(|bytes| readings(bytes, Buffered));
        db.close().unwrap();
        (buffered, synced, after)
    };
    assert_eq!(readings(true), ([2, 0, 2, 0], 4, [2, 0]));
    assert_eq!(readings(false), ([2; 4], 4, [2; 2]));
}
