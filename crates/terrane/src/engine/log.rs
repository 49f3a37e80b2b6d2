//! The log: its writer, and its syncs.
//!
//! Its writer has a lock, which is the order of writes. Syncs take turns, and nobody waits for one under that lock
//! except a synced write.

mod writer;

pub(crate) use writer::{Recorded, Writer};

use super::log_file::{HeldLog, SealedLog, SpareLog};
use super::{ConditionalWrites, Wait, Waits};
use crate::entry::Seq;
use crate::error::Result;
use crate::options::Durability;
use crate::storage::{File, Storage};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{ArcSwap, Mutex, MutexGuard, lock, try_lock};
use crate::version::Change;
use crate::wal::{LogId, LogSync, LogWriter, payload_bytes};
use std::sync::Arc;
use terrane_platform::BROWSER;

/// The log that is appended to, for its readers.
#[derive(Clone)]
pub(crate) struct Tail {
    pub id: LogId,
    pub file: Arc<dyn File>,
    /// The sequence number of its first batch; 0 if recovery resumed it.
    pub first: Seq,
}

impl Tail {
    /// Returns the log for readers.
    pub fn held(self) -> HeldLog {
        HeldLog { id: self.id, file: self.file, bytes: u64::MAX, through: None }
    }
}

/// The log of a store.
pub(crate) struct Log {
    writer: Mutex<Writer>,
    /// Bytes of records in the log that is appended to, for those who do not wait for its writer.
    bytes: AtomicU64,
    /// The last sequence number that was appended.
    last: AtomicU64,
    /// The log that is appended to, for readers.
    tail: ArcSwap<Option<Tail>>,
    storage: Arc<dyn Storage>,
    /// Its syncs, and the last sequence that is durable.
    pub syncs: LogSync,
    /// Conditional batches that are under way.
    pub conditional: ConditionalWrites,
}

impl Log {
    /// The log of the store in `storage`, which takes nothing yet.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Log {
            writer: Mutex::new(Writer::idle()),
            bytes: AtomicU64::new(0),
            last: AtomicU64::new(0),
            tail: ArcSwap::from_pointee(None),
            storage,
            syncs: LogSync::new(),
            conditional: ConditionalWrites::default(),
        }
    }

    /// Returns the id of log `number` of this store.
    pub fn id(&self, number: u64) -> LogId {
        LogId { number, salt: self.storage.id().salt() }
    }

    /// Returns the change that opens log `number` of this store in log file `file`.
    pub fn opened(&self, number: u64, file: u64) -> Change {
        let LogId { number, salt } = self.id(number);
        Change::OpenLog { number, file, salt }
    }

    /// Locks the writer.
    pub fn writer(&self) -> MutexGuard<'_, Writer> {
        lock(&self.writer)
    }

    /// Locks the writer for a write, and counts the wait if another has it.
    pub fn writer_for_write(&self, waits: &Waits) -> MutexGuard<'_, Writer> {
        waits.lock(&self.writer)
    }

    /// Locks the writer, unless another has it.
    pub fn try_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        try_lock(&self.writer)
    }

    /// Returns the bytes of records in the log that is appended to.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the last sequence number that was appended, or read by recovery.
    pub fn last(&self) -> Seq {
        self.last.load(Ordering::Acquire).max(self.syncs.synced())
    }

    fn count_bytes(&self, writer: &Writer) {
        self.last.store(writer.last(), Ordering::Release);
        self.bytes.store(writer.bytes(), Ordering::Relaxed);
    }

    /// Returns the log that is appended to, if one is.
    pub fn tail(&self) -> Option<Tail> {
        Option::clone(&self.tail.load())
    }

    /// Publishes the log that is appended to, whose batches start with `first`, to readers.
    fn show_tail(&self, writer: &Writer, first: Seq) {
        let tail = writer.held().map(|HeldLog { id, file, .. }| Tail { id, file, first });
        self.tail.store(Arc::new(tail));
    }

    /// Starts to append as `appending` does.
    pub fn start(&self, appending: Writer) {
        let mut writer = self.writer();
        *writer = appending;
        self.show_tail(&writer, 0);
        self.count_bytes(&writer);
    }

    /// Continues in `log`, which lies in the file of `spare`. Returns the log before, which is full.
    pub fn rotate(
        &self,
        writer: &mut Writer,
        log: LogWriter,
        spare: &SpareLog,
        reusable: bool,
    ) -> Option<SealedLog> {
        let sealed = writer.rotate(log, spare, reusable, self.syncs.synced());
        self.show_tail(writer, writer.last() + 1);
        self.count_bytes(writer);
        sealed
    }

    /// Appends batches as one record; `durability` says whether a sync follows.
    ///
    /// # Errors
    /// A closed store, or the last sequence number; an I/O error, after which the log is poisoned.
    pub fn append(
        &self,
        writer: &mut Writer,
        batches: &[&[u8]],
        durability: Durability,
        waits: &Waits,
    ) -> Result<Recorded> {
        let last = writer.last_of(batches.len())?;
        let synced = self.syncs.synced();
        let is_buffered = durability == Durability::Buffered;
        let payload = payload_bytes(batches.iter().map(|batch| batch.len()));
        let is_quick = !BROWSER && writer.is_quick(payload, self.syncs.epoch()) && is_buffered;
        let (first, log) = writer.next_record()?;
        let (before, was_half_full) = (log.bytes(), log.is_half_full());
        // Reading a clock takes as long as a quick append, and longer in a browser, where it is a call out of the
        // module.
        let is_timed = !(is_quick || BROWSER && log.is_in_memory());
        let mut append = || match durability {
            Durability::Buffered => log.append(first, synced, batches),
            Durability::Sync => log.append_to_sync(first, synced, batches),
        };
        let appended = if is_timed { waits.time(Wait::Append, append) } else { append() };
        appended.inspect_err(|e| self.syncs.poison(e))?;
        let half_fills = log.is_half_full() && !was_half_full;
        let bytes = log.bytes() - before;
        writer.recorded(last, synced);
        self.count_bytes(writer);
        self.syncs.appends.notify();
        Ok(Recorded { first, last, bytes, half_fills })
    }

    /// Makes what was appended durable under the writer's lock, for a synced write.
    pub fn sync_write(&self, writer: &mut Writer, waits: &Waits) -> Result<()> {
        let appended = writer.appended(self.syncs.synced());
        waits.time(Wait::Sync, || self.syncs.sync(&appended))
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error; the log is poisoned then.
    pub fn sync(&self) -> Result<()> {
        self.syncs.usable()?;
        let appended = self.writer().appended(self.syncs.synced());
        self.syncs.sync(&appended)?;
        // Its own sync comes with the next.
        let mut writer = self.writer();
        let claimed = writer.claim(self.syncs.synced());
        self.count_bytes(&writer);
        claimed.inspect_err(|e| self.syncs.poison(e))
    }

    /// Makes every write durable and takes no more, also after a failure.
    pub fn end(&self, writer: &mut Writer) -> Result<()> {
        let synced = self.syncs.sync(&writer.appended(self.syncs.synced()));
        let ended = synced.and_then(|()| writer.end(self.syncs.synced()));
        writer.stop();
        self.tail.store(Arc::new(None));
        ended
    }

    /// Whether a thread panicked under the writer's lock.
    #[cfg(test)]
    pub fn is_poisoned(&self) -> bool {
        self.writer.is_poisoned()
    }
}
