//! The pool with threads that ask the owner for what they read and write, as those of a browser do; and with
//! threads that the test runs by hand (`manual`).

mod manual;

use super::*;
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::storage::volume::{Volume, VolumeOptions};
use crate::storage::{File, StoreId};
use crate::{Db, Durability, Event, Options};
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

    /// Makes a call on the owner's thread.
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
    fn thread(&self) -> usize {
        1
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

/// A moment later whenever it is looked at.
fn clock() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(0);
    NOW.fetch_add(1, Ordering::Relaxed)
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
    let executor = Arc::new(PoolExecutor::new(2, Box::new(asking.clone()), clock));
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
fn jobs_are_counted_by_kind_and_thread_and_slowdowns_by_reason() {
    let (db, asking, _) = open();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = told.clone();
    db.set_listener(Some(Arc::new(move |_, event: &Event| match event {
        Event::SlowdownBegun { reason } => lock(&hears).push((*reason, true)),
        Event::SlowdownEnded { reason, .. } => lock(&hears).push((*reason, false)),
        _ => {}
    })));
    load(&db);
    db.wait_until_idle().unwrap();
    let stats = db.stats().unwrap();
    let BackgroundStats { elapsed_micros, busy_micros, flushes, merges, .. } = stats.background;
    let jobs = asking.jobs.load(Ordering::Relaxed);
    assert_eq!((flushes.ended + merges.ended, flushes.running + merges.running), (jobs, 0));
    assert!(flushes.ended > 0 && merges.ended > 0);
    let busy = flushes.busy_micros + merges.busy_micros;
    assert_eq!(busy_micros, [0, busy, 0]);
    assert!((1..=3 * elapsed_micros).contains(&busy), "three threads at most");
    assert_eq!(flushes.written_bytes, stats.flushed_bytes);
    assert_eq!(merges.written_bytes, stats.merge_written_bytes);
    // Each slowdown was reported, and ended before the next started or the store was closed.
    let slowed: u64 = stats
        .waits
        .by_reason()
        .iter()
        .map(|(name, waits)| if name.ends_with("slowdown") { waits.count } else { 0 })
        .sum();
    db.close().unwrap();
    let told = lock(&told);
    assert_eq!(slowed > 0, !told.is_empty());
    assert!(slowed as usize * 2 >= told.len());
    for pair in told.chunks(2) {
        assert_eq!(pair, [(pair[0].0, true), (pair[0].0, false)]);
    }
}

#[test]
fn closing_abandons_what_threads_are_at() {
    let (db, asking, executor) = open();
    load(&db);
    assert!(asking.jobs.load(Ordering::Relaxed) > 0);
    db.close().unwrap();
    assert!(!executor.is_busy() && lock(&executor.shared.ended).is_empty());
}
