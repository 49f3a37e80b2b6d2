//! Writes slow down before they stall, where threads run the jobs; jobs keep to their rate, end or are
//! abandoned when the store closes, and are counted.

use super::{PATIENCE, entries, eventually, fill};
use crate::executor::ThreadExecutor;
use crate::stats::BackgroundStats;
use crate::storage::Directory;
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::{Db, Event, Options, Stall, Waiter};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use terrane_policy::{
    Action, Capacity, Compaction, Destination, Group, Plan, PlanContext, Policy, PolicyOptions,
    PolicyStatus,
};

/// Moves the first run down and leaves the others; level 0 may hold nothing.
struct LeavesLevel0;

impl Policy for LeavesLevel0 {
    fn name(&self) -> &'static str {
        "leaves-level-0"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let levels = context.shape.levels();
        let first = levels.first()?.runs.first().filter(|_| context.shape.deepest() == 0)?;
        let destination = Destination { level: 1, run: context.fresh };
        let inputs = first.tables().iter().map(|table| table.id).collect();
        let group = Group::new(inputs, destination, Action::Move);
        Some(Compaction::parallel(vec![group], "a test").into())
    }

    fn status(&self, _: &terrane_policy::Shape, _: &[u8]) -> PolicyStatus {
        let capacities = vec![Capacity { bytes: Some(0), runs: None }];
        PolicyStatus { capacities, ..PolicyStatus::default() }
    }
}

type Told = Arc<Mutex<Vec<(&'static str, Stall)>>>;

fn open(options: Options) -> (Db, Told) {
    let told = Told::default();
    let events = told.clone();
    let listener = move |_, event: &Event| {
        let told = match event {
            Event::SlowdownBegun { reason } => ("begun", *reason),
            Event::SlowdownEnded { reason, .. } => ("ended", *reason),
            _ => return,
        };
        events.lock().unwrap().push(told);
    };
    let options = Options {
        memtable_bytes: 64 << 10,
        listener: Some(Arc::new(listener)),
        custom_policy: Some(Arc::new(|_| Some(Box::new(LeavesLevel0)))),
        ..options
    };
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    (Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(1))).unwrap(), told)
}

/// Flushes `runs` runs.
fn flush(db: &Db, runs: u64) {
    for seed in 0..runs {
        fill(db, 100, seed);
        db.flush().unwrap();
        db.wait_until_idle().unwrap();
    }
}

/// A flush that is held back for as long as the rate is: the one before takes the slice that is granted at
/// once.
fn hold_a_flush(db: &Db) -> Waiter {
    db.set_background_bytes_per_second(1);
    flush(db, 1);
    fill(db, 10, 1);
    let mut held = db.begin_flush().unwrap();
    assert!(!held.is_done().unwrap());
    held
}

/// A store with 6 runs of 8 in level 0, and a flush that is held back.
fn near_a_stall() -> (Db, Told, Waiter) {
    let (db, told) = open(Options { l0_stop_trigger: 8, ..Options::small() });
    flush(&db, 6);
    assert!(slowdowns(&db) == 0, "nothing runs");
    let held = hold_a_flush(&db);
    (db, told, held)
}

/// Writes more than jobs have been paid for before, and less than a memtable takes.
fn pay(db: &Db) {
    fill(db, 200, 1);
}

/// Returns the number of slowdowns by level 0.
fn slowdowns(db: &Db) -> u64 {
    db.stats().unwrap().waits.level0_slowdown.count
}

#[test]
fn a_slowdown_lasts_from_the_first_waiting_write_until_close() {
    let (db, told) = open(Options { l0_stop_trigger: 8, ..Options::small() });
    flush(&db, 7);
    fill(&db, 100, 1);
    assert_eq!(*told.lock().unwrap(), [], "6 runs of 8, and nobody waits: nothing runs");
    assert_eq!(slowdowns(&db), 0);
    let (db, told, held) = near_a_stall();
    pay(&db);
    assert_eq!(*told.lock().unwrap(), [("begun", Stall::Level0)]);
    assert!(slowdowns(&db) > 0);
    assert_eq!(db.stats().unwrap().stalls, 0);
    drop(held);
    db.close().unwrap();
    assert_eq!(*told.lock().unwrap(), [("begun", Stall::Level0), ("ended", Stall::Level0)]);
}

#[test]
fn a_slowdown_ends_when_jobs_have_caught_up_without_a_write() {
    let (db, told, mut held) = near_a_stall();
    pay(&db);
    assert_eq!(*told.lock().unwrap(), [("begun", Stall::Level0)]);
    db.set_background_bytes_per_second(0);
    // The worker reports it once the flush is done.
    eventually(|| held.is_done().unwrap() && told.lock().unwrap().len() > 1);
    assert_eq!(*told.lock().unwrap(), [("begun", Stall::Level0), ("ended", Stall::Level0)]);
}

#[test]
fn writes_near_a_stall_by_debt_slow_down_without_a_stall() {
    let options =
        Options { l0_stop_trigger: 100, max_immutable_memtables: 100, ..Options::small() };
    let (db, _) = open(options.clone());
    flush(&db, 2);
    // All of level 0, with all of level 1.
    let pending = db.default_keyspace().shape().unwrap().bytes();
    for (limit, reason) in [(0, None), (pending, Some(Stall::CompactionBytes))] {
        let (db, told) = open(Options { hard_pending_compaction_bytes: limit, ..options.clone() });
        flush(&db, 1);
        let _held = hold_a_flush(&db);
        fill(&db, 100, 1);
        assert_eq!(told.lock().unwrap().first().copied(), reason.map(|reason| ("begun", reason)));
        let stats = db.stats().unwrap();
        let slowed = stats.waits.compaction_bytes_slowdown.count;
        assert_eq!((slowed > 0, stats.stalls), (reason.is_some(), 0));
    }
}

#[test]
fn a_write_that_paid_for_undone_work_returns_when_jobs_go_on() {
    let (db, told, held) = near_a_stall();
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            // More than jobs have done before. The more it has written, the longer it may wait: years.
            db.engine().counters.user_bytes.fetch_add(64 << 20, Ordering::Relaxed);
            db.inner.executor.wrote(db.engine(), 1 << 50);
        });
        // It reports the start of its wait.
        eventually(|| !told.lock().unwrap().is_empty());
        assert!(!writer.is_finished(), "jobs are held back");
        db.set_background_bytes_per_second(0);
    });
    assert_eq!(slowdowns(&db), 1);
    drop(held);
}

#[test]
fn only_writes_are_slowed_down() {
    let (db, _, mut held) = near_a_stall();
    pay(&db);
    db.create_keyspace("other").unwrap();
    let before = slowdowns(&db);
    assert!(!held.is_done().unwrap());
    db.default_keyspace().set_policy(&PolicyOptions::default()).unwrap();
    assert!(db.drop_keyspace("other").unwrap());
    assert_eq!(slowdowns(&db), before);
    fill(&db, 1, 2);
    assert_eq!(slowdowns(&db), before + 1, "a write at the same time");
}

#[test]
fn a_rate_holds_flushes_until_it_is_lifted_or_the_store_closes() {
    for lifts in [true, false] {
        let (db, _) = open(Options { background_bytes_per_second: 1, ..Options::small() });
        // A slice is granted at once, and takes a quarter of a million seconds.
        flush(&db, 1);
        fill(&db, 10, 2);
        let mut second = db.begin_flush().unwrap();
        assert!(!second.is_done().unwrap());
        if lifts {
            db.set_background_bytes_per_second(0);
            db.flush().unwrap();
            assert!(second.is_done().unwrap());
        }
        drop(second);
        db.close().unwrap();
    }
}

/// Two runs of more bytes than a slice has, and a merge of them that is held after its first slice.
fn held_merge(vfs: &Arc<MemoryVfs>) -> Db {
    let storage = Arc::new(Directory::open(vfs.clone()).unwrap());
    let executor = Arc::new(ThreadExecutor::new(1));
    let db = Db::open_storage(storage, Options::small(), executor).unwrap();
    for seed in 0..2 {
        fill(&db, 2000, seed);
        db.flush().unwrap();
    }
    db.wait_until_idle().unwrap();
    db.set_background_bytes_per_second(1);
    let others = db.stats().unwrap().background.merges.busy_micros;
    let mut merge = db.default_keyspace().begin_compact_range(..).unwrap();
    while db.stats().unwrap().background.merges.busy_micros == others {
        assert!(!merge.is_done().unwrap());
    }
    let stats = db.stats().unwrap().background;
    assert_eq!((stats.merges.running, stats.flushes.ended), (1, 2), "{stats:?}");
    drop(merge);
    db
}

#[test]
fn a_job_running_at_close_is_abandoned_and_removed_at_open() {
    for most in [None, Some(Duration::ZERO)] {
        let vfs = Arc::new(MemoryVfs::new());
        let db = held_merge(&vfs);
        let tables = db.default_keyspace().shape().unwrap().tables().count();
        match most {
            Some(most) => db.close_within(most).unwrap(),
            None => db.close().unwrap(),
        }
        let storage = Arc::new(Directory::open(vfs.clone()).unwrap());
        let db = Db::open_storage(storage, Options::small(), super::slices()).unwrap();
        assert_eq!(db.default_keyspace().shape().unwrap().tables().count(), tables);
        let files = vfs.list().unwrap();
        assert_eq!(files.iter().filter(|name| name.ends_with(".sst")).count(), tables, "{files:?}");
        assert_eq!(entries(&db).len(), 2000);
    }
}

#[test]
fn a_job_running_at_close_gets_the_given_time_to_finish() {
    let vfs = Arc::new(MemoryVfs::new());
    let db = held_merge(&vfs);
    let lifted = db.clone();
    std::thread::scope(|threads| {
        threads.spawn(move || db.close_within(PATIENCE).unwrap());
        lifted.set_background_bytes_per_second(0);
    });
    let storage = Arc::new(Directory::open(vfs).unwrap());
    let db = Db::open_storage(storage, Options::small(), super::slices()).unwrap();
    let runs = db.default_keyspace().shape().unwrap().runs().len();
    assert_eq!((runs, entries(&db).len()), (1, 2000), "the merge is installed");
}

#[test]
fn background_work_is_counted_by_worker_and_by_kind() {
    let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
    let executor = Arc::new(ThreadExecutor::new(2));
    let db = Db::open_storage(storage, Options::small(), executor).unwrap();
    for seed in 0..3 {
        fill(&db, 500, seed);
        db.flush().unwrap();
    }
    // Not of all keys, after which this thread would remove files, too.
    db.default_keyspace().compact_range(..[0xff]).unwrap();
    db.wait_until_idle().unwrap();
    let stats = db.stats().unwrap();
    let BackgroundStats { elapsed_micros, busy_micros, flushes, removals, merges } =
        stats.background;
    assert_eq!(
        (busy_micros.len(), flushes.ended),
        (4, 3),
        "two for merges, and one for each other"
    );
    assert_eq!(removals.ended, 3, "the inputs of the merge");
    let busy = flushes.busy_micros + removals.busy_micros + merges.busy_micros;
    assert_eq!(busy, busy_micros.iter().sum());
    assert!(busy_micros.iter().all(|busy| *busy <= elapsed_micros), "{busy_micros:?}");
    assert_eq!(flushes.written_bytes, stats.flushed_bytes);
    let moved = (merges.read_bytes, merges.written_bytes);
    assert_eq!(moved, (stats.merge_read_bytes, stats.merge_written_bytes));
    assert!(flushes.bytes_per_second > 0 && merges.bytes_per_second > 0);
    let left = [flushes, removals, merges].map(|jobs| (jobs.queued, jobs.running));
    assert_eq!(left, [(0, 0); 3]);
}
