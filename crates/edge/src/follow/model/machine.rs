//! A machine: files that lose power, and a store on them while its process runs.

use super::Verdict;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::fault::Survivors;
use terrane::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use terrane::{Db, Options, Result};
use terrane_workload::Random;

/// File operations within which a planned cut of power happens.
const SOON: u64 = 30;

/// Ids that a machine may draw for its stores, also for those whose creation power cuts.
const IDS: u64 = 100;

/// Returns options by which a few batches fill a log, and some logs are retained.
pub fn options() -> Options {
    Options::small().memtable_bytes(2 << 10).wal_file_bytes(2 << 10).feed_bytes(8 << 10)
}

/// A machine.
pub struct Machine {
    files: Arc<MemoryVfs>,
    vfs: FaultVfs,
    /// The operation at which power is cut.
    cut: Option<u64>,
    db: Option<Db>,
}

impl Machine {
    /// Returns a machine without a store; `number` is unique, and so are the ids of stores that it creates.
    pub fn new(number: u64) -> Verdict<Self> {
        let files = MemoryVfs::new();
        for _ in 0..number * IDS {
            files.draw_id().map_err(|e| e.to_string())?;
        }
        Machine::on(Arc::new(files))
    }

    fn on(files: Arc<MemoryVfs>) -> Verdict<Self> {
        let vfs = FaultVfs::new(files.clone()).map_err(|e| e.to_string())?;
        Ok(Machine { files, vfs, cut: None, db: None })
    }

    /// Returns the store, if its process runs.
    pub fn db(&self) -> Option<&Db> {
        self.db.as_ref()
    }

    /// Starts the process, which power may cut while it opens the store.
    pub fn start(&mut self) -> Verdict {
        let open = || {
            let storage = Arc::new(Directory::open(Arc::new(self.vfs.clone()))?);
            Db::open_storage(storage, options(), Arc::new(SliceExecutor::default()))
        };
        let opened = open();
        self.db = self.checked(opened)?;
        Ok(())
    }

    /// Returns another machine with a copy of the store as it is now.
    pub fn copy(&self, number: u64) -> Verdict<Option<Machine>> {
        let files = Machine::new(number)?.files;
        let copied = self.run(|db| db.checkpoint(&Directory::open(files.clone())?))?;
        copied.map(|()| Machine::on(files)).transpose()
    }

    /// Runs a call of the store; `None` if the process is dead, or dies by a cut of power.
    pub fn run<T>(&self, call: impl FnOnce(&Db) -> Result<T>) -> Verdict<Option<T>> {
        match &self.db {
            Some(db) => self.checked(call(db)),
            None => Ok(None),
        }
    }

    /// Returns the result of a call, or `None` if power was cut meanwhile.
    pub fn checked<T>(&self, result: Result<T>) -> Verdict<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(_) if self.is_cut() => Ok(None),
            Err(e) => Err(format!("a call failed: {e}")),
        }
    }

    /// Whether power was cut, so that the process has to be killed.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some_and(|operation| self.vfs.operations() > operation)
    }

    /// Cuts power soon, within an operation.
    pub fn plan_cut(&mut self, random: &mut Random) {
        let operation = self.vfs.operations() + random.below(SOON);
        self.cut = Some(operation);
        self.vfs.cut_at(operation);
    }

    /// Ends the process, by a kill or by a cut of power. Nobody else may have a handle of its store.
    pub fn kill(&mut self, random: &mut Random) -> Verdict {
        let survivors = match random.below(3) {
            // A kill: the system has all writes.
            0 => Survivors::All,
            1 => Survivors::Synced,
            _ => Survivors::Random(random.word()),
        };
        if !self.is_cut() {
            self.vfs.cut_at(self.vfs.operations());
        }
        self.db = None;
        self.vfs.crash(survivors).map_err(|e| e.to_string())?;
        *self = Machine::on(self.files.clone())?;
        Ok(())
    }
}
