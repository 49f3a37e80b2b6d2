//! The log's files: those that are full, the spare ones, and those that retire.
//!
//! A log file is preallocated; each new one is twice as large as the one before, until they have the size of the
//! options. A file of that size holds many logs, one after the other. When the tables hold all that
//! is in a log, the edit that retires it gives its file the next number at once, so that the next log
//! need not wait for the manifest. If there is no spare, a job makes one when the log is half full. A
//! spare's number is greater than that of every log in use, and spares are used in order, so that logs
//! are in the order of their numbers. While a checkpoint or a check reads logs, those that retire are
//! removed instead.

use super::log_file::{HeldLog, SealedLog, SpareLog};
use crate::entry::Seq;
use crate::memtable::Memtable;
use crate::storage::FileId;
use crate::version::{Change, Ids};
use std::sync::Arc;
use terrane_platform::{BROWSER, WriteMapping};

/// Files kept ready; more than two never wait at once when flushes keep up.
const SPARES_MAX: usize = 2;

/// The most full logs that stay mapped until a job retires them: a mapped file stays open, and there may be
/// more logs than the process may have open files.
pub(crate) const MAPPED_LOGS_MAX: usize = 16;

/// The changes that an edit makes to the logs.
#[derive(Default)]
pub(crate) struct Retired {
    /// The number of sealed logs that are retired, from the oldest on.
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

/// The log's files beside the one that is appended to.
#[derive(Default)]
pub(crate) struct LogFiles {
    /// Full ones, the oldest first.
    sealed: Vec<SealedLog>,
    /// In the order of their numbers.
    spares: Vec<SpareLog>,
    /// The size of the next log file.
    next_bytes: u64,
    /// The number of the oldest sealed log and the most memtables that can keep it, if they were counted.
    pins: Option<(u64, usize)>,
    /// Whether a job must make a spare log.
    spare_wanted: bool,
    /// Cloned by those who read logs over a while: what retires meanwhile does not get recycled.
    held: Arc<()>,
}

impl LogFiles {
    /// Starts with the logs that recovery found; the next log file has `next_bytes`.
    pub fn resume(
        &mut self,
        sealed: impl IntoIterator<Item = SealedLog>,
        spares: impl IntoIterator<Item = SpareLog>,
        next_bytes: u64,
    ) {
        self.sealed = sealed.into_iter().collect();
        self.spares = spares.into_iter().collect();
        self.next_bytes = next_bytes;
    }

    /// Returns the full logs, the oldest first.
    #[cfg(test)]
    pub fn sealed(&self) -> &[SealedLog] {
        &self.sealed
    }

    /// Returns the spare logs, in their order.
    pub fn spares(&self) -> &[SpareLog] {
        &self.spares
    }

    /// Returns the size of the next log file.
    pub fn next_bytes(&self) -> u64 {
        self.next_bytes
    }

    /// Takes the next spare log, to append to it.
    pub fn take_spare(&mut self) -> Option<SpareLog> {
        (!self.spares.is_empty()).then(|| self.spares.remove(0))
    }

    /// Gives a spare log back that could not be started.
    pub fn give_back(&mut self, spare: SpareLog) {
        self.spares.insert(0, spare);
    }

    /// Takes all spare logs, to be given other numbers: meanwhile no writer finds them.
    pub fn take_spares(&mut self) -> Vec<SpareLog> {
        std::mem::take(&mut self.spares)
    }

    /// Adds spare logs behind the others.
    pub fn add_spares(&mut self, spares: Vec<SpareLog>) {
        self.spares.extend(spares);
    }

    /// Sets the size of the next log file.
    pub fn set_next_bytes(&mut self, bytes: u64) {
        self.next_bytes = bytes;
    }

    /// Whether a job must make a spare log.
    #[cfg(test)]
    pub fn is_spare_wanted(&self) -> bool {
        self.spare_wanted
    }

    /// Returns whether a job must make a spare log, and forgets it.
    pub fn take_wanted(&mut self) -> bool {
        std::mem::take(&mut self.spare_wanted)
    }

    /// Returns the log files beside the one that is appended to.
    pub fn files(&self) -> Vec<FileId> {
        let sealed = self.sealed.iter().map(|log| log.file_number);
        let spares = self.spares.iter().map(|log| log.file_number);
        sealed.chain(spares).map(FileId::log).collect()
    }

    /// Removes the logs that an edit has retired. Returns them, to be dropped with no lock held.
    pub fn remove_retired(&mut self, retired: &Retired) -> Vec<SealedLog> {
        self.sealed.drain(..retired.logs).collect()
    }

    /// Bytes of records in full logs.
    pub fn sealed_bytes(&self) -> u64 {
        self.sealed.iter().map(|log| log.bytes).sum()
    }

    /// Holds the live logs; the last is `current`, which is appended to. No edit is under way, which
    /// might have chosen some of them to be recycled.
    pub fn hold(&self, current: Option<HeldLog>) -> HeldLogs {
        let mut logs = Vec::new();
        for SealedLog { id, file, bytes, last, .. } in &self.sealed {
            let (file, through) = (file.clone(), Some(*last));
            logs.push(HeldLog { id: *id, file, bytes: *bytes, through });
        }
        logs.extend(current);
        HeldLogs { logs, _hold: self.held.clone() }
    }

    /// Whether someone reads logs over a while.
    pub fn are_held(&self) -> bool {
        Arc::strong_count(&self.held) > 1
    }

    /// Asks for a spare log, unless there is one. Returns whether it did.
    pub fn want_spare(&mut self) -> bool {
        let wants = self.spares.is_empty();
        self.spare_wanted |= wants;
        wants
    }

    /// Whether the next spare log has room for a record of `bytes`.
    pub fn has_spare(&self, bytes: u64) -> bool {
        self.spares.first().is_some_and(|spare| spare.capacity >= bytes)
    }

    /// Returns the mapping to drop, with no lock held, if too many full logs are mapped after one was sealed.
    pub fn excess_mapping(&mut self) -> Option<WriteMapping> {
        if BROWSER {
            return None;
        }
        Some(self.sealed.iter_mut().rev().nth(MAPPED_LOGS_MAX)?.mapped.take())
    }

    /// The log that was appended to is full.
    pub fn seal(&mut self, log: SealedLog) {
        self.sealed.push(log);
    }

    /// Returns the last sequence number of the oldest log, which must retire, if the logs with the `current` one
    /// exceed `most` bytes.
    pub fn to_retire(&self, current: u64, most: u64) -> Option<Seq> {
        let mut kept = self.sealed_bytes();
        let mut oldest = None;
        for log in &self.sealed {
            if kept + current <= most {
                break;
            }
            kept -= log.bytes;
            oldest = Some(log.last);
        }
        oldest
    }

    /// A memtable was dropped without a flush: the needs of the oldest log must be counted again.
    pub fn forget_pins(&mut self) {
        self.pins = None;
    }

    /// Whether some memtable beside `flushed` is known to keep the oldest sealed log. If none is,
    /// all memtables are examined: once for each log that retires, rather than for each flush.
    pub fn is_kept(&mut self, flushed: &Memtable) -> bool {
        let Some(oldest) = self.sealed.first() else { return true };
        let keeps = flushed.first_seq().is_some_and(|first| first <= oldest.last);
        match &mut self.pins {
            Some((log, pins)) if *log == oldest.id.number => {
                *pins = pins.saturating_sub(usize::from(keeps));
                *pins > 0
            }
            _ => false,
        }
    }

    /// The logs whose entries are all in tables, where the memtables that are in none start at these sequence
    /// numbers, and the changes that retire them, in a store of this `salt`. None of it takes effect until the edit
    /// with these changes is durable.
    pub fn retire(
        &mut self,
        unflushed: &[Seq],
        salt: u64,
        ids: &Ids,
        usual_bytes: u64,
        changes: &mut Vec<Change>,
    ) -> Retired {
        let first = unflushed.iter().copied().min().unwrap_or(Seq::MAX);
        let mut retired = Retired {
            logs: self.sealed.partition_point(|log| log.last < first),
            ..Retired::default()
        };
        self.pins = self.sealed.get(retired.logs).map(|log| {
            (log.id.number, unflushed.iter().filter(|first| **first <= log.last).count())
        });
        let Some(last) = retired.logs.checked_sub(1).and_then(|at| self.sealed.get(at)) else {
            return retired;
        };
        changes.push(Change::RetireLogs { below: last.id.number + 1, next: last.last + 1 });
        let held = self.are_held();
        for log in self.sealed.iter().take(retired.logs) {
            if log.reusable && !held && self.spares.len() + retired.spares.len() < SPARES_MAX {
                let number = ids.fresh();
                changes.push(Change::OpenLog { number, file: log.file_number, salt });
                let file = log.file.clone();
                let (file_number, capacity) = (log.file_number, usual_bytes);
                retired.spares.push(SpareLog { number, file_number, file, capacity });
            } else {
                retired.dropped.push(FileId::log(log.file_number));
            }
        }
        retired
    }

    /// Takes all full logs, which an edit has retired, to be dropped with no lock held.
    pub fn take_sealed(&mut self) -> Vec<SealedLog> {
        self.pins = None;
        std::mem::take(&mut self.sealed)
    }
}
