//! A machine: files that lose power, a store on them, and its backup.

use super::{Rows, Verdict, text};
use crate::progress::Progress;
use crate::time::CLOCK;
use crate::writer::Writer;
use std::path::Path;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::fault::Survivors;
use terrane::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use terrane::storage::{Directory, write_all_at};
use terrane::{Db, Options, Seq};
use terrane_workload::Random;

/// File operations within which a planned cut of power happens.
const SOON: u64 = 30;
/// Ids that a machine may draw for its stores.
const IDS: u64 = 100;
/// The keyspace that is dropped at times.
pub const EXTRA: &str = "extra";
const DEFAULT: &str = "default";

/// A process that backs up.
pub struct Process {
    pub writer: Writer,
    pub progress: Arc<Progress>,
    pub epoch: u64,
    /// The last batch that it is known to have acknowledged.
    pub acknowledged: Seq,
}

pub struct Machine {
    files: Arc<MemoryVfs>,
    vfs: FaultVfs,
    /// The operation at which power is cut.
    cut: Option<u64>,
    pub db: Option<Db>,
    pub process: Option<Process>,
    /// The newest claim that the store may follow.
    pub follows: u64,
    /// The marks of claims that the store tried to make, whose requests were under way when it gave up.
    pub tried: Vec<u64>,
    /// Whether the store has made the newest claim, and has not started since.
    pub is_successor: bool,
    /// Whether the store may lack acknowledged writes and start unasked: it was restored, and others were acknowledged
    /// since, or it is a copy that was written to, or that started a lineage.
    pub may_lack: bool,
    /// Whether the store is a copy that has not started yet.
    pub is_copy: bool,
    /// The lineage and the last batch in the history, and the rows after it.
    pub lineage: u64,
    pub noted: Seq,
    pub rows: Rows,
}

impl Machine {
    /// Returns a machine without a store; `number` is unique, and so are the ids of its stores.
    pub fn new(number: u64) -> Verdict<Self> {
        Machine::with(number, Vec::new())
    }

    /// Returns a machine with files.
    fn with(number: u64, files: Vec<(String, Vec<u8>)>) -> Verdict<Self> {
        let vfs = MemoryVfs::new();
        for _ in 0..number * IDS {
            vfs.draw_id().map_err(text)?;
        }
        for (name, bytes) in files {
            let file = vfs.create(&name).map_err(text)?;
            write_all_at(&*file, &bytes, 0).map_err(text)?;
            file.sync().map_err(text)?;
        }
        vfs.sync_names().map_err(text)?;
        Machine::on(Arc::new(vfs))
    }

    fn on(files: Arc<MemoryVfs>) -> Verdict<Self> {
        let vfs = FaultVfs::new(files.clone()).map_err(text)?;
        Ok(Machine {
            files,
            vfs,
            cut: None,
            db: None,
            process: None,
            follows: 0,
            tried: Vec::new(),
            is_successor: false,
            may_lack: false,
            is_copy: false,
            lineage: 0,
            noted: 0,
            rows: Rows::new(),
        })
    }

    /// Returns a machine with the files of a directory.
    pub fn of(number: u64, dir: &Path) -> Verdict<Self> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(text)?.flatten() {
            let bytes = std::fs::read(entry.path()).map_err(text)?;
            files.push((entry.file_name().to_string_lossy().into_owned(), bytes));
        }
        Machine::with(number, files)
    }

    /// Returns another machine with a copy of the files as they are now, whose process does not run.
    pub fn copy(&self, number: u64) -> Verdict<Self> {
        let mut files = Vec::new();
        for name in self.vfs.list().map_err(text)? {
            let file = self.vfs.open(&name).map_err(text)?;
            let mut bytes = vec![0; file.len().map_err(text)? as usize];
            terrane::storage::read_exact_at(&*file, &mut bytes, 0).map_err(text)?;
            files.push((name, bytes));
        }
        let mut copy = Machine::with(number, files)?;
        (copy.follows, copy.tried) = (self.follows, self.tried.clone());
        (copy.is_successor, copy.may_lack, copy.is_copy) = (self.is_successor, self.may_lack, true);
        Ok(copy)
    }

    /// Opens the store.
    pub fn open(&mut self) -> Verdict<Db> {
        let options = Options::small().memtable_bytes(2 << 10).wal_file_bytes(2 << 10);
        let storage = Directory::open(Arc::new(self.vfs.clone())).map_err(text)?;
        let executor = Arc::new(SliceExecutor::default());
        let options = options.feed_bytes(8 << 10).wall_clock(Arc::new(|| CLOCK.get()));
        let db = Db::open_storage(Arc::new(storage), options, executor);
        let db = db.map_err(text)?;
        self.db = Some(db.clone());
        Ok(db)
    }

    /// Cuts power soon, within an operation.
    pub fn plan_cut(&mut self, random: &mut Random) {
        let operation = self.vfs.operations() + random.below(SOON);
        self.cut = Some(operation);
        self.vfs.cut_at(operation);
    }

    /// Whether power was cut, or will be, so that the process has to be killed.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Ends the process, by a kill or by a cut of power.
    pub async fn kill(&mut self, random: &mut Random) -> Verdict {
        self.process = None;
        // Tasks that were aborted end, and with them their handles of the store.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
        let survivors = match random.below(3) {
            0 => Survivors::All,
            1 => Survivors::Synced,
            _ => Survivors::Random(random.word()),
        };
        if self.cut.take().is_none_or(|operation| self.vfs.operations() <= operation) {
            self.vfs.cut_at(self.vfs.operations());
        }
        self.db = None;
        self.vfs.crash(survivors).map_err(text)?;
        self.vfs = FaultVfs::new(self.files.clone()).map_err(text)?;
        Ok(())
    }
}

/// Returns the rows of a store.
pub fn shown(db: &Db) -> Verdict<Rows> {
    let mut rows = Rows::new();
    for name in [DEFAULT, EXTRA] {
        let Some(keyspace) = db.open_keyspace(name).map_err(text)? else { continue };
        for row in keyspace.scan(..).map_err(text)? {
            let (key, value) = row.map_err(text)?;
            rows.insert((name, key), value);
        }
    }
    Ok(rows)
}
