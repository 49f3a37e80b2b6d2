//! Executors, seen from the store: who runs its jobs, who waits for them, and how they end.

use super::*;
use crate::WriteBatch;
use crate::error::ErrorKind;
use crate::executor::SeededExecutor;
use crate::schedule;
use crate::write;
use terrane_policy::{Action, Compaction, Destination, Group, Plan, PlanContext, Policy};

type Executors = [(&'static str, Arc<dyn Executor>); 3];

fn executors() -> Executors {
    [
        ("slices", slices()),
        ("threads", Arc::new(ThreadExecutor::new(1))),
        ("seeded", Arc::new(SeededExecutor::new(1))),
    ]
}

/// A store with a memtable to be flushed, which nobody was woken for.
fn with_work(vfs: &FaultVfs, executor: &Arc<dyn Executor>) -> Db {
    // The timer syncs nothing meanwhile.
    let options = Options { sync_interval: Duration::MAX, ..Options::small() };
    let db = Db::open_storage(directory(vfs), options, executor.clone()).unwrap();
    fill(&db, 10, 1);
    db.wait_until_idle().unwrap();
    write::seal_all(db.engine()).unwrap();
    db
}

#[test]
fn planners_learn_how_many_merges_an_executor_runs_at_once() {
    assert_eq!(slices().workers(), 1);
    for (merges, workers) in [(0, 1), (1, 1), (3, 3)] {
        let executor: Arc<dyn Executor> = Arc::new(ThreadExecutor::new(merges));
        assert_eq!(executor.workers(), workers);
        let db = open(directory(&faulty()), executor).unwrap();
        assert_eq!(db.engine().background.workers(), workers);
    }
}

#[test]
fn an_owner_runs_jobs_where_the_executor_leaves_them_to_it() {
    for (name, executor) in executors() {
        let db = with_work(&faulty(), &executor);
        let mut slices = 0;
        while db.run_jobs(1 << 10).unwrap() {
            slices += 1;
        }
        assert_eq!(slices > 0, name != "threads", "{name}");
        assert_eq!(runs(&db), usize::from(name != "threads"), "{name}");
    }
}

#[test]
fn a_slice_works_for_about_as_many_bytes_as_it_is_given() {
    let db = open(directory(&faulty()), slices()).unwrap();
    fill(&db, 200, 1);
    write::seal_all(db.engine()).unwrap();
    // A tenth of the keys and values.
    let slices = (0..).take_while(|_| db.run_jobs(20 * 204).unwrap()).count();
    assert!((8..=14).contains(&slices), "{slices} slices");
    assert_eq!(runs(&db), 1);
}

#[test]
fn a_writer_waits_for_jobs_until_there_are_none() {
    for (name, executor) in executors() {
        let db = with_work(&faulty(), &executor);
        let waited = || executor.wait_for_progress(db.engine());
        waited().unwrap();
        // A slice is progress.
        eventually(|| matches!(waited().map_err(Error::into_kind), Err(ErrorKind::Stalled(_))));
        assert_eq!(runs(&db), 1, "{name}");
        executor.stop(db.engine());
        write::seal_all(db.engine()).unwrap();
        assert!(
            name != "threads"
                || matches!(waited().map_err(Error::into_kind), Err(ErrorKind::Closed(_)))
        );
    }
}

#[test]
fn a_writer_that_waits_learns_what_made_a_job_fail() {
    for (name, executor) in executors() {
        let vfs = faulty();
        let db = with_work(&vfs, &executor);
        vfs.fail_from(vfs.operations(), Fault::Io);
        eventually(|| match executor.wait_for_progress(db.engine()) {
            Ok(()) => false,
            Err(e) if e.io_kind().is_some() => true,
            Err(e) => panic!("{name}: {e}"),
        });
        assert!(matches!(
            executor.wait_until_idle(db.engine(), &|_| false).map_err(Error::into_kind),
            Err(ErrorKind::Io(_))
        ));
        vfs.heal();
        db.wait_until_idle().unwrap();
        assert_eq!(runs(&db), 1, "{name}");
    }
}

#[test]
fn a_wait_for_jobs_ends_when_it_has_what_it_waits_for() {
    for (name, executor) in executors() {
        let db = with_work(&faulty(), &executor);
        executor.wait_until_idle(db.engine(), &|_| true).unwrap();
        assert_eq!(runs(&db), 0, "{name}");
        executor.wait_until_idle(db.engine(), &|_| false).unwrap();
        assert_eq!(runs(&db), 1, "{name}");
    }
}

#[test]
fn memtables_are_flushed_before_writes_stall_unasked() {
    for (name, executor) in executors() {
        let options =
            Options { memtable_bytes: 64 << 10, max_immutable_memtables: 16, ..Options::small() };
        let db = Db::open_storage(directory(&faulty()), options, executor).unwrap();
        if name == "threads" {
            // Some five memtables.
            fill(&db, 1400, 1);
            eventually(|| runs(&db) > 0);
        } else {
            assert!((0..60).any(|_| {
                fill(&db, 100, 1);
                runs(&db) > 0
            }));
        }
        assert_eq!(db.stats().unwrap().stalls, 0, "{name}");
    }
}

/// Removes `files` files. Returns the number of slices.
fn slices_of_removals(files: u8) -> usize {
    let vfs = faulty();
    let options = Options { l0_stop_trigger: 64, ..Options::small() };
    let db = Db::open_storage(directory(&vfs), options, slices()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    for n in 0..files {
        other.put([n], "value", Buffered).unwrap();
        write::seal_all(db.engine()).unwrap();
        let mut flush = schedule::next_job(db.engine(), JobFilter::Flush).unwrap();
        while flush.run_for(1 << 20).unwrap() == Progress::More {}
    }
    assert_eq!(tables(&vfs), usize::from(files));
    // Nobody is woken.
    assert!(write::drop_keyspace(db.engine(), "other", &WriteBatch::new()).unwrap());
    let slices = (0..).find(|_| !db.run_jobs(1).unwrap()).unwrap();
    assert_eq!(tables(&vfs), 0);
    slices
}

#[test]
fn a_slice_removes_several_files_and_reports_work() {
    assert_eq!(slices_of_removals(1), 1);
    let slices = slices_of_removals(20);
    assert!((1..=10).contains(&slices), "{slices} slices");
}

/// Moves the runs of level 0 down.
struct Down;

impl Policy for Down {
    fn name(&self) -> &'static str {
        "down"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let newest = context.shape.levels().first()?.runs.first()?;
        let destination = Destination { level: 1, run: context.fresh };
        let inputs = newest.tables().iter().map(|table| table.id).collect();
        let group = Group::new(inputs, destination, Action::Move);
        Some(Compaction::parallel(vec![group], "a test").into())
    }
}

#[test]
fn a_slice_that_only_moved_tables_reports_work() {
    let options =
        Options { custom_policy: Some(Arc::new(|_| Some(Box::new(Down)))), ..Options::small() };
    let db = Db::open_storage(directory(&faulty()), options, slices()).unwrap();
    fill(&db, 1, 1);
    write::seal_all(db.engine()).unwrap();
    let mut flush = schedule::next_job(db.engine(), JobFilter::Flush).unwrap();
    while flush.run_for(1 << 20).unwrap() == Progress::More {}
    assert!(db.run_jobs(1).unwrap());
    assert!(!db.run_jobs(1).unwrap());
    let shape = db.default_keyspace().shape().unwrap();
    let runs: Vec<_> = shape.levels().iter().map(|level| level.runs.len()).collect();
    assert_eq!(runs, [0, 1]);
}

#[test]
fn events_come_with_the_time_that_the_executors_clock_shows() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NOW: AtomicU64 = AtomicU64::new(1000);
    let last = Arc::new(AtomicU64::new(0));
    let heard = last.clone();
    let listener: Listener = Arc::new(move |micros, _| heard.store(micros, Ordering::Relaxed));
    let options = Options { listener: Some(listener), ..Options::small() };
    let executor = Arc::new(SliceExecutor::with_clock(|| NOW.load(Ordering::Relaxed)));
    let db = Db::open_storage(directory(&faulty()), options, executor).unwrap();
    NOW.store(1234, Ordering::Relaxed);
    fill(&db, 1, 1);
    db.flush().unwrap();
    assert_eq!(last.load(Ordering::Relaxed), 234);
}

#[test]
fn a_closed_store_releases_its_files_though_its_executor_lives() {
    for (_, executor) in executors() {
        let storage = directory(&faulty());
        let db = open(storage.clone(), executor.clone()).unwrap();
        fill(&db, 200, 1);
        write::seal_all(db.engine()).unwrap();
        // A job has started, and is not at its end.
        db.run_jobs(1 << 10).unwrap();
        executor.wake(db.engine());
        drop(db);
        eventually(|| Arc::strong_count(&storage) == 1);
        drop(executor);
    }
}
