//! Log files: spare ones, and those that retire.
//!
//! A log file is preallocated; each new one is twice as large as the one before, until they have the size of the
//! options. A file of that size holds many logs, one after the other. When the tables hold all that
//! is in a log, the edit that retires it gives its file the next number at once, so that the next log
//! need not wait for the manifest. If there is no spare, a job makes one when the log is half full. A
//! spare's number is greater than that of every log in use, and spares are used in order, so that logs
//! are in the order of their numbers. While a checkpoint or a check reads logs, those that retire are
//! removed instead.

use crate::engine::{EditLock, Engine, Sealed, SealedLog, SpareLog, State, Writer};
use crate::entry::Seq;
use crate::error::{Closed, Result};
use crate::memtable::Memtable;
use crate::storage::{File, FileId};
use crate::sync::lock;
use crate::version::Change;
use crate::wal::{LogId, LogWriter, erase};
use std::sync::Arc;

/// Files kept ready; more than two never wait at once when flushes keep up.
const SPARES_MAX: usize = 2;

/// What an edit does to the logs.
#[derive(Default)]
pub(crate) struct Retired {
    /// How many of the sealed logs are retired, from the oldest on.
    pub logs: usize,
    /// The logs that their files are given to.
    pub spares: Vec<SpareLog>,
    /// The files that serve no more.
    pub dropped: Vec<FileId>,
}

/// Logs that are read over a while: until this is dropped, none that retires is recycled.
pub(crate) struct HeldLogs {
    /// By number.
    pub logs: Vec<HeldLog>,
    _hold: Arc<()>,
}

/// A log, as it was.
#[derive(Clone)]
pub(crate) struct HeldLog {
    pub id: LogId,
    pub file: Arc<dyn File>,
    /// How far it went.
    pub bytes: u64,
    /// Its last sequence, unless it is appended to.
    pub through: Option<Seq>,
}

/// What was in the log then: what is appended later is not there.
impl File for HeldLog {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = buf.len().min(left);
        self.file.read_at(buf.get_mut(..bytes).unwrap_or_default(), offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        Err(Closed::File.into())
    }

    fn sync(&self) -> Result<()> {
        Err(Closed::File.into())
    }

    fn set_len(&self, _: u64) -> Result<()> {
        Err(Closed::File.into())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.bytes)
    }
}

impl Engine {
    /// Holds the live logs; the last is the one that is appended to. No edit is under way, which
    /// might have chosen some of them to be recycled.
    pub(crate) fn hold_logs(&self, _: &EditLock<'_>, writer: &Writer, state: &State) -> HeldLogs {
        let mut logs = Vec::new();
        for SealedLog { id, file, bytes, last, .. } in &state.sealed_logs {
            let (file, through) = (file.clone(), Some(*last));
            logs.push(HeldLog { id: *id, file, bytes: *bytes, through });
        }
        if let Some(log) = &writer.log {
            let file = log.file().clone();
            logs.push(HeldLog { id: log.id(), file, bytes: log.bytes(), through: None });
        }
        HeldLogs { logs, _hold: state.logs_held.clone() }
    }

    /// Says that the log fills: a job is to make a spare one, so that no write waits for it.
    pub(crate) fn want_spare_log(&self) {
        let mut state = lock(&self.state);
        if state.spare_logs.is_empty() {
            state.spare_wanted = true;
            self.work_came();
        }
    }

    /// Makes a spare log with room for a record of so many bytes, unless there is one.
    pub(crate) fn add_spare_log(&self, bytes: u64) -> Result<()> {
        let edits = self.lock_edits()?;
        let mut state = lock(&self.state);
        if state.spare_logs.first().is_some_and(|spare| spare.capacity >= bytes) {
            return Ok(());
        }
        let usual = state.next_log_bytes;
        let capacity = bytes.max(usual);
        let number = self.ids.fresh();
        // A log of unusual size overtakes the spares: they get new numbers behind it. Meanwhile no
        // writer finds them.
        let spares = std::mem::take(&mut state.spare_logs);
        drop(state);
        let file = match self.storage.create(FileId::log(number), capacity) {
            Ok(file) => file,
            Err(e) => {
                // A writer may have given one back meanwhile, which it had before.
                lock(&self.state).spare_logs.extend(spares);
                // Part of the file may have been created.
                self.jobs.mark_obsolete(FileId::log(number));
                return Err(e);
            }
        };
        // A volume's file begins with what was there before, which recovery would read as a record that
        // a crash cut short. Where this fails, it says so, and no more.
        let _ = erase(&*file);
        let mut logs = vec![SpareLog { number, file_number: number, file, capacity }];
        for spare in &spares {
            logs.push(SpareLog { number: self.ids.fresh(), ..spare.clone() });
        }
        let open = |log: &SpareLog| self.opened(log.number, log.file_number);
        let changes = logs.iter().map(open).collect();
        let committed = self.commit_edit(&edits, changes, &[FileId::log(number)], &[]);
        // A writer may have given one back meanwhile, which it had before.
        match committed {
            Ok(mut state) => {
                state.next_log_bytes = self.options.log_bytes_after(usual);
                state.spare_logs.append(&mut logs);
                Ok(())
            }
            Err(e) => {
                if !self.in_doubt() {
                    lock(&self.state).spare_logs.extend(spares);
                    self.jobs.mark_obsolete(FileId::log(number));
                }
                Err(e)
            }
        }
    }

    /// Replaces all logs by a small one, as a new store has it, if tables hold everything that was written: what an
    /// application deletes and compacts gives its space back.
    pub(crate) fn trim_logs(&self) -> Result<()> {
        // In a volume the small log lies behind the large ones; a second one takes the space that they leave.
        if self.replace_logs(false)? {
            self.replace_logs(true)?;
        }
        Ok(())
    }

    /// Replaces all logs by one of the first size, if tables hold everything that was written; `anew` also one that
    /// is alone and no larger. Returns whether it did.
    fn replace_logs(&self, anew: bool) -> Result<bool> {
        let capacity = self.options.log_bytes_after(0);
        let edits = self.lock_edits()?;
        let mut writer = lock(&self.writer);
        let state = lock(&self.state);
        let Some(log) = &writer.log else { return Ok(false) };
        let sealed = state.sealed_logs.iter().map(|log| log.file_number);
        let spares = state.spare_logs.iter().map(|log| log.file_number);
        let mut dropped: Vec<_> = sealed.chain(spares).map(FileId::log).collect();
        let held = Arc::strong_count(&state.logs_held) > 1;
        let needed = held || self.holds_memtables(&state) || self.log_sync.usable().is_err();
        drop(state);
        if needed || !anew && dropped.is_empty() && log.capacity() <= capacity {
            return Ok(false);
        }
        dropped.push(FileId::log(writer.log_file));
        let (number, last) = (self.ids.fresh(), writer.last());
        let created = self.storage.create(FileId::log(number), capacity).and_then(|file| {
            erase(&*file)?;
            let log = LogWriter::begin(file, self.log_id(number), capacity)?;
            let retired = Change::RetireLogs { below: number, next: last + 1 };
            let changes = vec![retired, self.opened(number, number)];
            Ok((log, self.commit_edit(&edits, changes, &[FileId::log(number)], &dropped)?))
        });
        let (log, mut state) = created.inspect_err(|_| {
            if !self.in_doubt() {
                self.jobs.mark_obsolete(FileId::log(number));
            }
        })?;
        state.next_log_bytes = self.options.log_bytes_after(capacity);
        state.log_pins = None;
        let (sealed, spares) =
            (std::mem::take(&mut state.sealed_logs), std::mem::take(&mut state.spare_logs));
        drop(state);
        self.log_sync.advance(last);
        let reusable = capacity == self.options.wal_file_bytes;
        let appending = Writer::appending(log, number, reusable, last + 1, last);
        let before = std::mem::replace(&mut *writer, appending);
        drop((writer, before, sealed, spares));
        for file in dropped {
            if self.storage.remove(file).is_err() {
                self.jobs.mark_obsolete(file);
            }
        }
        lock(&self.state).vacuum_due = true;
        self.work_came();
        Ok(true)
    }

    /// Whether a memtable holds anything that is in no table.
    fn holds_memtables(&self, state: &State) -> bool {
        let keyspaces = self.keyspaces.load();
        state.sealed.values().any(|queue| !queue.is_empty())
            || keyspaces.values().any(|k| !k.super_version.load().active.is_empty())
    }

    /// Returns the first sequence number of each memtable that is in no table once `flushed` is in one.
    fn unflushed(&self, state: &State, flushed: &Arc<Memtable>) -> Vec<Seq> {
        let waits = |s: &&Sealed| !Arc::ptr_eq(&s.memtable, flushed);
        let sealed = state.sealed.values().flatten().filter(waits);
        let mut unflushed: Vec<_> = sealed.filter_map(|s| s.memtable.first_seq()).collect();
        let keyspaces = self.keyspaces.load();
        let active = keyspaces.values().filter_map(|k| k.super_version.load().active.first_seq());
        unflushed.extend(active);
        unflushed
    }

    /// Whether some memtable beside `flushed` is known to keep the oldest sealed log. If none is,
    /// all memtables are examined: once for each log that retires, rather than for each flush.
    fn log_is_kept(state: &mut State, flushed: &Arc<Memtable>) -> bool {
        let Some(oldest) = state.sealed_logs.first() else { return true };
        let keeps = flushed.first_seq().is_some_and(|first| first <= oldest.last);
        match &mut state.log_pins {
            Some((log, pins)) if *log == oldest.id.number => {
                *pins = pins.saturating_sub(usize::from(keeps));
                *pins > 0
            }
            _ => false,
        }
    }

    /// The logs whose entries are all in tables once `flushed` is in one, and the changes that
    /// retire them. None of it takes effect until the edit with these changes is durable.
    pub(crate) fn retire_logs(
        &self,
        state: &mut State,
        flushed: &Arc<Memtable>,
        changes: &mut Vec<Change>,
    ) -> Retired {
        if Self::log_is_kept(state, flushed) {
            return Retired::default();
        }
        let unflushed = self.unflushed(state, flushed);
        let first = unflushed.iter().copied().min().unwrap_or(Seq::MAX);
        let mut retired = Retired {
            logs: state.sealed_logs.partition_point(|log| log.last < first),
            ..Retired::default()
        };
        state.log_pins = state.sealed_logs.get(retired.logs).map(|log| {
            (log.id.number, unflushed.iter().filter(|first| **first <= log.last).count())
        });
        let Some(last) = retired.logs.checked_sub(1).and_then(|at| state.sealed_logs.get(at))
        else {
            return retired;
        };
        changes.push(Change::RetireLogs { below: last.id.number + 1, next: last.last + 1 });
        let held = Arc::strong_count(&state.logs_held) > 1;
        for log in state.sealed_logs.iter().take(retired.logs) {
            if log.reusable && !held && state.spare_logs.len() + retired.spares.len() < SPARES_MAX {
                let number = self.ids.fresh();
                changes.push(self.opened(number, log.file_number));
                let file = log.file.clone();
                let (file_number, capacity) = (log.file_number, self.options.wal_file_bytes);
                retired.spares.push(SpareLog { number, file_number, file, capacity });
            } else {
                retired.dropped.push(FileId::log(log.file_number));
            }
        }
        retired
    }

    /// What names log `number` of this store.
    pub(crate) fn log_id(&self, number: u64) -> LogId {
        LogId { number, salt: self.storage.id().salt() }
    }

    /// The change that opens log `number` of this store in log file `file`.
    pub(crate) fn opened(&self, number: u64, file: u64) -> Change {
        let LogId { number, salt } = self.log_id(number);
        Change::OpenLog { number, file, salt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::storage::write_all_at;

    #[test]
    fn a_held_log_ends_where_it_did_and_takes_no_change() {
        let file = MemoryVfs::new().create("log").unwrap();
        write_all_at(&*file, b"0123456789", 0).unwrap();
        let id = LogId { number: 1, salt: 0 };
        let held = HeldLog { id, file, bytes: 4, through: None };
        assert_eq!((held.name(), held.len().unwrap()), ("log", 4));
        let mut bytes = [0; 8];
        assert_eq!(held.read_at(&mut bytes, 1).unwrap(), 3);
        assert_eq!(&bytes[..3], b"123");
        assert_eq!(held.read_at(&mut bytes, 5).unwrap(), 0);
        assert!(held.write_at(b"x", 0).is_err() && held.set_len(9).is_err());
        assert!(held.sync().is_err());
    }
}
