//! Threads that the store's owner lends: they run flushes and merges, and the owner runs the rest.
//!
//! 1. Only the owner looks for jobs and has their outcomes take effect: threads work, and what they need
//!    of the owner they ask for, such as access to files that are its own.
//! 2. One flush runs at a time, and has a place of its own: it never waits behind a merge.
//! 3. The owner waits for threads only in calls that must, such as a write that stalls, or closing: then
//!    it serves them meanwhile.
//! 4. Writes are paced as without threads, by what the threads have done: a write waits until they have
//!    done what it pays for, if they have not since the last one.

use super::{Executor, no_relief};
use crate::engine::Engine;
use crate::error::Result;
use crate::jobs::Progress;
use crate::schedule::{Job, JobFilter};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};
use crate::write::Throttle;
use std::sync::Arc;

/// Bytes of a thread's slice, between which it looks whether it must stop.
const SLICE_BYTES: u64 = 256 << 10;
/// The most that writes are spared for what threads did before, in bytes.
const CREDIT_MAX: u64 = 4 << 20;

/// What a [`PoolExecutor`] needs of its threads, and of the owner.
pub trait JobThreads: Send + Sync {
    /// Runs a job on a thread; there is one for each job at a time.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>);

    /// Called by threads: the owner has something to do.
    fn notify(&self);

    /// Called by the owner: does what threads have asked for, or waits until they ask or notify; at most
    /// for moments.
    fn serve(&self);
}

/// Runs flushes and merges on threads, for an owner that looks after the store between its own work.
pub struct PoolExecutor {
    shared: Arc<Shared>,
    merges_max: usize,
    state: Mutex<State>,
    clock: fn() -> u64,
}

struct Shared {
    threads: Box<dyn JobThreads>,
    /// Jobs that threads are done with.
    ended: Mutex<Vec<Job>>,
    /// Bytes that threads have worked for, about.
    worked: AtomicU64,
    /// Whether a write waits for that.
    paced: AtomicBool,
    stopping: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Jobs that threads have.
    flushes: usize,
    merges: usize,
    /// What the owner runs itself, a slice of each in turn.
    own: Vec<Job>,
    /// Whether anything was done since the owner last had background work run.
    progress: bool,
    throttle: Throttle,
    /// Of what threads have worked for, how much writes have paid for.
    paid: u64,
}

impl Shared {
    /// Runs a job to its end but for what the owner does.
    fn run(&self, mut job: Job) {
        while !self.stopping.load(Ordering::Acquire) {
            let progress = job.work_for(SLICE_BYTES);
            self.worked.fetch_add(SLICE_BYTES, Ordering::AcqRel);
            if progress == Progress::Done {
                break;
            }
            if self.paced.load(Ordering::Acquire) {
                self.threads.notify();
            }
        }
        lock(&self.ended).push(job);
        self.threads.notify();
    }
}

impl PoolExecutor {
    /// An executor that runs up to `merges_max` merges at once and besides them a flush, on as many
    /// threads. The clock shows microseconds since any moment, the same on all of them.
    #[must_use]
    pub fn new(merges_max: usize, threads: Box<dyn JobThreads>, clock: fn() -> u64) -> Self {
        let shared = Shared {
            threads,
            ended: Mutex::default(),
            worked: AtomicU64::new(0),
            paced: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        };
        let (shared, state) = (Arc::new(shared), Mutex::default());
        PoolExecutor { shared, merges_max: merges_max.max(1), state, clock }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Takes what threads are done with, in whatever way.
    fn take_ended(&self, state: &mut State) -> Vec<Job> {
        let ended = std::mem::take(&mut *lock(&self.shared.ended));
        for job in &ended {
            *(if job.is_flush() { &mut state.flushes } else { &mut state.merges }) -= 1;
        }
        ended
    }

    /// Has what threads are done with take effect, and runs a slice of what is not for them; then hands
    /// out what there is. Returns whether there was anything to do.
    fn advance(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        let mut state = self.state();
        let ended = self.take_ended(&mut state);
        let mut progress = !ended.is_empty();
        // All of them, and the places are handed out again, whichever fails.
        let mut failed = Ok(Progress::Done);
        for mut job in ended {
            failed = failed.and(job.run_for(bytes));
        }
        for mut job in std::mem::take(&mut state.own) {
            progress = true;
            let ran = job.run_for(bytes);
            if matches!(ran, Ok(Progress::More)) {
                state.own.push(job);
            }
            failed = failed.and(ran);
        }
        progress |= self.hand_out(&mut state, engine);
        state.progress |= progress;
        failed.map(|_| progress)
    }

    /// Looks for jobs while there are places; returns whether it found any.
    fn hand_out(&self, state: &mut State, engine: &Arc<Engine>) -> bool {
        let mut found = false;
        engine.search_begins();
        if state.flushes == 0
            && let Some(job) = engine.next_job(JobFilter::Flush)
        {
            found = true;
            state.flushes += 1;
            self.spawn(job);
        }
        if state.own.is_empty() {
            state.own.extend(engine.next_job(JobFilter::Removal));
        }
        while state.merges < self.merges_max {
            let Some(job) = engine.next_job(JobFilter::Other) else { break };
            found = true;
            if job.is_for_threads() {
                state.merges += 1;
                self.spawn(job);
            } else {
                // One a turn, which runs it.
                state.own.push(job);
                break;
            }
        }
        found || !state.own.is_empty()
    }

    fn spawn(&self, job: Job) {
        let shared = self.shared.clone();
        self.shared.threads.spawn(Box::new(move || shared.run(job)));
    }

    /// Whether a thread has a job.
    fn is_busy(&self) -> bool {
        let state = self.state();
        state.flushes + state.merges > 0
    }

    /// Waits until threads have worked for what a write pays for.
    fn pace(&self, engine: &Arc<Engine>) {
        let mut state = self.state();
        let due = state.throttle.due(engine);
        let worked = || self.shared.worked.load(Ordering::Acquire);
        state.paid = state.paid.max(worked().saturating_sub(CREDIT_MAX)) + due;
        let goal = state.paid;
        drop(state);
        if due == 0 {
            return;
        }
        self.shared.paced.store(true, Ordering::Release);
        while worked() < goal && self.is_busy() {
            self.shared.threads.serve();
            // The engine keeps the error, and the next write that stalls returns it.
            let _ = self.advance(engine, due);
        }
        self.shared.paced.store(false, Ordering::Release);
    }
}

impl Executor for PoolExecutor {
    fn workers(&self) -> usize {
        self.merges_max
    }

    fn start(&self, engine: &Arc<Engine>) {
        engine.set_clock(self.clock);
    }

    fn wake(&self, engine: &Arc<Engine>) {
        if engine.work_waits() {
            let _ = self.advance(engine, SLICE_BYTES);
        }
        self.pace(engine);
    }

    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        while !self.advance(engine, SLICE_BYTES)? {
            if !self.is_busy() {
                return Err(no_relief(engine));
            }
            self.shared.threads.serve();
        }
        Ok(())
    }

    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        while !done(engine) {
            if !self.advance(engine, SLICE_BYTES)? {
                if !self.is_busy() {
                    break;
                }
                self.shared.threads.serve();
            }
        }
        engine.failure().map_or(Ok(()), Err)
    }

    fn run(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        let advanced = self.advance(engine, bytes);
        let progress = std::mem::take(&mut self.state().progress);
        advanced.map(|_| progress)
    }

    fn stop(&self, _engine: &Arc<Engine>) {
        self.shared.stopping.store(true, Ordering::Release);
        while self.is_busy() {
            self.shared.threads.serve();
            let ended = self.take_ended(&mut self.state());
            drop(ended);
        }
        let own = std::mem::take(&mut self.state().own);
        drop(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::storage::volume::{Volume, VolumeOptions};
    use crate::storage::{File, StoreId};
    use crate::{Db, Durability, Options};
    use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    /// A call that the owner makes for a thread.
    type Call = Box<dyn FnOnce() + Send>;

    /// Threads of which only the owner may use the files: the others ask it to.
    struct Asking {
        owner: ThreadId,
        asked: SyncSender<Option<Call>>,
        asks: Mutex<Receiver<Option<Call>>>,
        /// Jobs that threads were given, and calls that the owner made for them.
        jobs: AtomicU64,
        calls: AtomicU64,
    }

    impl Asking {
        fn new() -> Arc<Self> {
            let (asked, asks) = sync_channel(1000);
            let (jobs, calls) = Default::default();
            let owner = thread::current().id();
            Arc::new(Asking { owner, asked, asks: Mutex::new(asks), jobs, calls })
        }

        /// Has the owner make a call.
        fn call<T: Send + 'static>(&self, call: impl FnOnce() -> T + Send + 'static) -> T {
            if thread::current().id() == self.owner {
                return call();
            }
            let (done, result) = channel();
            self.asked.send(Some(Box::new(move || done.send(call()).unwrap()))).unwrap();
            result.recv().unwrap()
        }
    }

    impl JobThreads for Arc<Asking> {
        fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
            self.jobs.fetch_add(1, Ordering::Relaxed);
            thread::spawn(job);
        }
        fn notify(&self) {
            let _ = self.asked.try_send(None);
        }
        fn serve(&self) {
            assert_eq!(thread::current().id(), self.owner);
            let asked = lock(&self.asks).recv_timeout(Duration::from_millis(1));
            if let Ok(Some(call)) = asked {
                self.calls.fetch_add(1, Ordering::Relaxed);
                call();
            }
        }
    }

    /// A file of the owner's.
    struct Owned(Arc<dyn File>, Arc<Asking>);

    impl File for Owned {
        fn name(&self) -> &str {
            self.0.name()
        }
        fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
            let (file, len) = (self.0.clone(), buf.len());
            let (read, bytes) = self.1.call(move || {
                let mut bytes = vec![0; len];
                (file.read_at(&mut bytes, offset), bytes)
            });
            buf.copy_from_slice(&bytes);
            read
        }
        fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
            let (file, bytes) = (self.0.clone(), buf.to_vec());
            self.1.call(move || file.write_at(&bytes, offset))
        }
        fn sync(&self) -> Result<()> {
            let file = self.0.clone();
            self.1.call(move || file.sync())
        }
        fn set_len(&self, len: u64) -> Result<()> {
            let file = self.0.clone();
            self.1.call(move || file.set_len(len))
        }
        fn len(&self) -> Result<u64> {
            let file = self.0.clone();
            self.1.call(move || file.len())
        }
    }

    thread_local! {
        static ASKING: std::cell::RefCell<Option<Arc<Asking>>> = const { std::cell::RefCell::new(None) };
    }

    /// A store in files of this thread's, small enough that it merges often.
    fn open() -> (Db, Arc<Asking>, Arc<PoolExecutor>) {
        let asking = Asking::new();
        ASKING.set(Some(asking.clone()));
        terrane_table::sync::serving::while_locking(|| {
            ASKING.with_borrow(|asking| asking.as_ref().unwrap().serve());
        });
        let vfs = MemoryVfs::new();
        let backings = ["manifest", "log", "data"].map(|name| {
            let file: Arc<dyn File> = Arc::new(Owned(vfs.create(name).unwrap(), asking.clone()));
            file
        });
        let new_id = StoreId::new([7; StoreId::BYTES]);
        let options = VolumeOptions { new_id, ..VolumeOptions::default() };
        let volume = Arc::new(Volume::open(backings.into(), options).unwrap());
        let executor = Arc::new(PoolExecutor::new(2, Box::new(asking.clone()), || 0));
        let options = Options { memtable_bytes: 16 << 10, ..Options::small() };
        let db = Db::open_storage(volume, options, executor.clone()).unwrap();
        (db, asking, executor)
    }

    /// Writes enough that there are merges, over keys that repeat.
    fn load(db: &Db) {
        let rows = db.default_keyspace();
        for n in 0..6_000u32 {
            let key = (n.wrapping_mul(7919) % 2_000).to_be_bytes();
            rows.put(key, [n.to_be_bytes(); 10].concat(), Durability::Buffered).unwrap();
        }
    }

    #[test]
    fn threads_flush_and_merge_and_have_the_owner_use_its_files() {
        let (db, asking, _) = open();
        load(&db);
        db.wait_until_idle().unwrap();
        let stats = db.stats().unwrap();
        assert!(stats.merge_written_bytes > 0 && stats.keyspaces[0].memtables_sealed == 0);
        let counts = [&asking.jobs, &asking.calls].map(|count| count.load(Ordering::Relaxed));
        assert!(counts[0] > 10 && counts[1] > counts[0], "{counts:?}");
        let last = |key: u32| (0..6_000).rfind(|n: &u32| n.wrapping_mul(7919) % 2_000 == key);
        for entry in db.default_keyspace().scan(..).unwrap() {
            let (key, value) = entry.unwrap();
            let n = last(u32::from_be_bytes(key.try_into().unwrap())).unwrap();
            assert_eq!(value, [n.to_be_bytes(); 10].concat());
        }
        let mut check = db.begin_check().unwrap();
        let report = loop {
            if let Some(report) = check.step(1 << 20).unwrap() {
                break report;
            }
        };
        assert!(report.damage.is_empty() && report.entries >= 2_000);
    }

    #[test]
    fn closing_abandons_what_threads_are_at() {
        let (db, asking, executor) = open();
        load(&db);
        assert!(asking.jobs.load(Ordering::Relaxed) > 0);
        db.close().unwrap();
        assert!(!executor.is_busy() && lock(&executor.shared.ended).is_empty());
    }
}
