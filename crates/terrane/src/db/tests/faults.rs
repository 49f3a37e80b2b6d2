//! The removal of files, also after it failed; checks after a failed sync; failures that another call takes.

use super::{
    Buffered, Durability, ErrorKind, Fault, Progress, directory, entries, faulty, fill, open,
    slices, volume,
};
use crate::engine::Engine;
use crate::executor::{Executor, SliceExecutor, ThreadExecutor};
use crate::schedule;
use crate::schedule::JobFilter;
use crate::storage::vfs::{FaultVfs, Vfs};
use crate::{Db, Options, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use terrane_policy::{Action, Compaction, Destination, Group, Observed, RunId};

/// The table files of a store.
fn tables(vfs: &FaultVfs) -> usize {
    vfs.list().unwrap().iter().filter(|name| name.ends_with(".sst")).count()
}

#[test]
fn an_idle_store_has_removed_the_inputs_of_a_shared_merge() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    fill(&db, 50, 1);
    db.flush().unwrap();
    let engine = db.engine();
    let rows = db.default_keyspace();
    let inputs: Vec<_> = rows.shape().unwrap().tables().map(|(.., table)| table.id).collect();
    let destination = Destination { level: 1, run: RunId(engine.ids.next()) };
    let group = Group::new(inputs, destination, Action::merge(u64::MAX));
    let group = Group { parts: vec![20u32.to_be_bytes().to_vec()], ..group };
    let plan = Compaction::parallel(vec![group], "a test");
    schedule::begin(engine, &mut engine.state.lock(), rows.id(), plan, None, Observed::default());
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&vfs), rows.shape().unwrap().tables().count());
}

#[test]
fn a_removal_that_failed_is_tried_again() {
    for flushes in [false, true] {
        let vfs = faulty();
        let db = open(directory(&vfs), slices()).unwrap();
        for seed in 1..3 {
            fill(&db, 50, seed);
            db.flush().unwrap();
        }
        let scan = db.default_keyspace().scan(..).unwrap();
        db.default_keyspace().compact_range(..).unwrap();
        drop(scan);
        let mut removals = 0;
        while let Some(mut job) = schedule::next_job(db.engine(), JobFilter::Removal) {
            vfs.fail_at(vfs.operations(), Fault::Io);
            job.run_for(1).unwrap_err();
            removals += 1;
        }
        vfs.heal();
        assert_eq!((removals, tables(&vfs)), (2, 3));
        if flushes {
            db.default_keyspace().put(b"key", b"value", Buffered).unwrap();
            db.flush().unwrap();
            while let Some(mut job) = schedule::next_job(db.engine(), JobFilter::Any) {
                while job.run_for(u64::MAX).unwrap() == Progress::More {}
            }
        } else {
            db.wait_until_idle().unwrap();
        }
        let named = db.default_keyspace().shape().unwrap().tables().count();
        assert_eq!(tables(&vfs), named, "flushes: {flushes}");
    }
}

#[test]
fn a_file_is_removed_after_its_last_reader_without_a_call() {
    let vfs = faulty();
    let options = Options { sync_interval: Duration::from_millis(1), ..Options::small() };
    let executor = Arc::new(ThreadExecutor::new(1));
    let db = Db::open_storage(directory(&vfs), options, executor).unwrap();
    for seed in 1..3 {
        fill(&db, 50, seed);
        db.flush().unwrap();
    }
    let scan = db.default_keyspace().scan(..).unwrap();
    db.default_keyspace().compact_range(..).unwrap();
    db.wait_until_idle().unwrap();
    assert_eq!(tables(&vfs), 3);
    drop(scan);
    super::eventually(|| tables(&vfs) == 1);
}

#[test]
fn a_flush_that_failed_is_tried_again_by_the_next() {
    let vfs = faulty();
    // No timed sync wakes the workers.
    let options = Options { sync_interval: Duration::from_secs(3600), ..Options::small() };
    let executor = Arc::new(ThreadExecutor::new(1));
    let db = Db::open_storage(directory(&vfs), options, executor).unwrap();
    fill(&db, 50, 1);
    let polled = || {
        let mut flush = db.begin_flush()?;
        while !flush.is_done()? {
            std::thread::yield_now();
        }
        Ok::<_, crate::Error>(())
    };
    let operation = vfs.operations();
    (0..20).for_each(|n| vfs.fail_at(operation + n, Fault::NoSpace));
    for _ in 0..2 {
        assert!(polled().unwrap_err().is_no_space());
    }
    vfs.heal();
    polled().unwrap();
    assert_eq!(tables(&vfs), 1);
}

#[test]
fn a_check_after_a_failed_sync_finds_no_damage() {
    let mut lost = 0;
    for writes in 1..9 {
        for sealed in [false, true] {
            let vfs = faulty();
            let db = open(directory(&vfs), slices()).unwrap();
            fill(&db, if sealed { 100 } else { writes }, 1);
            db.sync().unwrap();
            // More than a log holds, or less.
            fill(&db, if sealed { 100 } else { writes }, 2);
            let operation = vfs.operations();
            (0..8).for_each(|n| vfs.fail_at(operation + n, Fault::Reverted));
            db.sync().unwrap_err();
            vfs.heal();
            let shown = entries(&db);
            let report = db.check().unwrap();
            assert_eq!(report.damage, [], "{writes} writes, {sealed}");
            assert_eq!(entries(&db), shown);
            let all = db.engine().snapshots.visible();
            lost += u64::from(report.wal_records < all);
        }
    }
    assert!(lost > 0, "the failed syncs took nothing");
}

#[test]
fn a_check_finds_no_damage_where_a_table_shares_its_failed_sync() {
    let mut lost = 0;
    for operation in 0..30 {
        let vfs = faulty();
        let file = vfs.create("volume").unwrap();
        vfs.sync_names().unwrap();
        let db = open(Arc::new(volume(&file)), slices()).unwrap();
        fill(&db, 50, 1);
        vfs.fail_at(vfs.operations() + operation, Fault::Reverted);
        let flushed = db.flush();
        vfs.heal();
        let report = db.check().unwrap();
        assert_eq!(report.damage, [], "operation {operation}: {flushed:?}");
        let all = db.engine().snapshots.visible();
        lost += u64::from(flushed.is_err() && report.wal_records < all);
    }
    assert!(lost > 0, "the failed syncs took nothing");
}

#[test]
fn a_failed_sync_takes_only_buffered_writes_and_is_reported() {
    let vfs = faulty();
    let db = open(directory(&vfs), slices()).unwrap();
    let rows = db.default_keyspace();
    rows.put("synced", "1", Durability::Sync).unwrap();
    rows.put("buffered", "2", Buffered).unwrap();
    // The system drops what it could not write.
    vfs.fail_at(vfs.operations(), Fault::Reverted);
    db.sync().unwrap_err();
    vfs.heal();
    assert_eq!(rows.get("buffered").unwrap(), Some(b"2".to_vec()));
    for refused in [rows.put("later", "3", Buffered).map(drop), db.sync()] {
        assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Poisoned(_)));
    }
    drop(rows);
    db.close().unwrap_err();
    let rows = open(directory(&vfs), slices()).unwrap().default_keyspace();
    assert_eq!(rows.get("synced").unwrap(), Some(b"1".to_vec()));
    assert_eq!(rows.get("later").unwrap(), None);
}

/// Runs jobs in slices. Writes that stall take the first failures before whoever waits sees them.
struct Taken(SliceExecutor, AtomicUsize);

impl Executor for Taken {
    fn wake(&self, engine: &Arc<Engine>) {
        self.0.wake(engine);
    }
    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        self.0.wait_for_progress(engine)
    }
    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        let waited = self.0.wait_until_idle(engine, done);
        if waited.is_ok() || self.1.load(Relaxed) == 0 {
            return waited;
        }
        self.1.fetch_sub(1, Relaxed);
        assert!(engine.state.lock().health.take_failure().is_some());
        engine.background.notify_work();
        Ok(())
    }
    fn stop(&self, engine: &Arc<Engine>) {
        self.0.stop(engine);
    }
}

#[test]
fn a_failure_that_a_stalled_write_took_is_still_reported() {
    let waits: [fn(&Db) -> Result<()>; 3] = [
        |db| db.flush(),
        |db| db.default_keyspace().compact_range(..),
        |db| db.begin_flush().and_then(|_| db.wait_until_idle()),
    ];
    for (wait, taken) in waits.into_iter().flat_map(|wait| [0, 1, 2].map(|taken| (wait, taken))) {
        let vfs = faulty();
        let executor = Taken(SliceExecutor::default(), AtomicUsize::new(taken));
        let db = open(directory(&vfs), Arc::new(executor)).unwrap();
        fill(&db, 50, 1);
        vfs.set_capacity(0, Fault::NoSpace);
        let refused = wait(&db).unwrap_err();
        assert!(refused.is_no_space(), "{taken}: {refused}");
        vfs.heal();
        wait(&db).unwrap();
    }
}
