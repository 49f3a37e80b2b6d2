//! A pin: everything that the store is made of at one moment, kept for whoever copies it.
//!
//! 1. Sync the logs. Then, while no edit and no write is under way, note how far the logs go and what the version set
//!    says, and hold every table and log. This is the moment that the pin shows.
//! 2. As long as it lives, no table of it is removed, and no log file recycled.

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
    /// Its tables.
    pub tables: Vec<Arc<LiveTable>>,
    /// Its live logs, as far as they went.
    pub logs: HeldLogs,
    /// Its version set, as a copy has it: with logs in files named after their numbers, without retained logs or
    /// discarded writes, and with the lineage of the copy's own id.
    pub version_set: VersionSet,
    /// The last batch in it.
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

    /// Returns the files that a copy has.
    pub fn files(&self) -> Vec<FileId> {
        let logs = self.version_set.logs.iter().map(|log| FileId::log(log.number));
        logs.chain(self.tables.iter().map(|live| FileId::table(live.table().info().id.0))).collect()
    }
}
