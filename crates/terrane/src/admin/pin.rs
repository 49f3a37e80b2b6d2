//! A pin: the tables, logs and version set of the store at one moment, kept for copies of it.
//!
//! 1. Sync the logs. Then, while no edit and no write is under way, copy the version set and the lengths of the logs,
//!    and hold every table and log. This is the moment that the pin shows.
//! 2. While the pin exists, none of its tables is removed, and none of its log files recycled.

use crate::db::Db;
use crate::engine::{HeldLog, HeldLogs};
use crate::entry::Seq;
use crate::error::Result;
use crate::storage::FileId;
use crate::version::{LiveTable, LogRecord, VersionSet};
use crate::wal::LogId;
use std::sync::Arc;

/// The store at one moment.
pub(super) struct Pin {
    /// Tables.
    pub tables: Vec<Arc<LiveTable>>,
    /// Live logs, with their lengths at that moment.
    pub logs: HeldLogs,
    /// Version set of a copy: logs are in files named after their numbers, nothing is retained or quarantined, and the
    /// lineage is that of the copy's own id.
    pub version_set: VersionSet,
    /// Sequence number of the last batch.
    pub last: Seq,
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
        let mut version_set = state.version_set.clone();
        version_set.quarantine.clear();
        version_set.retained.clear();
        (version_set.lineage, version_set.feed_start) = (0, 0);
        let record = |HeldLog { id: LogId { number, salt }, .. }: &HeldLog| {
            let (number, salt) = (*number, *salt);
            LogRecord { number, file: number, salt, through: None }
        };
        version_set.logs = logs.logs.iter().map(record).collect();
        Ok(Pin { tables, logs, version_set, last: writer.last() })
    }

    /// Returns the files of a copy.
    pub fn files(&self) -> Vec<FileId> {
        let logs = self.version_set.logs.iter().map(|log| FileId::log(log.number));
        logs.chain(self.tables.iter().map(|live| FileId::table(live.table().info().id.0))).collect()
    }
}
