//! Log files: the next one, and those that have served.
//!
//! A log file is preallocated and serves many logs, one after the other. When the tables hold all
//! that a log says, the edit that retires it gives its file the next number at once: so a full log
//! is followed without waiting for the journal. A spare's number is greater than that of every log
//! in use, and spares are used in order, so that logs are in the order of their numbers. While a
//! checkpoint reads logs, those that retire are removed instead.

use super::commit::Writer;
use super::state::{Sealed, SealedLog, SpareLog, State};
use super::{Engine, lock};
use crate::entry::Seq;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::storage::{Commit, File, FileId};
use crate::version::{Change, Edit};
use std::sync::Arc;

/// Files kept ready; more than two never wait at once when flushes keep up.
const SPARES_MAX: usize = 2;

/// What an edit does to the logs.
#[derive(Default)]
pub(super) struct Retired {
    /// How many of the sealed logs are retired, from the oldest on.
    pub logs: usize,
    /// The logs that their files are given to.
    pub spares: Vec<SpareLog>,
    /// The files that serve no more.
    pub dropped: Vec<FileId>,
}

/// Logs that are read over a while: until this is dropped, none that retires serves again.
pub(super) struct HeldLogs {
    /// By number.
    pub logs: Vec<HeldLog>,
    _hold: Arc<()>,
}

/// A log, as it was.
pub(super) struct HeldLog {
    pub number: u64,
    pub file: Arc<dyn File>,
    /// How far it went.
    pub bytes: u64,
}

impl Engine {
    /// Holds the live logs; the last is the one that is appended to.
    pub(super) fn hold_logs(&self, writer: &Writer, state: &State) -> HeldLogs {
        let mut logs = Vec::new();
        for SealedLog { number, file, bytes, .. } in &state.sealed_logs {
            logs.push(HeldLog { number: *number, file: file.clone(), bytes: *bytes });
        }
        if let Some(log) = &writer.log {
            let file = log.file().clone();
            logs.push(HeldLog { number: log.number(), file, bytes: log.bytes() });
        }
        HeldLogs { logs, _hold: state.logs_held.clone() }
    }

    /// Commits an edit: on success it is on the medium and in the catalog. On failure nobody knows
    /// whether the medium has it, so no write is taken until the store is reopened.
    pub(super) fn commit_edit(
        &self,
        state: &mut State,
        mut changes: Vec<Change>,
        added: &[FileId],
        dropped: &[FileId],
    ) -> Result<()> {
        changes.push(Change::NextId(state.next_id));
        let edit = Edit { changes };
        let mut catalog = state.catalog.clone();
        catalog.apply(&edit)?;
        let bytes = edit.encode();
        let commit =
            Commit { edit: &bytes, added, dropped, snapshot: &|| catalog.snapshot().encode() };
        if let Err(e) = self.storage.commit(&commit) {
            state.in_doubt = Some(e.clone());
            return Err(e);
        }
        state.catalog = catalog;
        Ok(())
    }

    /// The file for the next log: a spare, or a new one of `capacity` bytes.
    pub(super) fn open_log(&self, state: &mut State, capacity: u64) -> Result<SpareLog> {
        if capacity == self.options.log_bytes && !state.spare_logs.is_empty() {
            return Ok(state.spare_logs.remove(0));
        }
        let number = state.fresh_id();
        let id = FileId::log(number);
        let file = self.storage.create(id, capacity)?;
        let mut changes = vec![Change::OpenLog { number, file: number }];
        // A log of unusual size overtakes the spares: they are numbered anew behind it.
        for at in 0..state.spare_logs.len() {
            let fresh = state.fresh_id();
            if let Some(spare) = state.spare_logs.get_mut(at) {
                spare.number = fresh;
                changes.push(Change::OpenLog { number: fresh, file: spare.file_number });
            }
        }
        self.commit_edit(state, changes, &[id], &[])?;
        Ok(SpareLog { number, file_number: number, file })
    }

    /// The least sequence that is in no table once `flushed` is in one; `Seq::MAX` if all are.
    fn unflushed_min(&self, state: &State, flushed: &Arc<Memtable>) -> Seq {
        let waits = |s: &&Sealed| !Arc::ptr_eq(&s.memtable, flushed);
        let sealed =
            state.sealed.values().filter_map(|q| q.iter().find(waits)?.memtable.first_seq());
        let keyspaces = self.keyspaces.load();
        let active = keyspaces.values().filter_map(|k| k.view.load().active.first_seq());
        sealed.chain(active).min().unwrap_or(Seq::MAX)
    }

    /// The logs whose entries are all in tables once `flushed` is in one, and the changes that
    /// retire them. Nothing of it is so until the edit with these changes is on the medium.
    pub(super) fn retire_logs(
        &self,
        state: &mut State,
        flushed: &Arc<Memtable>,
        changes: &mut Vec<Change>,
    ) -> Retired {
        let unflushed = self.unflushed_min(state, flushed);
        let mut retired = Retired {
            logs: state.sealed_logs.partition_point(|log| log.last < unflushed),
            ..Retired::default()
        };
        let Some(last) = retired.logs.checked_sub(1).and_then(|at| state.sealed_logs.get(at))
        else {
            return retired;
        };
        changes.push(Change::RetireLogs { below: last.number + 1, next: last.last + 1 });
        let held = Arc::strong_count(&state.logs_held) > 1;
        for log in state.sealed_logs.iter().take(retired.logs) {
            if log.reusable && !held && state.spare_logs.len() + retired.spares.len() < SPARES_MAX {
                let number = state.next_id;
                state.next_id += 1;
                changes.push(Change::OpenLog { number, file: log.file_number });
                let file = log.file.clone();
                retired.spares.push(SpareLog { number, file_number: log.file_number, file });
            } else {
                retired.dropped.push(FileId::log(log.file_number));
            }
        }
        retired
    }

    /// A number that nothing has yet.
    pub(crate) fn fresh_id(&self) -> u64 {
        lock(&self.state).fresh_id()
    }
}
