//! Logs that are retained for the change feed: tables have their entries, and no recovery reads them.
//!
//! 1. A log that retires is retained if it has a record and `feed_bytes` is not 0. The oldest logs are forgotten until
//!    the files of the others fit into `feed_bytes`.
//! 2. The retained logs are the last ones that have retired, without a gap, and the live logs follow them.
//! 3. The edit that retires a log also retains or forgets it. So a reopened store has the same logs.
//! 4. The file of a forgotten log is recycled or removed like that of a log that is not retained. A reader that is
//!    still in the file finds records of another log, whose checksums fail (durability rule 5).

use super::log_file::{HeldLog, SealedLog};
use crate::entry::Seq;
use crate::storage::File;
use crate::version::{Change, RetainedLog};
use std::sync::Arc;

/// A retained log with its file.
#[derive(Clone)]
pub(crate) struct RetainedFile {
    pub record: RetainedLog,
    pub file: Arc<dyn File>,
    /// Bytes that the file takes.
    pub capacity: u64,
    /// Whether its file has the usual size, so that it can be recycled.
    pub reusable: bool,
}

impl RetainedFile {
    /// Returns the log for readers.
    fn held(&self) -> HeldLog {
        let RetainedLog { log, last, bytes, .. } = self.record;
        HeldLog { id: log, file: self.file.clone(), bytes, through: Some(last) }
    }
}

/// A file that no log keeps: its number, and the file if it can be recycled.
pub(crate) struct FreedFile {
    pub number: u64,
    pub recycled: Option<Arc<dyn File>>,
}

/// The retained logs after an edit that retires others.
#[derive(Default)]
pub(crate) struct Retention {
    /// The number of logs that are forgotten, from the oldest on.
    forgotten: usize,
    /// The logs that are retained from now on.
    added: Vec<RetainedFile>,
}

/// The retained logs, the oldest first.
#[derive(Default)]
pub(crate) struct RetainedLogs(Vec<RetainedFile>);

impl RetainedLogs {
    /// Starts with the logs that the version set names.
    pub fn resume(&mut self, logs: Vec<RetainedFile>) {
        self.0 = logs;
    }

    /// Returns the sequence number of the first batch in them.
    pub fn first(&self) -> Option<Seq> {
        self.0.first().map(|log| log.record.first)
    }

    /// Returns the log that has the batch `seq`.
    pub fn with(&self, seq: Seq) -> Option<HeldLog> {
        let log = self.0.get(self.0.partition_point(|log| log.record.last < seq))?;
        (log.record.first <= seq).then(|| log.held())
    }

    /// Returns all retained logs, with the sequence number of the first batch in each.
    pub fn all(&self) -> impl Iterator<Item = (Seq, HeldLog)> {
        self.0.iter().map(|log| (log.record.first, log.held()))
    }

    /// Returns the bytes of their records.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|log| log.record.bytes).sum()
    }

    /// Decides which logs are retained once `retiring` retire, whose batches start with `first`. Adds the `changes`
    /// that say so, and returns the files that no log keeps.
    pub fn retain(
        &self,
        retiring: &[SealedLog],
        first: Seq,
        feed_bytes: u64,
        changes: &mut Vec<Change>,
    ) -> (Retention, Vec<FreedFile>) {
        let (mut logs, mut freed) = (self.0.clone(), Vec::new());
        let mut first = first;
        for log in retiring {
            if log.last < first {
                freed.push(FreedFile::of(log.file_number, &log.file, log.reusable));
                continue;
            }
            let (number, last, bytes) = (log.file_number, log.last, log.bytes);
            let record = RetainedLog { log: log.id, file: number, first, last, bytes };
            let (file, capacity, reusable) = (log.file.clone(), log.capacity, log.reusable);
            logs.push(RetainedFile { record, file, capacity, reusable });
            first = last + 1;
        }
        let mut taken: u64 = logs.iter().map(|log| log.capacity).sum();
        let mut gone = 0;
        for log in &logs {
            if taken <= feed_bytes {
                break;
            }
            taken -= log.capacity;
            freed.push(FreedFile::of(log.record.file, &log.file, log.reusable));
            gone += 1;
        }
        let forgotten = gone.min(self.0.len());
        if let Some(last) = forgotten.checked_sub(1).and_then(|last| self.0.get(last)) {
            changes.push(Change::ForgetLogs { below: last.record.log.number + 1 });
        }
        let added = logs.split_off(gone.max(self.0.len()));
        changes.extend(added.iter().map(|log| Change::RetainLog(log.record)));
        (Retention { forgotten, added }, freed)
    }

    /// Installs the decision of an edit. Returns the forgotten logs, which the caller drops with no lock held.
    pub fn apply(&mut self, retention: Retention) -> Vec<RetainedFile> {
        let forgotten = self.0.drain(..retention.forgotten).collect();
        self.0.extend(retention.added);
        forgotten
    }
}

impl FreedFile {
    fn of(number: u64, file: &Arc<dyn File>, reusable: bool) -> Self {
        FreedFile { number, recycled: reusable.then(|| file.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::wal::LogId;

    /// A full log of 100 bytes whose batches end with `last`.
    fn sealed(number: u64, last: Seq) -> SealedLog {
        SealedLog {
            id: LogId { number, salt: 1 },
            file_number: number,
            file: MemoryVfs::new().create("log").unwrap(),
            last,
            bytes: 90,
            capacity: 100,
            reusable: true,
        }
    }

    /// Retires logs; returns the first batches of those that are retained, and the numbers of the files that are freed.
    fn retire(
        logs: &mut RetainedLogs,
        retiring: &[SealedLog],
        first: Seq,
        most: u64,
    ) -> (Vec<Seq>, Vec<u64>) {
        let mut changes = Vec::new();
        let (retention, freed) = logs.retain(retiring, first, most, &mut changes);
        logs.apply(retention);
        let firsts = logs.all().map(|(first, _)| first).collect();
        (firsts, freed.iter().map(|file| file.number).collect())
    }

    #[test]
    fn the_newest_logs_that_fit_are_retained() {
        let mut logs = RetainedLogs::default();
        assert_eq!(retire(&mut logs, &[sealed(1, 4), sealed(2, 9)], 1, 200), (vec![1, 5], vec![]));
        assert_eq!(retire(&mut logs, &[sealed(3, 11)], 10, 200), (vec![5, 10], vec![1]));
        // An empty log is not retained.
        assert_eq!(retire(&mut logs, &[sealed(4, 11)], 12, 200), (vec![5, 10], vec![4]));
        let three = [sealed(5, 12), sealed(6, 13), sealed(7, 14)];
        assert_eq!(retire(&mut logs, &three, 12, 200), (vec![13, 14], vec![2, 3, 5]));
        assert_eq!(retire(&mut logs, &[sealed(8, 15)], 15, 0), (vec![], vec![6, 7, 8]));
    }

    #[test]
    fn a_batch_is_found_in_its_log() {
        let mut logs = RetainedLogs::default();
        retire(&mut logs, &[sealed(1, 4), sealed(2, 9)], 3, 1000);
        let number = |seq| logs.with(seq).map(|log| log.id.number);
        assert_eq!(
            [2, 3, 4, 5, 9, 10].map(number),
            [None, Some(1), Some(1), Some(2), Some(2), None]
        );
        assert_eq!((logs.first(), logs.bytes()), (Some(3), 180));
    }
}
