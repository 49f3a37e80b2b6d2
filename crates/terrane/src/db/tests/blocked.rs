//! Writes continue while something slow is under way: the commit of an edit, the sync of the log, the
//! removal of a file, a policy. Each is held at a gate, and the writes end while it is.

use super::fill;
use super::gated::{Gate, Gated};
use crate::executor::ThreadExecutor;
use crate::install;
use crate::storage::Directory;
use crate::{Db, Durability, Keyspace, Options};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use terrane_policy::{Plan, PlanContext, Policy};

/// A store whose file system has the gate.
fn store(options: Options) -> (Gate, Db) {
    let (vfs, gate) = Gated::new();
    let storage = Arc::new(Directory::open(Arc::new(vfs)).unwrap());
    (gate, Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(2))).unwrap())
}

fn small() -> Options {
    Options { memtable_bytes: 64 << 10, wal_file_bytes: 256 << 10, ..Options::small() }
}

fn put(keyspace: &Keyspace, key: &[u8], durability: Durability) {
    keyspace.put(key, &[7; 100], durability).unwrap();
    assert!(keyspace.get(key).unwrap().is_some());
}

/// Two writers at once, who may share a group, each with buffered and synced writes.
fn two_writers(db: &Db) {
    thread::scope(|threads| {
        for writer in 0..2u8 {
            let keyspace = db.default_keyspace();
            threads.spawn(move || {
                for n in 0..20 {
                    put(&keyspace, &[writer, n], Durability::Buffered);
                    put(&keyspace, &[writer, n], Durability::Sync);
                }
            });
        }
    });
}

#[test]
fn writes_go_on_while_an_edit_is_committed() {
    let (gate, db) = store(small());
    gate.close("sync MANIFEST");
    thread::scope(|threads| {
        let other = threads.spawn(|| db.create_keyspace("other"));
        gate.meanwhile(|| {
            two_writers(&db);
            // A memtable is sealed; its flush waits.
            fill(&db, 400, 1);
        });
        other.join().unwrap().unwrap();
    });
    db.flush().unwrap();
}

#[test]
fn a_full_log_is_followed_while_an_edit_is_committed() {
    let (gate, db) = store(Options { wal_file_bytes: 64 << 10, ..small() });
    // More than half of the log, so that a job makes the next.
    fill(&db, 200, 1);
    db.wait_until_idle().unwrap();
    gate.close("sync MANIFEST");
    thread::scope(|threads| {
        let other = threads.spawn(|| db.create_keyspace("other"));
        gate.meanwhile(|| fill(&db, 200, 2));
        other.join().unwrap().unwrap();
    });
}

#[test]
fn writes_go_on_while_the_logs_are_replaced() {
    let (gate, db) = store(Options { wal_file_bytes: 64 << 10, ..small() });
    while db.engine().state.lock().logs.sealed().is_empty() {
        fill(&db, 10, 1);
    }
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let logs = || {
        let files = db.engine().log.writer().file().map(|(file, _)| file);
        (files, db.engine().state.lock().logs.files())
    };
    let before = logs();
    assert!(!before.1.is_empty());
    gate.close("sync MANIFEST");
    thread::scope(|threads| {
        let trim = threads.spawn(|| install::trim_logs(db.engine()));
        gate.meanwhile(|| {
            two_writers(&db);
            assert_eq!(logs().0, before.0);
        });
        trim.join().unwrap().unwrap();
    });
    let (file, full) = logs();
    assert!(file > before.0 && full.len() > before.1.len(), "{full:?}");
    put(&db.default_keyspace(), b"after", Durability::Sync);
    db.flush().unwrap();
    assert!(db.engine().state.lock().logs.sealed().is_empty());
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn buffered_writes_go_on_while_the_timer_syncs_the_log() {
    let (gate, db) = store(Options { sync_interval: Duration::from_millis(1), ..small() });
    gate.close("sync 0");
    let keyspace = db.default_keyspace();
    put(&keyspace, b"before", Durability::Buffered);
    gate.meanwhile(|| (0..100).for_each(|n| put(&keyspace, &[n], Durability::Buffered)));
    put(&keyspace, b"after", Durability::Sync);
}

#[test]
fn writes_edits_and_merges_go_on_while_a_file_is_removed() {
    let (gate, db) = store(small());
    (0..2).for_each(|seed| {
        fill(&db, 200, seed);
        db.flush().unwrap();
    });
    gate.close("remove 0");
    thread::scope(|threads| {
        let compaction = threads.spawn(|| db.default_keyspace().compact_range(..));
        gate.meanwhile(|| {
            two_writers(&db);
            db.create_keyspace("other").unwrap();
            db.flush().unwrap();
            compaction.join().unwrap().unwrap();
        });
    });
}

#[test]
fn no_jobs_are_searched_for_at_each_write_while_one_runs() {
    // The timer syncs nothing, so that the flush is what is held.
    let (gate, db) = store(Options { sync_interval: Duration::MAX, ..small() });
    let keyspace = db.default_keyspace();
    put(&keyspace, b"first", Durability::Buffered);
    gate.close("sync 0");
    thread::scope(|threads| {
        threads.spawn(|| db.flush());
        gate.meanwhile(|| {
            // The searches that follow the flush's start come to an end.
            while db.engine().background.work_waits() {
                thread::yield_now();
            }
            for n in 0..20 {
                put(&keyspace, &[n], Durability::Buffered);
                assert!(!db.engine().background.work_waits());
            }
        });
    });
    assert_eq!(keyspace.shape().unwrap().levels()[0].runs.len(), 1);
}

/// Is asked, and asked, and has nothing done.
struct Slow(Gate);

impl Policy for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }
    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        self.0.pass("plan");
        None
    }
}

#[test]
fn writes_and_flushes_go_on_while_a_planner_is_asked() {
    let (gate, db) = store(small());
    db.wait_until_idle().unwrap();
    let keyspaces = db.engine().keyspaces.load();
    keyspaces.values().for_each(|k| k.policy.store(Arc::new(Box::new(Slow(gate.clone())))));
    gate.close("plan");
    put(&db.default_keyspace(), b"key", Durability::Buffered);
    db.flush().unwrap();
    gate.meanwhile(|| {
        two_writers(&db);
        // Several memtables are sealed and flushed.
        fill(&db, 2000, 1);
        db.flush().unwrap();
        db.create_keyspace("other").unwrap();
    });
    db.wait_until_idle().unwrap();
}

#[test]
fn a_store_is_closed_when_the_job_under_way_has_stopped() {
    let (gate, db) = store(small());
    (0..2).for_each(|seed| {
        fill(&db, 200, seed);
        db.flush().unwrap();
    });
    gate.close("remove 0");
    db.default_keyspace().compact_range(..).unwrap();
    gate.wait_held();
    thread::scope(|threads| {
        let (done, ended) = channel();
        threads.spawn(move || done.send(db.close()));
        let early = ended.recv_timeout(Duration::from_millis(100));
        gate.open();
        assert!(early.is_err(), "a job is under way");
        ended.recv().unwrap().unwrap();
    });
}

#[test]
fn the_timer_leaves_buffered_writes_alone_until_its_interval() {
    let (gate, db) = store(Options { sync_interval: Duration::MAX, ..small() });
    gate.close("sync 0");
    put(&db.default_keyspace(), b"key", Durability::Buffered);
    thread::sleep(Duration::from_millis(50));
    let held = gate.held();
    gate.open();
    assert_eq!(held, 0);
}

#[test]
fn writes_go_on_while_a_check_reads_a_full_log() {
    let (gate, db) = store(Options { memtable_bytes: 4 << 20, ..small() });
    fill(&db, 2000, 1);
    db.wait_until_idle().unwrap();
    assert!(db.stats().unwrap().wal_files > 1);
    // The files of logs, and none of tables, since nothing was flushed.
    gate.close("read 0");
    thread::scope(|threads| {
        let check = threads.spawn(|| db.check());
        gate.meanwhile(|| two_writers(&db));
        assert_eq!(check.join().unwrap().unwrap().damage, []);
    });
}

/// A store with more than a close leaves in its logs, whose flush is held.
fn closing() -> (Gate, Db) {
    let (gate, db) = store(Options { memtable_bytes: 16 << 20, ..Options::default() });
    for key in 0..80_u8 {
        db.default_keyspace().put([key], [7; 64 << 10], Durability::Buffered).unwrap();
    }
    (gate, db)
}

#[test]
fn no_close_returns_while_another_one_flushes() {
    let (gate, db) = closing();
    gate.close("sync MANIFEST");
    let (done, ended) = channel();
    thread::scope(|threads| {
        let other = db.clone();
        let first = threads.spawn(move || other.close());
        gate.wait_held();
        threads.spawn(move || done.send(db.close()).unwrap());
        assert!(ended.recv_timeout(Duration::from_millis(100)).is_err(), "another may open it");
        gate.open();
        first.join().unwrap().unwrap();
        ended.recv().unwrap().unwrap();
    });
}

#[test]
fn a_panic_in_the_flush_of_a_close_ends_the_flush_alone() {
    let (gate, db) = closing();
    let other = db.clone();
    gate.panic_where(Box::new(|operation| operation.ends_with(".sst")));
    db.close().unwrap();
    let closed = other.default_keyspace().get([1]).map_err(crate::Error::into_kind);
    assert!(matches!(closed, Err(crate::ErrorKind::Closed(_))), "{closed:?}");
}
