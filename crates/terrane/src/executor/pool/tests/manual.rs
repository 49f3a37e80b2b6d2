//! The pool with threads that the test runs by hand: which jobs they are handed, and how long a write waits
//! for them.

use super::*;
use crate::error::Stall;
use crate::schedule;
use crate::storage::Directory;
use crate::version::Tree;
use crate::write;
use std::sync::{OnceLock, Weak};
use terrane_policy::{
    Action, Compaction, Destination, Group, Observed, Plan, PlanContext, Policy, RunId,
};

/// Threads that keep the jobs they were handed until the test runs these.
#[derive(Default)]
struct ManualThreads {
    jobs: Mutex<Vec<Call>>,
    executor: OnceLock<Weak<Shared>>,
    /// Bytes of work that they report each time that the owner serves them.
    works: AtomicU64,
    served: AtomicU64,
}

impl ManualThreads {
    fn handed(&self) -> usize {
        lock(&self.jobs).len()
    }

    /// Runs the jobs to their ends.
    fn run(&self) {
        let jobs = std::mem::take(&mut *lock(&self.jobs));
        jobs.into_iter().for_each(|job| job());
    }
}

impl JobThreads for Arc<ManualThreads> {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        lock(&self.jobs).push(job);
    }
    fn thread(&self) -> usize {
        0
    }
    fn notify(&self) {}
    fn serve(&self) {
        assert!(self.served.fetch_add(1, Ordering::Relaxed) < 100, "the write waits forever");
        let executor = self.executor.get().unwrap().upgrade().unwrap();
        executor.worked.fetch_add(self.works.load(Ordering::Relaxed), Ordering::Relaxed);
        if executor.stopping.load(Ordering::Relaxed) {
            self.run();
        }
    }
}

/// Plans nothing.
struct Idles;

impl Policy for Idles {
    fn name(&self) -> &'static str {
        "idles"
    }

    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        None
    }
}

/// A store, and the slowdowns that its listener was notified of: the reason, and whether one started or ended.
struct Store {
    db: Db,
    threads: Arc<ManualThreads>,
    executor: Arc<PoolExecutor>,
    events: Arc<Mutex<Vec<(Stall, bool)>>>,
}

impl Store {
    fn new(merges_max: usize) -> Store {
        let threads = Arc::new(ManualThreads::default());
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let listener = move |_, event: &Event| match event {
            Event::SlowdownBegun { reason } => lock(&heard).push((*reason, true)),
            Event::SlowdownEnded { reason, .. } => lock(&heard).push((*reason, false)),
            _ => {}
        };
        let executor = Arc::new(PoolExecutor::new(merges_max, Box::new(threads.clone()), clock));
        threads.executor.set(Arc::downgrade(&executor.shared)).unwrap();
        // Memory alone comes near its limit.
        let options = Options {
            max_immutable_memtables: 64,
            l0_stop_trigger: 64,
            custom_policy: Some(Arc::new(|_| Some(Box::new(Idles)))),
            listener: Some(Arc::new(listener)),
            ..Options::small()
        };
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let db = Db::open_storage(storage, options, executor.clone()).unwrap();
        while db.run_jobs(SLICE_BYTES).unwrap() {}
        Store { db, threads, executor, events }
    }

    /// Seals a memtable of one key, without waking the executor.
    fn seal(&self, key: u8) {
        self.db.default_keyspace().put([key], "value", Durability::Buffered).unwrap();
        write::seal_all(self.db.engine()).unwrap();
    }

    /// Hands a flush to a thread, which does not run it.
    fn hold_a_flush(&self) {
        self.seal(1);
        assert!(self.db.run_jobs(SLICE_BYTES).unwrap());
        assert_eq!(self.threads.handed(), 1);
    }

    /// Makes a table of one key.
    fn flush(&self, key: u8) {
        self.seal(key);
        while self.db.run_jobs(SLICE_BYTES).unwrap() {
            self.threads.run();
        }
    }

    fn tree(&self) -> Arc<Tree> {
        let keyspaces = self.db.engine().keyspaces.load();
        keyspaces.get(&self.db.default_keyspace().id()).unwrap().tree()
    }

    /// Starts a compaction of each table into a run of its own.
    fn begin(&self, action: &Action) {
        let (engine, tree) = (self.db.engine(), self.tree());
        let first = engine.ids.next();
        let groups = tree.shape().tables().zip(first..).map(|((.., table), run)| {
            let destination = Destination { level: 1, run: RunId(run) };
            Group::new(vec![table.id], destination, action.clone())
        });
        let plan = Compaction::parallel(groups.collect(), "a test");
        let id = self.db.default_keyspace().id();
        schedule::begin(engine, &mut engine.state.lock(), id, plan, None, Observed::default());
    }

    /// Paces a write of `bytes` while memtables take `percent` of their memory. Each time that it serves the
    /// threads they report `works` of the bytes due. Returns the number of times.
    fn write(&self, percent: u64, bytes: u64, works: impl Fn(u64) -> u64) -> u64 {
        let (engine, threads) = (self.db.engine(), &self.threads);
        engine.memtables.set_sealed(1);
        let taken = engine.options.memtables_share() / 100 * percent;
        engine.memtables.set_all(taken);
        engine.counters.user_bytes.fetch_add(bytes, Ordering::Relaxed);
        threads.works.store(works(work_due(bytes, write::backpressure(engine))), Ordering::Relaxed);
        threads.served.store(0, Ordering::Relaxed);
        self.executor.pace(engine);
        threads.served.load(Ordering::Relaxed)
    }

    /// Returns the number of slowdowns by memory.
    fn slowdowns(&self) -> u64 {
        self.db.engine().counters.waits.stats().memory_slowdown.count
    }
}

/// Enough written bytes to pay at once.
const PAYS: u64 = 1 << 20;

#[test]
fn a_write_near_a_stall_waits_until_the_due_work_is_done() {
    let store = Store::new(1);
    store.hold_a_flush();
    store.write(0, PAYS, |_| 0);
    assert_eq!(store.write(80, PAYS, |due| due), 1);
    assert_eq!(store.write(90, PAYS, |due| due.div_ceil(3)), 3);
    assert_eq!(store.write(90, 0, |_| 0), 0, "it is paid for");
    assert_eq!((store.slowdowns(), &lock(&store.events)[..]), (2, &[(Stall::Memory, true)][..]));
    store.db.close().unwrap();
    assert_eq!(lock(&store.events)[..], [(Stall::Memory, true), (Stall::Memory, false)]);
}

#[test]
fn no_write_waits_or_pays_later_where_no_thread_has_a_job() {
    let store = Store::new(1);
    assert_eq!(store.write(80, PAYS, |_| 0), 0);
    assert_eq!((store.slowdowns(), lock(&store.events).len()), (0, 0));
    store.hold_a_flush();
    // More than it pays for, and less than both.
    assert_eq!(store.write(80, PAYS, |due| due + due / 2), 1);
    assert_eq!(store.slowdowns(), 1);
}

#[test]
fn a_slowdown_ends_far_from_the_limit_and_the_rest_is_forgiven() {
    let store = Store::new(1);
    store.hold_a_flush();
    store.write(0, PAYS, |_| 0);
    assert_eq!(store.write(80, PAYS, |due| due), 1);
    store.executor.shared.worked.fetch_add(1000, Ordering::Relaxed);
    assert_eq!(store.write(40, PAYS, |_| 0), 0);
    assert_eq!(lock(&store.events)[..], [(Stall::Memory, true), (Stall::Memory, false)]);
    // What threads did in the meantime is not left over.
    assert_eq!(store.write(80, PAYS, |due| due - 1), 2);
}

#[test]
fn a_slowdown_ends_when_threads_have_caught_up_without_a_write() {
    for is_done in [true, false] {
        let store = Store::new(1);
        store.hold_a_flush();
        store.write(0, PAYS, |_| 0);
        assert_eq!(store.write(80, PAYS, |due| due), 1);
        let _ = store.db.run_jobs(SLICE_BYTES).unwrap();
        assert_eq!(lock(&store.events)[..], [(Stall::Memory, true)], "it lasts");
        if is_done {
            store.threads.run();
        } else {
            store.db.engine().memtables.set_all(0);
        }
        let _ = store.db.run_jobs(SLICE_BYTES).unwrap();
        assert_eq!(lock(&store.events)[..], [(Stall::Memory, true), (Stall::Memory, false)]);
    }
}

#[test]
fn a_pool_runs_its_number_of_merges_and_a_flush_beside_them() {
    let store = Store::new(2);
    assert_eq!((store.executor.workers(), store.db.engine().background.workers()), (2, 2));
    (1..=3).for_each(|key| store.flush(key));
    store.begin(&Action::merge(u64::MAX));
    store.seal(4);
    store.seal(5);
    for handed in [3, 2] {
        assert!(store.db.run_jobs(SLICE_BYTES).unwrap());
        assert_eq!(store.threads.handed(), handed);
        store.threads.run();
    }
    while store.db.run_jobs(SLICE_BYTES).unwrap() {}
    let tree = store.tree();
    let runs: Vec<_> = tree.shape().levels().iter().map(|level| level.runs.len()).collect();
    assert_eq!(runs, [2, 3]);
}

#[test]
fn run_jobs_returns_whether_there_was_anything_to_do() {
    let store = Store::new(1);
    let run = || store.db.run_jobs(SLICE_BYTES).unwrap();
    assert!(!run());
    store.seal(1);
    assert!(run(), "a flush was handed out");
    assert!(!run(), "it is not done");
    store.threads.run();
    assert!(run(), "it takes effect");
    assert!(!run());
}

#[test]
fn the_owner_runs_trivial_moves_itself() {
    let store = Store::new(1);
    store.flush(1);
    store.begin(&Action::Move);
    while store.db.run_jobs(SLICE_BYTES).unwrap() {
        assert_eq!(store.threads.handed(), 0);
    }
    let tree = store.tree();
    let runs: Vec<_> = tree.shape().levels().iter().map(|level| level.runs.len()).collect();
    assert_eq!(runs, [0, 1]);
}

#[test]
fn a_write_hands_out_queued_jobs_and_the_clock_times_events() {
    let store = Store::new(1);
    store.seal(1);
    assert_eq!(store.threads.handed(), 0);
    store.db.default_keyspace().put("key", "value", Durability::Buffered).unwrap();
    assert_eq!(store.threads.handed(), 1);
    assert!(store.db.engine().jobs.events.micros() > 0);
}
