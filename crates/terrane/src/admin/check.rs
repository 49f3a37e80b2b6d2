//! `check`: reads every byte that the store relies on and reports all damage, also while the store
//! is in use.
//!
//! 1. The storage's own structures: manifest, superblocks, extent map. The tables that there are then
//!    are kept.
//! 2. Every table, some blocks a step: order, counts, filter, against what the version set says of it, and that it has
//!    nothing of what range deletes hide that were applied to it.
//! 3. The logs that are live by then, record by record: a step for each that is sealed, one for the
//!    rest, while nothing is appended. So each is read when it has all that a later one builds on.
//!    Until the end no log file is recycled. If a sync fails meanwhile, the logs are read again: records that
//!    were not synced before may be gone. Logs retained for the change feed are read before them, a step for each.

use crate::db::Db;
use crate::engine::{HeldLog, HeldLogs, Log, SpareLog, StoreState};
use crate::entry::Seq;
use crate::error::{Corruption, Result};
use crate::storage::{File, Orphan, Storage};
use crate::table::TableCheck;
use crate::version::LiveTable;
use crate::wal::Replay;
use std::sync::Arc;
use terrane_types::range_deletes::RangeDeletes;

/// Findings of a check.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Tables read.
    pub tables: usize,
    /// Entries in them, all versions.
    pub entries: u64,
    /// WAL records read.
    pub wal_records: u64,
    /// Bytes at the ends of logs and manifest that hold what is left of writes which a crash cut
    /// short: opening the store discards them, or did so.
    pub discarded_bytes: u64,
    /// Bytes of such writes in quarantine, from this and earlier openings.
    pub quarantine_bytes: u64,
    /// Files with names of the store's that no commit names. They are no damage.
    pub orphans: Vec<Orphan>,
    /// Every damage found; empty for a sound store.
    pub damage: Vec<Corruption>,
    /// One of two copies that are not both valid, as damage or a crash leaves them, and bytes in room
    /// of the manifest that was never written to. Opening the
    /// store makes them good, so only the check of a store that is closed, was opened read-only, or
    /// had no room when it was opened finds any.
    pub repairable: Vec<Corruption>,
}

/// A check on its way. It keeps the store open.
pub struct Check {
    db: Db,
    /// Tables that have not been started, each with the range deletes over it; the last is next.
    tables: Vec<(Arc<LiveTable>, RangeDeletes)>,
    /// The table that is read, and what keeps its file.
    table: Option<(TableCheck, Arc<LiveTable>)>,
    logs: Option<LogsCheck>,
    report: CheckReport,
}

/// The check of the logs on its way.
struct LogsCheck {
    held: HeldLogs,
    /// Retained logs that were not read yet, with the number of the first batch in each.
    retained: Vec<(Seq, HeldLog)>,
    /// Number of sealed ones.
    sealed: usize,
    read: usize,
    replay: Replay,
    /// The last sequence number that the logs must have.
    known: Seq,
}

impl Db {
    /// Starts to verify everything that is stored.
    ///
    /// # Errors
    /// An I/O error, a closed store.
    pub fn begin_check(&self) -> Result<Check> {
        let engine = self.engine();
        drop(engine.state.lock_open()?);
        let state = engine.state.lock();
        let (repairable, quarantine_bytes) =
            (state.repairable.clone(), state.version_set.quarantine_bytes());
        drop(state);
        let mut report = CheckReport {
            discarded_bytes: engine.counters.discarded(),
            quarantine_bytes,
            ..CheckReport::default()
        };
        report.take_storage(&*engine.storage, &repairable)?;
        let mut tables = Vec::new();
        for keyspace in engine.keyspaces.load().values() {
            let tree = keyspace.tree();
            let over = |live: &Arc<LiveTable>| (live.clone(), tree.range_deletes().clone());
            tables.extend(tree.tables().map(over));
        }
        tables.reverse();
        Ok(Check { db: self.clone(), tables, table: None, logs: None, report })
    }

    /// Verifies everything that is stored.
    ///
    /// # Errors
    /// An I/O error; damage is part of the report.
    pub fn check(&self) -> Result<CheckReport> {
        let mut check = self.begin_check()?;
        loop {
            if let Some(report) = check.step(u64::MAX)? {
                return Ok(report);
            }
        }
    }
}

impl CheckReport {
    /// Takes what the storage says of its own structures. Of what is `repairable`, as it was found when
    /// the storage was opened, there is a copy that is sound: that is no damage.
    pub(crate) fn take_storage(
        &mut self,
        storage: &dyn Storage,
        repairable: &[Corruption],
    ) -> Result<()> {
        self.orphans = storage.orphans()?;
        for found in storage.check()? {
            if !repairable.contains(&found) {
                self.damage.push(found);
            } else if !self.repairable.contains(&found) {
                self.repairable.push(found);
            }
        }
        Ok(())
    }
}

impl Check {
    /// Reads about `bytes` bytes of a table, or a log; returns the report at the end.
    ///
    /// # Errors
    /// An I/O error, a closed store; damage is not an error but part of the report.
    pub fn step(&mut self, bytes: u64) -> Result<Option<CheckReport>> {
        if self.table.is_none()
            && let Some((live, range_deletes)) = self.tables.pop()
        {
            self.report.tables += 1;
            self.report.entries += live.table().info().entries;
            let check = TableCheck::begin(live.table().clone()).under(range_deletes);
            self.table = Some((check, live));
        }
        if let Some((table, _)) = &mut self.table {
            drop(self.db.engine().state.lock_open()?);
            if !table.step(bytes) {
                let ended = self.table.take().map(|(table, _)| table.into_found()).transpose()?;
                self.report.damage.extend(ended.into_iter().flatten());
            }
            return Ok(None);
        }
        let engine = self.db.engine();
        let step = check_logs(&engine.state, &engine.log, &mut self.logs, &mut self.report.damage);
        match step {
            Ok(None) => return Ok(None),
            Ok(Some(records)) => self.report.wal_records = records,
            Err(e) => self.report.damage.push(e.into_corruption()?),
        }
        Ok(Some(std::mem::take(&mut self.report)))
    }
}

/// Reads the next of the live logs as recovery would; returns the number of records at the end.
/// Nobody waits while it reads logs that are full.
fn check_logs(
    store: &StoreState,
    log: &Log,
    check: &mut Option<LogsCheck>,
    damage: &mut Vec<Corruption>,
) -> Result<Option<u64>> {
    drop(store.lock_open()?);
    let mut logs = check.take().map_or_else(|| begin_logs(store, log), Ok)?;
    if let Some((first, retained)) = logs.retained.pop() {
        damage.extend(check_retained(first, retained)?);
        *check = Some(logs);
        return Ok(None);
    }
    let known = logs.known;
    let ended = match read_logs(log, &mut logs) {
        Ok(true) => {
            *check = Some(logs);
            return Ok(None);
        }
        Ok(false) => logs.replay.end(),
        Err(e) => Err(e),
    };
    if ended.is_err() {
        let appended = log.writer().appended(log.syncs.synced());
        log.syncs.probe(&appended);
        if log.syncs.known(known) < known {
            return Ok(None);
        }
    }
    ended.map(|found| Some(found.records))
}

/// Reads a retained log, whose batches start with `first`; returns its damage.
pub(super) fn check_retained(first: Seq, log: HeldLog) -> Result<Option<Corruption>> {
    let last = log.through.unwrap_or(first);
    let mut replay = Replay::new(first, last);
    let (id, file): (_, Arc<dyn File>) = (log.id, Arc::new(log));
    let read = replay.log(id, &file, Some(last), &mut |_, _| Ok(()));
    match read.and_then(|_| replay.end()) {
        Ok(_) => Ok(None),
        Err(e) => e.into_corruption().map(Some),
    }
}

/// Reads a log that is full, or all others; returns whether more are left.
fn read_logs(log: &Log, logs: &mut LogsCheck) -> Result<bool> {
    // Nothing is appended to those that are not full while they are read.
    let _writer = (logs.read >= logs.sealed).then(|| log.writer());
    while let Some(HeldLog { id, file, through, .. }) = logs.held.logs.get(logs.read) {
        logs.replay.log(*id, file, *through, &mut |_, _| Ok(()))?;
        logs.read += 1;
        if logs.read <= logs.sealed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Holds the live logs, to read them.
fn begin_logs(store: &StoreState, log: &Log) -> Result<LogsCheck> {
    let _edits = store.lock_edits()?;
    let writer = log.writer();
    let state = store.lock();
    let mut held = state.logs.hold(writer.held());
    let sealed = held.logs.len().saturating_sub(1);
    for SpareLog { number, file, .. } in state.logs.spares() {
        // They may be appended to while the check lasts.
        let id = log.id(*number);
        held.logs.push(HeldLog { id, file: file.clone(), bytes: 0, through: None });
    }
    // Every record was written whole, synced or not, so all of them must be readable, unless a sync failed.
    let known = log.syncs.known(writer.last());
    held.logs.iter_mut().for_each(|log| log.through = log.through.filter(|last| *last <= known));
    let replay = Replay::new(state.version_set.log_start, known);
    let retained = state.logs.retained.all().collect();
    Ok(LogsCheck { held, retained, sealed, read: 0, replay, known })
}
