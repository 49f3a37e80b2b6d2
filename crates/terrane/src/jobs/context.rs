//! Resources of jobs.

use super::JobMemory;
use crate::error::{Closed, Result};
use crate::event::{Event, EventStream};
use crate::options::Options;
use crate::storage::{File, FileId, Storage};
use crate::table::{BlockCache, Table, TableFiles, TableOptions};
use crate::version::{Ids, LiveTable, ObsoleteFile, ObsoleteFiles};
use std::sync::{Arc, Weak};
use terrane_policy::{TableId, TableInfo};

/// All that jobs need of a store. They know nothing of the engine, which hands them out and installs
/// their outcomes.
pub(crate) struct JobContext {
    pub storage: Arc<dyn Storage>,
    files: Arc<dyn TableFiles>,
    pub cache: Arc<BlockCache>,
    pub memory: Arc<JobMemory>,
    pub obsolete_files: Arc<ObsoleteFiles>,
    pub ids: Arc<Ids>,
    /// Options of new tables.
    pub table: TableOptions,
    pub events: EventStream,
}

impl JobContext {
    pub fn new(
        storage: Arc<dyn Storage>,
        obsolete_files: Arc<ObsoleteFiles>,
        ids: Arc<Ids>,
        options: &Arc<Options>,
    ) -> Arc<Self> {
        let files = Arc::new(Files(Arc::downgrade(&storage)));
        let cache = Arc::new(BlockCache::new(options.cache_share(0)));
        let memory = JobMemory::new(options.clone(), cache.clone());
        let (table, events) = (options.table, EventStream::new(options.listener.clone()));
        Arc::new(JobContext { storage, files, cache, memory, obsolete_files, ids, table, events })
    }

    /// The live table that is known by `info`.
    pub fn live_table(&self, info: Arc<TableInfo>) -> Arc<LiveTable> {
        let table = Table::new(info, self.files.clone(), self.cache.clone());
        LiveTable::new(table, self.obsolete_files.clone(), self.storage.clone())
    }

    /// Removes a file that nothing holds.
    pub fn remove(&self, file: &mut ObsoleteFile) -> Result<()> {
        let file = file.clear(&self.cache);
        self.storage.remove(file)?;
        self.events.emit(|| Event::FileRemoved { file: file.to_string() });
        Ok(())
    }

    /// Marks a file that nothing needs for removal.
    pub fn mark_obsolete(&self, file: FileId) {
        self.obsolete_files.mark_obsolete(file);
    }
}

/// The tables of a storage, which the [`LiveTable`]s keep.
struct Files(Weak<dyn Storage>);

impl TableFiles for Files {
    fn open(&self, table: TableId) -> Result<Arc<dyn File>> {
        self.0.upgrade().ok_or(Closed::Store)?.open(FileId::table(table.0))
    }
}
