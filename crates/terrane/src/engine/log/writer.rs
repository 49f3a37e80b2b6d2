//! The log's writer: the current log, and the next sequence number.

use crate::engine::RecentBatches;
use crate::engine::log_file::{HeldLog, SealedLog, SpareLog};
use crate::entry::{MAX_SEQ, Seq};
use crate::error::{Closed, Error, Result};
use crate::storage::File;
use crate::wal::{Appended, LogWriter};
use std::sync::Arc;

/// Everything under the writer lock.
pub(crate) struct Writer {
    /// The log; `None` before recovery has opened one and after the store was closed.
    log: Option<LogWriter>,
    /// The number of the file that the log lies in.
    log_file: u64,
    /// Whether the log's file has the usual size.
    reusable: bool,
    /// The sequence of the next batch.
    next: Seq,
    /// Full logs that may not be durable yet, oldest first, each with its last sequence.
    unsynced: Vec<(Seq, Arc<dyn File>)>,
    /// The greatest sequence that something in the log says is durable.
    claimed: Seq,
    /// Whether the last thing in the log is a claim that may not be durable.
    claim_unsynced: bool,
    /// [`LogSync::epoch`](crate::wal::LogSync::epoch) at the last record.
    sync_epoch: u64,
    /// The batches that conditional ones are compared with.
    recent: RecentBatches,
}

/// A record that was appended.
pub(crate) struct Recorded {
    /// The sequence of its first batch.
    pub first: Seq,
    /// The sequence of its last batch.
    pub last: Seq,
    /// Bytes that it takes in the log.
    pub bytes: u64,
    /// Whether the log is half full with it.
    pub half_fills: bool,
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
            sync_epoch: 0,
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

    /// Gives no sequence below `next`.
    pub fn skip_to(&mut self, next: Seq) {
        self.next = next;
    }

    /// Whether the log has room for a record with this much payload.
    pub fn fits(&self, payload: usize) -> bool {
        self.log.as_ref().is_some_and(|log| log.fits(payload))
    }

    /// Whether the append of a buffered record with `payload` bytes waits for nothing: the record fits the mapped page
    /// of the last one, and no sync runs or has run since. A sync write-protects the page, so that the next store to it
    /// faults. Write-backs that the system starts itself are not noticed. Keeps `sync_epoch` for the next call.
    pub fn is_quick(&mut self, payload: usize, sync_epoch: u64) -> bool {
        let before = std::mem::replace(&mut self.sync_epoch, sync_epoch);
        let is_unsynced = before == sync_epoch && sync_epoch.is_multiple_of(2);
        is_unsynced && self.log.as_ref().is_some_and(|log| log.stays_in_page(payload))
    }

    /// Returns the bytes of records in the log.
    pub fn bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, LogWriter::bytes)
    }

    /// Returns the number and the capacity of the log's file; `None` if there is no log.
    pub fn file(&self) -> Option<(u64, u64)> {
        self.log.as_ref().map(|log| (self.log_file, log.capacity()))
    }

    /// Returns the log as it is now.
    pub fn held(&self) -> Option<HeldLog> {
        let log = self.log.as_ref()?;
        let file = log.file().clone();
        Some(HeldLog { id: log.id(), file, bytes: log.bytes(), through: None })
    }

    /// Returns the sequence that the last of `batches` would have.
    ///
    /// # Errors
    /// The last sequence number of a store.
    pub fn last_of(&self, batches: usize) -> Result<Seq> {
        let last = self.last() + batches as u64;
        if last > MAX_SEQ {
            return Err(Error::invalid(
                "sequence number",
                format_args!("at most {MAX_SEQ} batches in the life of a store"),
                last,
            ));
        }
        Ok(last)
    }

    /// Returns the log, and the sequence of its next record.
    ///
    /// # Errors
    /// A closed store.
    pub fn next_record(&mut self) -> Result<(Seq, &mut LogWriter)> {
        Ok((self.next, self.log.as_mut().ok_or(Closed::Store)?))
    }

    /// Notes that a record through `last` was appended, which says that those through `synced` are durable.
    pub fn recorded(&mut self, last: Seq, synced: Seq) {
        self.next = last + 1;
        self.claimed = self.claimed.max(synced);
        self.claim_unsynced = false;
    }

    /// Keeps batches from `first` on for conditional ones, if `needed`.
    pub fn keep_recent(&mut self, needed: bool, first: Seq, batches: &[&[u8]]) {
        self.recent.add(needed, first, batches);
    }

    /// Returns the batches after `seq`, oldest first; `None` if not all of them are kept.
    pub fn recent_after(&self, seq: Seq) -> Option<impl Iterator<Item = (Seq, &[u8])>> {
        self.recent.after(seq)
    }

    /// Continues in `log`, which lies in the file of `spare`. Returns the log before, which is full.
    pub fn rotate(
        &mut self,
        log: LogWriter,
        spare: &SpareLog,
        reusable: bool,
        synced: Seq,
    ) -> Option<SealedLog> {
        let full = self.log.replace(log)?;
        let last = self.last();
        self.unsynced.push((last, full.file().clone()));
        self.forget_synced(synced);
        Some(SealedLog {
            id: full.id(),
            file_number: std::mem::replace(&mut self.log_file, spare.file_number),
            file: full.file().clone(),
            last,
            bytes: full.bytes(),
            capacity: full.capacity(),
            reusable: std::mem::replace(&mut self.reusable, reusable),
        })
    }

    /// Forgets the full logs whose records are durable, being at or before `synced`.
    fn forget_synced(&mut self, synced: Seq) {
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

    /// Takes no more.
    pub fn stop(&mut self) {
        self.log = None;
    }
}

/// Views for tests.
#[cfg(test)]
impl Writer {
    pub fn log(&self) -> &LogWriter {
        self.log.as_ref().unwrap()
    }

    pub fn is_reusable(&self) -> bool {
        self.reusable
    }

    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    pub fn claimed(&self) -> Seq {
        self.claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
    use crate::wal::{LogId, record_bytes};

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

    #[test]
    fn an_append_to_the_same_page_is_quick_unless_a_sync_ran() {
        const BYTES: u64 = 16 << 10;
        let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
        vfs.allow_mmap_writes(true);
        let file = vfs.create("log").unwrap();
        file.allocate(BYTES).unwrap();
        let log = LogWriter::begin(file, LogId { number: 1, salt: 0 }, BYTES).unwrap();
        let mut writer = Writer::appending(log, 1, true, 10, 3);
        assert!(!writer.is_quick(10, 0), "nothing is in memory yet");
        let log = writer.log.as_mut().unwrap();
        log.append(10, 3, &[&[1; 10]]).unwrap();
        // With the end marker after it.
        let left = 4096 - record_bytes(11) as usize - 8;
        let fills = left - record_bytes(0) as usize;
        assert!(writer.is_quick(10, 0) && writer.is_quick(fills, 0));
        assert!(!writer.is_quick(fills + 1, 0), "the next page");
        for (epoch, is_quick) in [(1, false), (1, false), (2, false), (2, true), (4, false)] {
            assert_eq!(writer.is_quick(10, epoch), is_quick, "epoch {epoch}");
        }
        let log = writer.log.as_mut().unwrap();
        log.append_to_sync(11, 3, &[&[1; 4096]]).unwrap();
        assert!(!writer.is_quick(10, 4), "a page that no record was written to through memory");
    }
}
