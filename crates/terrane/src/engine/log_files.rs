//! The log's files beside the one that is appended to: full ones, spare ones, and those that retire.
//!
//! 1. A log file is preallocated. Each new one is twice as large as the one before, up to the size of the options. A
//!    file of that size holds many logs, one after the other.
//! 2. When tables hold everything in a log, the edit that retires it gives its file the next number, so that the next
//!    log need not wait for the manifest. If there is no spare, a job makes one when the log is half full.
//! 3. A spare's number is greater than that of every log in use, and spares are used in order: logs are in the order of
//!    their numbers.
//! 4. While a checkpoint or a check reads logs, those that retire are removed rather than recycled.
//! 5. A log that retires may be retained for the change feed (`retained_logs`); its file follows these rules once it is
//!    forgotten.

use super::log_file::{HeldLog, SealedLog, SpareLog};
use super::retained_logs::{FreedFile, RetainedFile, RetainedLogs, Retention};
use crate::entry::Seq;
use crate::memtable::Memtable;
use crate::storage::FileId;
use crate::version::{Change, Ids};
use std::sync::Arc;

/// The most spare logs: where flushes keep up, more would never be ready at once.
const SPARES_MAX: usize = 2;

/// The changes that an edit makes to the logs.
#[derive(Default)]
pub(crate) struct Retired {
    /// The number of sealed logs that are retired, from the oldest on.
    pub logs: usize,
    /// The spare logs that get their files.
    pub spares: Vec<SpareLog>,
    /// The files that no log gets.
    pub dropped: Vec<FileId>,
    /// The logs that are retained, and forgotten.
    retention: Retention,
}

/// Logs that an edit has retired or forgotten, to be dropped with no lock held.
pub(crate) type Gone = (Vec<SealedLog>, Vec<RetainedFile>);

/// Bounds and numbers by which logs retire.
pub(crate) struct Retiring<'a> {
    /// The sequence number with which the oldest live log starts.
    pub first: Seq,
    /// The last sequence number of logs that may retire.
    pub through: Seq,
    /// Bytes of files that retained logs may take.
    pub feed_bytes: u64,
    /// Whether their files may be recycled.
    pub recycle: bool,
    /// The size of files that are recycled.
    pub usual_bytes: u64,
    /// The salt of the store.
    pub salt: u64,
    pub ids: &'a Ids,
}

/// Logs that are read over a while. Until this is dropped, no log that retires is recycled.
pub(crate) struct HeldLogs {
    /// The logs, in the order of their numbers.
    pub logs: Vec<HeldLog>,
    _hold: Arc<()>,
}

/// The log's files beside the one that is appended to.
#[derive(Default)]
pub(crate) struct LogFiles {
    /// Full logs, the oldest first.
    sealed: Vec<SealedLog>,
    /// Logs that are retained for the change feed, all before the full ones.
    pub retained: RetainedLogs,
    /// Spare logs, in the order of their numbers.
    spares: Vec<SpareLog>,
    /// The size of the next log file.
    next_bytes: u64,
    /// The number of the oldest full log and the most memtables that can keep it, if they were counted.
    pins: Option<(u64, usize)>,
    /// Whether a job must make a spare log.
    spare_wanted: bool,
    /// Cloned by [`HeldLogs`]: what retires while there is a clone is not recycled.
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

    /// Returns a spare log that could not be started to its place.
    pub fn put_back(&mut self, spare: SpareLog) {
        self.spares.insert(0, spare);
    }

    /// Takes all spare logs. Until they are added again no writer finds them.
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

    /// Returns whether a job must make a spare log, and forgets that.
    pub fn take_spare_wanted(&mut self) -> bool {
        std::mem::take(&mut self.spare_wanted)
    }

    /// Returns the log files beside the one that is appended to.
    pub fn files(&self) -> Vec<FileId> {
        let sealed = self.sealed.iter().map(|log| log.file_number);
        let spares = self.spares.iter().map(|log| log.file_number);
        sealed.chain(spares).map(FileId::log).collect()
    }

    /// Removes the logs that an edit has retired, and retains those that it names.
    pub fn remove_retired(&mut self, retired: &mut Retired) -> Gone {
        let forgotten = self.retained.apply(std::mem::take(&mut retired.retention));
        (self.sealed.drain(..retired.logs).collect(), forgotten)
    }

    /// Returns the full log that has the batch `seq`, if one has it, where the oldest starts with `first`.
    pub fn full_with(&self, seq: Seq, first: Seq) -> Option<HeldLog> {
        let log = self.sealed.get(self.sealed.partition_point(|log| log.last < seq))?;
        (seq >= first).then(|| log.held())
    }

    /// Returns the bytes of records in full logs.
    pub fn sealed_bytes(&self) -> u64 {
        self.sealed.iter().map(|log| log.bytes).sum()
    }

    /// Holds the live logs; the last is `current`, which is appended to. No edit may be under way: it might have chosen
    /// some of them to be recycled.
    pub fn hold(&self, current: Option<HeldLog>) -> HeldLogs {
        let full = self.sealed.iter().map(SealedLog::held);
        let logs = full.chain(current).collect();
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

    /// Adds the log that was appended to, and is full.
    pub fn seal(&mut self, log: SealedLog) {
        self.sealed.push(log);
    }

    /// Returns the last sequence number of the logs that must retire, the oldest, so that the others and the `current`
    /// bytes of the log that is appended to are at most `max`. Returns `None` if no log must.
    pub fn must_retire_through(&self, current: u64, max: u64) -> Option<Seq> {
        let mut kept = self.sealed_bytes();
        let mut through = None;
        for log in &self.sealed {
            if kept + current <= max {
                break;
            }
            kept -= log.bytes;
            through = Some(log.last);
        }
        through
    }

    /// Forgets how many memtables keep the oldest log, since one was dropped without a flush.
    pub fn forget_pins(&mut self) {
        self.pins = None;
    }

    /// Returns whether some memtable beside `flushed` is known to keep the oldest full log. If none is, the caller
    /// examines all memtables: once for each log that retires, rather than for each flush.
    pub fn is_oldest_kept(&mut self, flushed: &Memtable) -> bool {
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

    /// Returns the logs whose entries are all in tables, where `unflushed` are the first sequence numbers of the
    /// memtables that are in none. Adds the `changes` that retire these logs. Nothing takes effect until the edit with
    /// these changes is durable.
    pub fn retire(
        &mut self,
        unflushed: &[Seq],
        by: &Retiring<'_>,
        changes: &mut Vec<Change>,
    ) -> Retired {
        let first = unflushed.iter().copied().min().unwrap_or(Seq::MAX);
        let retires = |log: &SealedLog| log.last < first && log.last <= by.through;
        let logs = self.sealed.partition_point(retires);
        self.pins = self.sealed.get(logs).map(|log| {
            (log.id.number, unflushed.iter().filter(|first| **first <= log.last).count())
        });
        let Some(last) = logs.checked_sub(1).and_then(|at| self.sealed.get(at)) else {
            return Retired::default();
        };
        changes.push(Change::RetireLogs { below: last.id.number + 1, next: last.last + 1 });
        self.retain(logs, by, changes)
    }

    /// Decides what becomes of the files of the oldest `logs`, which retire, and adds the `changes` that say so.
    pub fn retain(&self, logs: usize, by: &Retiring<'_>, changes: &mut Vec<Change>) -> Retired {
        let retiring = self.sealed.get(..logs).unwrap_or_default();
        let (retention, freed) = self.retained.retain(retiring, by.first, by.feed_bytes, changes);
        let mut retired = Retired { logs, retention, ..Retired::default() };
        let recycle = by.recycle && !self.are_held();
        for FreedFile { number: file_number, recycled } in freed {
            match recycled {
                Some(file) if recycle && self.spares.len() + retired.spares.len() < SPARES_MAX => {
                    let (number, capacity) = (by.ids.fresh(), by.usual_bytes);
                    changes.push(Change::OpenLog { number, file: file_number, salt: by.salt });
                    retired.spares.push(SpareLog { number, file_number, file, capacity });
                }
                _ => retired.dropped.push(FileId::log(file_number)),
            }
        }
        retired
    }

    /// Returns the number of full logs.
    pub fn full(&self) -> usize {
        self.sealed.len()
    }
}
