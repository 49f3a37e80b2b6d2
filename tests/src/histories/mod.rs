//! Random histories of a store: everything that can happen to one, in one history, drawn from one seed.
//!
//! 1. A seed draws a storage, an executor, options and steps (`draw`): batches over several keyspaces, flushes,
//!    compactions, snapshots, keyspaces created and dropped, policies changed, checks and checkpoints of the store in
//!    use, operations that fail once or for a while.
//! 2. Between them the store is opened again (`restart`): after a close, a drop, the end of the process, or a
//!    power cut, and while power is cut or operations fail during recovery.
//! 3. After each opening it shows what it must (`model`), and a check of it is clean. When it is idle, it has the
//!    files that its manifest names, and no others.
//!
//! With the seeded executor a seed is one history; with threads it is one of many.

pub mod draw;
pub mod model;
mod restart;
mod steps;

use crate::fixtures::{Kind, Rig};
use model::{Model, Shown};
use std::sync::{Arc, Mutex, PoisonError};
use terrane::executor::{Executor, SeededExecutor, ThreadExecutor};
use terrane::storage::Storage;
use terrane::storage::vfs::fault::SECTORS;
use terrane::{Check, Db, Error, ErrorKind, Event, Options, Result, Snapshot, Waiter};
use terrane_workload::Random;

/// The storages, by seed.
pub const KINDS: [Kind; 4] =
    [Kind::MemoryDirectory, Kind::MappedDirectory, Kind::SingleVolume, Kind::MemoryVolume];

/// Steps of a history at most.
const STEPS_MAX: u64 = 120;

/// Counts of events in histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Histories.
    pub histories: u64,
    /// Steps.
    pub steps: u64,
    /// Openings after the first.
    pub openings: u64,
    /// Power cuts.
    pub cuts: u64,
    /// Openings that were cut or failed.
    pub hampered: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Comparisons of the files with the manifest.
    pub compared: u64,
}

impl Counts {
    /// Adds the counts of other histories.
    pub fn add(&mut self, other: Counts) {
        self.histories += other.histories;
        self.steps += other.steps;
        self.openings += other.openings;
        self.cuts += other.cuts;
        self.hampered += other.hampered;
        self.failures += other.failures;
        self.compared += other.compared;
    }
}

/// One history.
pub struct Run {
    random: Random,
    rig: Rig,
    /// Threads for merges; 0 for the seeded executor.
    threads: usize,
    options: Options,
    storage: Option<Arc<dyn Storage>>,
    db: Option<Db>,
    model: Model,
    snapshots: Vec<(Snapshot, Shown)>,
    check: Option<Check>,
    waiters: Vec<Waiter>,
    /// Operations may have failed, or power may have been cut, since the store was opened.
    troubled: bool,
    /// A sync may have failed and taken what was written before it, since the store was opened.
    reverted: bool,
    /// Steps until the file system works again.
    heals_in: u64,
    /// Counts of its events.
    pub counts: Counts,
    /// The steps so far and, if they are listened to, events of the store, for whoever looks for a cause.
    pub log: Arc<Mutex<Vec<String>>>,
    listens: bool,
}

type Verdict<T = ()> = std::result::Result<T, String>;

impl Run {
    /// Returns the history of a seed, before its first step.
    #[must_use]
    pub fn new(seed: u64) -> Run {
        let mut random = Random(seed ^ 0x1157_0215);
        let kind = KINDS[(seed % 4) as usize];
        // The seeds of each storage: half with threads.
        let threads = if (seed / 4).is_multiple_of(2) { 0 } else { 1 + random.below(3) as usize };
        let rig = Rig::new(kind);
        rig.vfs.set_sector(SECTORS[random.below(3) as usize]);
        Run {
            options: draw::options(&mut random),
            random,
            rig,
            threads,
            storage: None,
            db: None,
            model: Model::default(),
            snapshots: Vec::new(),
            check: None,
            waiters: Vec::new(),
            troubled: false,
            reverted: false,
            heals_in: 0,
            counts: Counts { histories: 1, ..Counts::default() },
            log: Arc::default(),
            listens: false,
        }
    }

    /// Plays the history.
    ///
    /// # Errors
    /// A description of a broken promise of the store.
    pub fn play(&mut self) -> Verdict {
        let opened = self.open();
        opened.map_err(|e| format!("creating: {e}"))?;
        for _ in 0..20 + self.random.below(STEPS_MAX - 20) {
            self.counts.steps += 1;
            self.step()?;
        }
        self.restart()?;
        self.heal();
        self.settle()?;
        self.look()?;
        self.restart()?;
        self.look()
    }

    /// Adds the store's events to the log.
    pub fn listen(&mut self) {
        self.listens = true;
    }

    /// Opens the store.
    fn open(&mut self) -> Result<()> {
        let storage = self.rig.storage()?;
        let executor: Arc<dyn Executor> = match self.threads {
            0 => Arc::new(SeededExecutor::new(self.random.word())),
            threads => Arc::new(ThreadExecutor::new(threads)),
        };
        let mut options = self.options.clone();
        if self.listens {
            let log = self.log.clone();
            options.listener = Some(Arc::new(move |_, event: &Event| {
                log.lock().unwrap_or_else(PoisonError::into_inner).push(format!("    {event:?}"));
            }));
        }
        let db = Db::open_storage(storage.clone(), options, executor)?;
        self.storage = Some(storage);
        self.db = Some(db);
        Ok(())
    }

    fn db(&self) -> Db {
        self.db.clone().expect("the store is open")
    }

    fn note(&mut self, what: impl Into<String>) {
        let what = what.into();
        let operation = self.rig.vfs.operations();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(format!("{operation}: {what}"));
    }

    /// Returns the value of a call, or `None` after an error that is allowed because operations may have failed.
    fn allow<T>(&mut self, what: &str, done: Result<T>) -> Verdict<Option<T>> {
        match done {
            Ok(value) => Ok(Some(value)),
            Err(e) if self.troubled && is_of_a_vfs(&e) => {
                self.counts.failures += 1;
                self.note(format!("{what}: {e}"));
                Ok(None)
            }
            Err(e) => Err(format!("{what}: {e}")),
        }
    }

    /// Lets all operations succeed from now on.
    fn heal(&mut self) {
        self.rig.vfs.heal();
        self.heals_in = 0;
    }
}

/// Whether an error is one that a failing file system explains.
fn is_of_a_vfs(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Poisoned(cause) => is_of_a_vfs(cause),
        ErrorKind::Io(_) | ErrorKind::NoSpace(_) | ErrorKind::Short(_) => true,
        other => matches!(other, ErrorKind::Stalled(_)),
    }
}

/// Returns everything that a store shows.
///
/// # Errors
/// Those of reading.
pub fn shown(db: &Db) -> Result<Shown> {
    let mut shown = Shown::new();
    for name in db.keyspaces() {
        let rows = db.create_keyspace(&name)?.scan(..)?.collect::<Result<_>>()?;
        shown.insert(name, rows);
    }
    Ok(shown)
}
