//! A machine: files that lose power, a store on them, and its backup.

use super::{Rows, Verdict, text};
use crate::progress::Progress;
use crate::writer::Writer;
use std::path::Path;
use std::sync::Arc;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::fault::Survivors;
use terrane::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use terrane::storage::{Directory, write_all_at};
use terrane::{Db, Options, Seq};
use terrane_workload::Random;

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
    pub db: Option<Db>,
    pub process: Option<Process>,
    /// The newest claim that the store may follow.
    pub follows: u64,
    /// Whether the store has made the newest claim, and has not started since.
    pub is_successor: bool,
    /// The last batch in the history.
    pub noted: Seq,
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
        let (db, process) = (None, None);
        Ok(Machine { files, vfs, db, process, follows: 0, is_successor: false, noted: 0 })
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

    /// Returns another machine with a copy of the files, whose process does not run.
    pub fn copy(&self, number: u64) -> Verdict<Self> {
        let mut files = Vec::new();
        for name in self.files.list().map_err(text)? {
            let file = self.files.open(&name).map_err(text)?;
            let mut bytes = vec![0; file.len().map_err(text)? as usize];
            terrane::storage::read_exact_at(&*file, &mut bytes, 0).map_err(text)?;
            files.push((name, bytes));
        }
        let mut copy = Machine::with(number, files)?;
        (copy.follows, copy.is_successor) = (self.follows, self.is_successor);
        Ok(copy)
    }

    /// Opens the store.
    pub fn open(&mut self) -> Verdict<Db> {
        let options = Options::small().memtable_bytes(2 << 10).wal_file_bytes(2 << 10);
        let storage = Directory::open(Arc::new(self.vfs.clone())).map_err(text)?;
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(Arc::new(storage), options.feed_bytes(8 << 10), executor);
        let db = db.map_err(text)?;
        self.db = Some(db.clone());
        Ok(db)
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
        self.vfs.cut_at(self.vfs.operations());
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
