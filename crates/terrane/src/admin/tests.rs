//! Checks, keyspaces, statistics and waiters, on stores in memory.

use super::Moment;
use crate::engine::Engine;
use crate::event::{Event, Listener};
use crate::executor::{Executor, SliceExecutor, ThreadExecutor};
use crate::keyspace::MAX_KEYSPACE_NAME_BYTES;
use crate::schedule;
use crate::storage::vfs::MemoryVfs;
use crate::storage::{Directory, FileId};
use crate::write;
use crate::{Db, Durability, Error, ErrorKind, KeyRange, Keyspace, Options, Result, wal};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use terrane_policy::Shape;

/// A store with logs of 4 KiB, of which no memtable is full, so that no job runs unless it is asked for.
fn open(executor: Arc<dyn Executor>) -> Db {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let options = Options { wal_file_bytes: 4 << 10, ..Options::small() };
    Db::open_storage(storage, options, executor).unwrap()
}

fn store() -> Db {
    open(Arc::new(SliceExecutor::default()))
}

/// Writes `rows` rows, four of which fill a log.
fn fill(keyspace: &Keyspace, rows: u8) {
    for n in 0..rows {
        keyspace.put([n], [n; 900], Durability::Buffered).unwrap();
    }
}

#[test]
fn a_check_reads_each_full_log_in_a_step_of_its_own() {
    let db = store();
    fill(&db.default_keyspace(), 18);
    let full = db.engine().state.lock().logs.sealed().len();
    assert!(full > 2);
    let mut check = db.begin_check().unwrap();
    let mut steps = 0;
    let report = loop {
        match check.step(u64::MAX).unwrap() {
            Some(report) => break report,
            None => steps += 1,
        }
    };
    assert_eq!((steps, report.wal_records, report.damage), (full, 18, vec![]));
}

#[test]
fn names_of_keyspaces_have_a_length_within_bounds() {
    let db = store();
    assert!(matches!(
        db.create_keyspace("").map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    let longest = "n".repeat(MAX_KEYSPACE_NAME_BYTES);
    assert_eq!(db.create_keyspace(&longest).unwrap().name(), longest);
    let longer = "n".repeat(MAX_KEYSPACE_NAME_BYTES + 1);
    assert!(matches!(
        db.create_keyspace(&longer).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    assert_eq!(db.keyspaces(), ["default".to_owned(), longest]);
}

#[test]
fn reserved_keyspaces_are_refused_and_in_no_list() {
    let db = store();
    assert!(db.reserved_keyspace("records", false).unwrap().is_none());
    let records = db.reserved_keyspace("records", true).unwrap().unwrap();
    records.put(b"k", b"v", Durability::Buffered).unwrap();
    assert_eq!(records.name(), "\0records");
    assert_eq!(db.keyspaces(), ["default"]);
    let listed: Vec<_> = db.stats().unwrap().keyspaces.into_iter().map(|k| k.name).collect();
    assert_eq!(listed, ["default"]);
    let refused = |result: crate::Result<()>| {
        assert!(matches!(result.map_err(Error::into_kind), Err(ErrorKind::InvalidArgument(_))));
    };
    refused(db.create_keyspace("\0records").map(drop));
    refused(db.open_keyspace("\0records").map(drop));
    refused(db.drop_keyspace("\0records").map(drop));
    let again = db.reserved_keyspace("records", false).unwrap().unwrap();
    assert_eq!(again.get(b"k").unwrap(), Some(b"v".to_vec()));
}

#[test]
fn a_dropped_keyspace_takes_its_memory_and_its_requests_along() {
    let db = store();
    let engine = db.engine();
    let (kept, dropped) =
        (db.create_keyspace("kept").unwrap(), db.create_keyspace("dropped").unwrap());
    for keyspace in [&kept, &dropped] {
        fill(keyspace, 10);
    }
    let through = write::seal_all(engine).unwrap();
    for keyspace in [&kept, &dropped] {
        fill(keyspace, 5);
        schedule::request_range(engine, keyspace.id(), KeyRange::from(..), through).unwrap();
    }
    assert!(db.drop_keyspace("dropped").unwrap());
    let (mut sealed, mut active) = (0, 0);
    for keyspace in engine.keyspaces.load().values() {
        let held = keyspace.super_version.load();
        sealed += held.sealed.iter().map(|memtable| memtable.bytes() as u64).sum::<u64>();
        active += held.active.bytes() as u64;
    }
    assert!(sealed > 0 && active > 0);
    assert_eq!(engine.memtables.sealed(), sealed);
    let bytes = engine.memtables.all();
    assert_eq!(bytes, sealed + active);
    let requests: Vec<_> =
        engine.state.lock().planner.ranges.all().iter().map(|request| request.keyspace).collect();
    assert_eq!(requests, [kept.id()]);
}

#[test]
fn the_records_of_live_logs_are_needed_space() {
    let db = store();
    let engine = db.engine();
    let stored = || {
        let version_set = engine.state.lock().version_set.clone();
        let mut bytes = engine.storage.space().unwrap().live;
        for log in &version_set.logs {
            let file = engine.storage.open(FileId::log(log.file)).unwrap();
            let mut all = vec![0; file.len().unwrap() as usize];
            crate::storage::read_exact_at(&*file, &mut all, 0).unwrap();
            let records = wal::scan(&all, log.id()).unwrap();
            bytes += records.last().map_or(0, |last| last.end());
        }
        bytes
    };
    for rows in [0, 1, 3, 9, 18] {
        fill(&db.default_keyspace(), rows);
        let space = db.stats().unwrap().space;
        assert_eq!(space.live, stored(), "{rows}");
        assert!(space.live < space.taken);
    }
    db.flush().unwrap();
    fill(&db.default_keyspace(), 7);
    assert_eq!(db.stats().unwrap().space.live, stored());
}

#[test]
fn a_compaction_whose_waiter_is_dropped_is_taken_back() {
    let db = store();
    let keyspace = db.default_keyspace();
    for _ in 0..2 {
        fill(&keyspace, 10);
        db.flush().unwrap();
    }
    let requests = || db.engine().state.lock().planner.ranges.all().len();
    let mut waiter = keyspace.begin_compact_range(..).unwrap();
    assert!(!waiter.is_done().unwrap());
    assert_eq!(requests(), 1);
    drop(waiter);
    assert_eq!(requests(), 0);
}

/// Counts the notifications of work.
#[derive(Default)]
struct Woken(SliceExecutor, AtomicUsize);

impl Executor for Woken {
    fn wake(&self, engine: &Arc<Engine>) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.wake(engine);
    }
    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        self.0.wait_for_progress(engine)
    }
    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        self.0.wait_until_idle(engine, done)
    }
    fn run(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        self.0.run(engine, bytes)
    }
    fn stop(&self, engine: &Arc<Engine>) {
        self.0.stop(engine);
    }
}

#[test]
fn waiting_for_a_flush_wakes_the_executor_until_it_is_done() {
    let executor = Arc::new(Woken::default());
    let db = open(executor.clone());
    let woken = || executor.1.load(Ordering::Relaxed);
    fill(&db.default_keyspace(), 1);
    let mut flush = db.begin_flush().unwrap();
    for _ in 0..3 {
        let before = woken();
        assert!(!flush.is_done().unwrap());
        assert_eq!(woken(), before + 1);
    }
    db.wait_until_idle().unwrap();
    let before = woken();
    assert!(flush.is_done().unwrap());
    assert_eq!(woken(), before);
}

#[test]
fn events_after_a_moment_add_up_with_it_to_the_tree() {
    let ids = |shape: &Shape| shape.tables().map(|(_, _, t)| t.id).collect::<BTreeSet<_>>();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let listener: Listener = Arc::new(move |_, event| heard.lock().unwrap().push(event.clone()));
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let options = Options { listener: Some(listener), ..Options::small() };
    let db = Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(2))).unwrap();
    let keyspace = db.default_keyspace();
    let mut moments = Vec::new();
    for n in 0_u32..4000 {
        keyspace
            .put(n.wrapping_mul(0x9e37_79b9).to_be_bytes(), [7; 200], Durability::Buffered)
            .unwrap();
        if n % 1000 == 999 {
            keyspace.compact_range(..).unwrap();
        }
        if n % 50 == 0 {
            let look = |moment: Moment| (told.lock().unwrap().len(), ids(&moment.shape));
            moments.push(keyspace.with_events_paused(look).unwrap());
        }
    }
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let last = ids(&keyspace.shape().unwrap());
    let told = told.lock().unwrap();
    assert!(told.iter().any(|event| matches!(event, Event::GroupInstalled { .. })));
    for (at, mut tables) in moments {
        for event in &told[at..] {
            match event {
                Event::Flushed { tables: new, .. } => {
                    assert!(new.iter().all(|t| tables.insert(t.id)), "flushed twice");
                }
                Event::GroupInstalled { inputs, outputs, .. } => {
                    assert!(inputs.iter().all(|t| tables.remove(t)), "an input was not there");
                    tables.extend(outputs.iter().map(|t| t.id));
                }
                _ => {}
            }
        }
        assert_eq!(tables, last);
    }
}
