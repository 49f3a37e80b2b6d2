//! State of the writer: the current log, and the next sequence number.

use super::RecentBatches;
use crate::entry::Seq;
use crate::error::Result;
use crate::storage::File;
use crate::wal::{Appended, LogWriter};
use std::sync::Arc;

/// Everything under the writer lock.
pub(crate) struct Writer {
    /// The log; `None` before recovery has opened one and after the store was closed.
    pub log: Option<LogWriter>,
    /// The number of the file that the log lies in.
    pub log_file: u64,
    /// Whether the log's file has the usual size.
    pub reusable: bool,
    /// The sequence of the next batch.
    pub next: Seq,
    /// Full logs that may not be durable yet, oldest first, each with its last sequence.
    pub unsynced: Vec<(Seq, Arc<dyn File>)>,
    /// The greatest sequence that something in the log says is durable.
    pub claimed: Seq,
    /// Whether the last thing in the log is a claim that may not be durable.
    pub claim_unsynced: bool,
    /// The batches that conditional ones are compared with.
    pub recent: RecentBatches,
}

impl Writer {
    /// A writer that takes nothing yet.
    pub fn idle() -> Self {
        Writer {
            log: None,
            log_file: 0,
            reusable: false,
            next: 1,
            unsynced: Vec::new(),
            claimed: 0,
            claim_unsynced: false,
            recent: RecentBatches::default(),
        }
    }

    /// A writer that appends to `log` from `next` on. Batches through `claimed` are durable, as logs
    /// or tables say.
    pub fn appending(
        log: LogWriter,
        log_file: u64,
        reusable: bool,
        next: Seq,
        claimed: Seq,
    ) -> Self {
        Writer { log: Some(log), log_file, reusable, next, claimed, ..Writer::idle() }
    }

    /// The last sequence that was given out.
    pub fn last(&self) -> Seq {
        self.next - 1
    }

    /// Forgets the full logs whose records are durable, being at or before `synced`.
    pub fn forget_synced(&mut self, synced: Seq) {
        self.unsynced.retain(|(last, _)| *last > synced);
    }

    /// Returns the records appended after `synced`.
    pub fn appended(&mut self, synced: Seq) -> Appended {
        self.forget_synced(synced);
        let full = self.unsynced.iter().map(|(_, file)| file.clone());
        let files = full.chain(self.log.as_ref().map(|log| log.file().clone())).collect();
        Appended { files, through: self.last() }
    }

    /// Leaves a claim behind the last record that batches through `synced` are durable, unless the
    /// log says so already.
    pub fn claim(&mut self, synced: Seq) -> Result<()> {
        if self.claimed < synced
            && let Some(log) = &mut self.log
        {
            log.claim(self.next, synced)?;
            self.claimed = synced;
            self.claim_unsynced = true;
        }
        Ok(())
    }

    /// Makes a claim durable that all batches are, and takes no more.
    pub fn end(&mut self, synced: Seq) -> Result<()> {
        self.claim(synced)?;
        let log = self.log.take().filter(|_| self.claim_unsynced);
        log.map_or(Ok(()), |log| log.file().sync())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::wal::LogId;

    fn writer() -> Writer {
        let file = MemoryVfs::new().create("log").unwrap();
        let log = LogWriter::begin(file, LogId { number: 1, salt: 0 }, 4096).unwrap();
        Writer::appending(log, 1, true, 10, 3)
    }

    #[test]
    fn a_claim_is_left_only_for_batches_that_nothing_claims_yet() {
        let mut writer = writer();
        let mut bytes = |synced| {
            writer.claim(synced).unwrap();
            assert!(writer.claimed >= synced);
            (writer.log.as_ref().unwrap().bytes(), writer.claim_unsynced)
        };
        assert_eq!([bytes(0), bytes(3)], [(0, false); 2]);
        let (one, unsynced) = bytes(5);
        assert!(one > 0 && unsynced);
        assert_eq!([bytes(4), bytes(5)], [(one, true); 2]);
        assert_eq!(bytes(9), (2 * one, true));
    }

    #[test]
    fn full_logs_are_synced_until_their_last_sequence_is_durable() {
        let mut writer = writer();
        for last in [4, 7] {
            let file = MemoryVfs::new().create(&last.to_string()).unwrap();
            writer.unsynced.push((last, file));
        }
        for (synced, names) in
            [(3, &["4", "7", "log"][..]), (4, &["7", "log"]), (6, &["7", "log"]), (7, &["log"])]
        {
            let appended = writer.appended(synced);
            let found: Vec<_> = appended.files.iter().map(|file| file.name().to_owned()).collect();
            assert_eq!(
                (found, appended.through),
                (names.iter().map(|n| n.to_string()).collect(), 9)
            );
        }
    }

    #[test]
    fn the_end_claims_what_is_durable_and_takes_no_more() {
        let mut writer = writer();
        let log = writer.log.as_ref().unwrap().file().clone();
        writer.end(9).unwrap();
        assert!(writer.log.is_none());
        let mut header = [0; 8];
        log.read_at(&mut header, 0).unwrap();
        assert_ne!(header, [0; 8], "a claim");
    }
}
