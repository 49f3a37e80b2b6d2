//! A pin: the tables, logs and version set of the store at one moment, kept for copies of it.
//!
//! 1. Sync the logs. Then, while no edit and no write is under way, copy the version set and the lengths of the logs,
//!    and hold every table and log. This is the moment that the pin shows.
//! 2. While the pin exists, none of its tables is removed, and none of its log files recycled.
//! 3. A backup copies the tables, and from the change feed the batches from [`Pin::start`] on, which the tables may
//!    lack. The copy is one of a moment from [`Pin::last`] on, since the tables may have batches up to it.

use super::version_set_copy::VersionSetCopy;
use crate::db::Db;
use crate::engine::{HeldLog, HeldLogs};
use crate::entry::Seq;
use crate::error::Result;
use crate::feed::{self, Lineage};
use crate::storage::{File, FileId, Storage};
use crate::table::TableCheck;
use crate::version::{LiveTable, LogRecord, VersionSet};
use crate::wal::LogId;
use std::sync::Arc;

/// Bytes of a table verified in a step.
const CHECK_BYTES: u64 = 1 << 20;

/// The store at one moment.
pub struct Pin {
    /// Tables.
    pub(super) tables: Vec<Arc<LiveTable>>,
    /// Live logs, with their lengths at that moment.
    pub(super) logs: HeldLogs,
    /// Version set of a copy: logs are in files named after their numbers, nothing is retained or quarantined, and the
    /// lineage is that of the copy's own id.
    pub(super) version_set: VersionSet,
    /// Sequence number of the last batch.
    pub(super) last: Seq,
    lineage: Lineage,
    start: Seq,
    storage: Arc<dyn Storage>,
}

/// A table of a pin.
pub struct PinnedTable {
    live: Arc<LiveTable>,
    storage: Arc<dyn Storage>,
}

impl Pin {
    /// Pins the store as it is now.
    ///
    /// # Errors
    /// A closed store, an I/O error.
    pub fn take(db: &Db) -> Result<Pin> {
        let engine = db.engine();
        engine.sync()?;
        let _edits = engine.state.lock_edits()?;
        let writer = engine.log.writer();
        let state = engine.state.lock();
        let tables = engine.keyspaces.live_tables();
        let logs = state.logs.hold(writer.held());
        let unflushed = state.flushes.first_seqs(&engine.keyspaces.load(), None);
        let mut version_set = state.version_set.clone();
        version_set.quarantine.clear();
        version_set.retained.clear();
        (version_set.lineage, version_set.feed_start) = (0, 0);
        let record = |HeldLog { id: LogId { number, salt }, .. }: &HeldLog| {
            let (number, salt) = (*number, *salt);
            LogRecord { number, file: number, salt, through: None }
        };
        version_set.logs = logs.logs.iter().map(record).collect();
        let last = writer.last();
        Ok(Pin {
            tables,
            logs,
            version_set,
            last,
            lineage: feed::lineage(engine, &state),
            start: unflushed.into_iter().min().unwrap_or(last + 1),
            storage: engine.storage.clone(),
        })
    }

    /// Returns the lineage of the store's change feed.
    #[must_use]
    pub fn lineage(&self) -> Lineage {
        self.lineage
    }

    /// Returns the sequence number of the first batch that the tables may lack.
    #[must_use]
    pub fn start(&self) -> Seq {
        self.start
    }

    /// Returns the sequence number of the last batch that the tables may have.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.last
    }

    /// Returns the version set of a copy whose log starts with [`Pin::start`].
    #[must_use]
    pub fn version_set(&self) -> VersionSetCopy {
        let logs = Vec::new();
        let version_set = VersionSet { logs, log_start: self.start, ..self.version_set.clone() };
        VersionSetCopy::new(version_set, self.lineage)
    }

    /// Returns the tables.
    pub fn tables(&self) -> impl Iterator<Item = PinnedTable> {
        let pinned = |live: &Arc<LiveTable>| PinnedTable {
            live: live.clone(),
            storage: self.storage.clone(),
        };
        self.tables.iter().map(pinned)
    }

    /// Returns the files of a copy.
    pub fn files(&self) -> Vec<FileId> {
        let logs = self.version_set.logs.iter().map(|log| FileId::log(log.number));
        logs.chain(self.tables.iter().map(|live| FileId::table(live.table().info().id.0))).collect()
    }
}

impl PinnedTable {
    /// Returns the table's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.live.table().info().id.0
    }

    /// Returns the length of its file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.live.table().info().bytes
    }

    /// Verifies all of the table, so that damage is not copied.
    ///
    /// # Errors
    /// Damage, or an I/O error.
    pub fn verify(&self) -> Result<()> {
        let mut check = TableCheck::begin(self.live.table().clone());
        while check.step(CHECK_BYTES) {}
        check.into_found()?.into_iter().next().map_or(Ok(()), |damage| Err(damage.into()))
    }

    /// Opens the table's file.
    ///
    /// # Errors
    /// An I/O error.
    pub fn open(&self) -> Result<Arc<dyn File>> {
        self.storage.open(FileId::table(self.number()))
    }
}
