//! `check`: reads every byte that the store relies on and names every damage, also while the store
//! is in use.
//!
//! 1. The storage's own structures: journal, superblocks, extent map.
//! 2. Every table: blocks, order, counts, filter, against what the catalog says of it.
//! 3. Every live log, record by record.

use super::{Engine, lock};
use crate::error::{Corruption, Error, Result};
use crate::wal::replay;

/// What a check found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CheckReport {
    /// Tables read.
    pub tables: usize,
    /// Entries in them, all versions.
    pub entries: u64,
    /// Log records read.
    pub log_records: u64,
    /// Every damage found; empty for a sound store.
    pub damage: Vec<Corruption>,
    /// One of two copies that are not both valid, as damage or a crash leaves them. Opening the
    /// store makes them good, so only the check of a closed store finds any.
    pub repairable: Vec<Corruption>,
}

impl Engine {
    /// Verifies everything on the medium.
    ///
    /// # Errors
    /// A failing medium; damage is not an error but part of the report.
    pub fn check(&self) -> Result<CheckReport> {
        drop(self.open_state()?);
        let mut report = CheckReport { damage: self.storage.check()?, ..CheckReport::default() };
        for keyspace in self.keyspaces.load().values() {
            let view = keyspace.view.load_full();
            for live in view.tree.tables() {
                report.tables += 1;
                report.entries += live.table().info().entries;
                report.damage.extend(live.table().check());
            }
        }
        self.check_logs(&mut report)?;
        Ok(report)
    }

    /// Reads the live logs as recovery would. Nothing is appended meanwhile.
    fn check_logs(&self, report: &mut CheckReport) -> Result<()> {
        let writer = lock(&self.writer);
        let state = lock(&self.state);
        let mut logs: Vec<_> =
            state.sealed_logs.iter().map(|log| (log.number, log.file.clone())).collect();
        logs.extend(writer.log.iter().map(|log| (log.number(), log.file().clone())));
        logs.extend(state.spare_logs.iter().map(|log| (log.number, log.file.clone())));
        let start = state.catalog.log_start;
        drop(state);
        // Every record was written whole, synced or not, so all of them must be readable.
        match replay(&logs, start, writer.next - 1, &mut |_, _| Ok(())) {
            Ok(replayed) => report.log_records += replayed.records,
            Err(Error::Corrupt(damage)) => report.damage.push(*damage),
            Err(e) => return Err(e),
        }
        Ok(())
    }
}
