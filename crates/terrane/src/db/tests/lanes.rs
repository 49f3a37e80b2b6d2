//! A flush starts at once while every worker for merges is held in one, also where stores share a pool.

use super::fill;
use super::gated::{Gate, Gated};
use crate::executor::{Executor, ThreadExecutor, WorkerPool};
use crate::storage::Volume;
use crate::storage::{Directory, FileId};
use crate::{Db, Options};
use std::sync::Arc;
use std::thread;

/// A store that reads its tables from files whenever it needs them, and the gate before these.
fn store(pool: &WorkerPool) -> (Gate, Db) {
    let (vfs, gate) = Gated::new();
    let options = Options { cache_bytes: 0, ..Options::small() };
    let storage = Arc::new(Directory::open(Arc::new(vfs)).unwrap());
    let executor: Arc<dyn Executor> = Arc::new(ThreadExecutor::in_pool(pool));
    (gate, Db::open_storage(storage, options, executor).unwrap())
}

/// Holds merges of the store's first table when they read it.
fn hold_merges(gate: &Gate, db: &Db) {
    let shape = db.default_keyspace().shape().unwrap();
    let (.., table) = shape.tables().next().unwrap();
    gate.close(format!("read {}", FileId::table(table.id.0)).leak());
}

/// Two runs of level 0.
fn flush_two(db: &Db) {
    (1..3).for_each(|seed| {
        fill(db, 100, seed);
        db.flush().unwrap();
    });
    db.wait_until_idle().unwrap();
}

#[test]
fn a_flush_starts_while_all_workers_are_held_in_merges() {
    let pool = WorkerPool::new(1);
    let (gate, db) = store(&pool);
    let (_, neighbour) = store(&pool);
    [&db, &neighbour].into_iter().for_each(flush_two);
    hold_merges(&gate, &db);
    thread::scope(|threads| {
        let compaction = threads.spawn(|| db.default_keyspace().compact_range(..));
        gate.meanwhile(|| {
            for store in [&db, &neighbour] {
                fill(store, 100, 3);
                store.flush().unwrap();
            }
            // A merge of its own waits behind the one that is held.
            let mut waiting = neighbour.default_keyspace().begin_compact_range(..).unwrap();
            assert!(!waiting.is_done().unwrap());
            neighbour.close().unwrap();
        });
        compaction.join().unwrap().unwrap();
    });
    // The pool serves the other on.
    flush_two(&db);
    db.close().unwrap();
}

#[test]
fn stores_that_are_opened_with_a_pool_run_their_merges_in_it() {
    let pool = WorkerPool::new(3);
    let dir = tempfile::tempdir().unwrap();
    let executor = || Arc::new(ThreadExecutor::in_pool(&pool));
    let volume = Arc::new(Volume::open_file(&dir.path().join("file"), true).unwrap());
    let dbs = [
        Db::open_with(dir.path().join("store"), Options::small(), executor()).unwrap(),
        Db::open_storage(volume, Options::small(), executor()).unwrap(),
    ];
    for db in &dbs {
        assert_eq!(db.engine().background.workers(), 3);
        flush_two(db);
        db.default_keyspace().compact_range(..).unwrap();
        assert_eq!(db.default_keyspace().shape().unwrap().runs().len(), 1);
    }
    dbs.into_iter().for_each(|db| db.close().unwrap());
}
