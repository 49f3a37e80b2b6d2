//! The engine: one store, opened.
//!
//! The engine spawns nothing, reads no clock and draws no random number. Its calls do their work on
//! the caller's thread; everything else is a *job* that a [executor](crate::executor) runs.
//!
//! * `open` - a store is created, or resumed; `recover` - its logs become memtables again;
//!   `quarantine` - what a crash left of the records that it took.
//! * `commit` - a group of batches: one log record, then the memtables, then it is visible.
//! * `seal` - which memtables close, so that memory and logs stay bounded.
//! * `logs` - which log files are live, which are spare, which retire; `log_sync` - what of them is
//!   durable.
//! * `edits` - edits are committed, one at a time.
//! * `install` - flushes and compactions take effect: one edit each.
//! * `job_memory` - the buffers of jobs, within the memory budget.
//! * `schedule` - which job is next; `planning` - what planners are told, and what becomes of their
//!   answers; `access_stats` - what is asked of a keyspace, counted for them; `backpressure` - how near
//!   writes are to a stall.
//! * `reading` - gets, scans and the snapshots they may be held to; `snapshot` is the handle.
//! * `keyspaces` - they come, go and change their policy.
//! * `ranges` - compactions and sizes of a range, on demand; `waiter` - waiting for these and for
//!   flushes, or looking in on them.
//! * `checkpoint` - the store in another storage.
//! * `check` and `stats` - what is there, and whether it is sound; `inspect` - the same of a store
//!   that is closed, and perhaps cannot be opened; `waits` - what writes wait for.
//! * `witness` - what logs say of a manifest that has lost its end.
//! * `repair` - what a store that cannot be opened still holds, as a new one.
//! * `handle` - [`Db`] and [`Keyspace`], which join an engine and a executor.
//!
//! **Locks**, in the order in which they are taken: `edits` (the right to commit an edit, held
//! over the storage's commit), `writer` (the log and the order of writes), then `state` (the version set,
//! queues, and every change of a view) or the turn of a log's sync. A write takes `writer` and, for
//! moments, `state`: nobody holds these over a sync (other than a synced write, over its own), an
//! edit's commit, the removal of a file, or planning. Readers take none: a view is an immutable value
//! behind an atomic pointer.

mod access_stats;
mod backpressure;
mod check;
mod checkpoint;
mod commit;
mod edit_lock;
mod group;
mod handle;
mod inspect;
mod install;
mod job_memory;
mod keyspaces;
mod log_sync;
mod logs;
mod open;
mod planning;
mod quarantine;
mod ranges;
mod reading;
mod recover;
#[cfg(not(target_arch = "wasm32"))]
mod repair;
mod schedule;
mod seal;
mod snapshot;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod waiter;
mod waits;
mod witness;

pub use backpressure::Backpressure;
pub use check::{Check, CheckReport};
pub use checkpoint::Checkpoint;
pub use handle::{Db, Keyspace};
pub use inspect::inspect;
pub use reading::Lookup;
#[cfg(not(target_arch = "wasm32"))]
pub use repair::{Salvaged, SalvagedFile, repair};
pub use schedule::JobFilter;
pub use snapshot::Snapshot;
pub use stats::{KeyspaceStats, LevelStats, Stats};
pub use waiter::Waiter;
pub use waits::{WaitStats, WriteWaits};

pub(crate) use job_memory::{JobMemory, Reservation};
pub(crate) use open::build_policy;
pub(crate) use state::SuperVersion;

use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::event::Event;
use crate::options::Options;
use crate::storage::{FileId, Storage};
use crate::sync::ArcSwap;
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::lock;
use crate::sync::{Mutex, MutexGuard};
use crate::table::{BlockCache, Table, TableFiles};
use crate::vec_map::VecMap;
use crate::version::{LiveTable, ObsoleteFiles};
use commit::Writer;
use log_sync::LogSync;
use state::{Keyspaces, State};
use stats::Counters;
use std::sync::Arc;
use terrane_policy::TableInfo;

/// One open store. Shared by its callers and its executor.
pub struct Engine {
    options: Options,
    storage: Arc<dyn Storage>,
    files: Arc<dyn TableFiles>,
    cache: Arc<BlockCache>,
    job_memory: Arc<JobMemory>,
    edit_lock: Mutex<()>,
    writer: Mutex<Writer>,
    log_sync: LogSync,
    state: Mutex<State>,
    keyspaces: ArcSwap<Keyspaces>,
    /// Every entry up to here is in a memtable or a table.
    visible: AtomicU64,
    /// The sequences that snapshots hold, with how many hold each.
    snapshots: Mutex<VecMap<Seq, usize>>,
    obsolete_files: Arc<ObsoleteFiles>,
    counters: Counters,
    /// Memory that all memtables take.
    memtable_bytes: AtomicU64,
    /// Those of it that sealed ones take, until their flush is installed.
    sealed_bytes: AtomicU64,
    /// Whether a job may be ready.
    work: Arc<AtomicBool>,
}

impl Engine {
    /// The options it was opened with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The place, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.storage.name()
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(crate) fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    pub(crate) fn job_memory(&self) -> &Arc<JobMemory> {
        &self.job_memory
    }

    /// The table that is known by `info`.
    pub(crate) fn table(&self, info: Arc<TableInfo>) -> Table {
        Table::new(info, self.files.clone(), self.cache.clone())
    }

    pub(crate) fn obsolete_files(&self) -> &Arc<ObsoleteFiles> {
        &self.obsolete_files
    }

    /// The tables of all keyspaces, held.
    fn live_tables(&self) -> Vec<Arc<LiveTable>> {
        let mut tables = Vec::new();
        for keyspace in self.keyspaces.load().values() {
            tables.extend(keyspace.super_version.load().tree.tables().cloned());
        }
        tables
    }

    /// Has a file removed that nothing needs any more.
    pub(crate) fn mark_obsolete(&self, file: FileId) {
        self.obsolete_files.mark_obsolete(file);
    }

    /// Whether a commit to the manifest failed, so that nobody knows what it holds.
    pub(crate) fn in_doubt(&self) -> bool {
        lock(&self.state).in_doubt.is_some()
    }

    /// Gives a file's room back.
    pub(crate) fn remove_file(&self, file: FileId) -> Result<()> {
        self.storage.remove(file)?;
        self.emit(|| Event::FileRemoved { file: file.to_string() });
        Ok(())
    }

    pub(crate) fn vacuum_storage(&self) -> Result<bool> {
        self.storage.vacuum()
    }

    /// Tells the listener, if there is one; the event is built for it alone.
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.options.listener {
            listener(&event());
        }
    }

    /// Makes every write durable and takes no more.
    ///
    /// # Errors
    /// A failing file system, or one that failed before, so that writes which were acknowledged are not
    /// known to be on it. The store is closed all the same.
    pub fn close(&self) -> Result<()> {
        // An edit that is under way ends first: another may open the store when this returns.
        let _edits = lock(&self.edit_lock);
        let mut writer = lock(&self.writer);
        lock(&self.state).closed = true;
        let synced = self.log_sync.sync(&writer.appended(self.log_sync.synced()));
        let ended = synced.and_then(|()| writer.end(self.log_sync.synced()));
        writer.log = None;
        self.storage.close();
        // Readers find nothing any more; scans under way keep what they hold.
        self.keyspaces.store(Arc::default());
        ended
    }

    /// Refuses to change a store that is only read.
    fn writable(&self) -> Result<()> {
        if self.storage.read_only() {
            return Err(Error::read_only("write to", &self.storage.name()));
        }
        Ok(())
    }

    /// Refuses calls on a closed store.
    fn open_state(&self) -> Result<MutexGuard<'_, State>> {
        let state = lock(&self.state);
        if state.closed { Err(Error::Closed(Closed::Store)) } else { Ok(state) }
    }
}
