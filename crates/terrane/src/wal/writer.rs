//! The log writer.

use super::LogId;
use super::record::{
    END, HEADER_BYTES, Header, MAX_PAYLOAD_BYTES, log_file_bytes, payload_bytes, push_batch,
    record_bytes,
};
use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::storage::{File, write_all_at};
use std::sync::Arc;
use terrane_platform::{BROWSER, WriteMapping};

/// A larger buffer is not kept for the next record.
const KEPT_BYTES: usize = 1 << 20;

/// Bytes of the smallest page of memory; larger pages are multiples of it.
const PAGE_BYTES: u64 = 4 << 10;

/// Means of writing a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Through memory, where the file is mapped.
    Memory,
    /// By a system call.
    Call,
}

/// Erases the start of a recycled log file. Without that, what the earlier log left there looks like
/// damage to the first record.
///
/// # Errors
/// I/O failures.
pub fn erase(file: &dyn File) -> Result<()> {
    write_all_at(file, &END, 0)
}

/// Appends records to a log.
///
/// After a failed write or sync it is unknown what the file holds, and every later call fails with
/// [`crate::ErrorKind::Poisoned`].
pub struct LogWriter {
    file: Arc<dyn File>,
    id: LogId,
    capacity: u64,
    end: u64,
    record: Vec<u8>,
    /// The mapping of the file; empty if it cannot be mapped. The first record through memory creates it, because the
    /// log before is unmapped by then, and a log of synced records alone needs none.
    mapped: Option<WriteMapping>,
    /// End of the page that holds the end of the last record; 0 unless that was written through memory.
    page_end: u64,
    is_in_memory: bool,
    failed: Option<Error>,
}

impl LogWriter {
    /// Starts log `id`, which is new, in `file` with `capacity` bytes. A recycled file only needs its
    /// start erased, since the records of other logs fail their checksums.
    ///
    /// # Errors
    /// I/O failures.
    pub fn begin(file: Arc<dyn File>, id: LogId, capacity: u64) -> Result<Self> {
        erase(&*file)?;
        Ok(LogWriter::resume(file, id, capacity, 0))
    }

    /// Continues log `id`, whose records end at `end`, with nothing after them.
    #[must_use]
    pub fn resume(file: Arc<dyn File>, id: LogId, capacity: u64, end: u64) -> Self {
        LogWriter {
            mapped: None,
            page_end: 0,
            is_in_memory: file.is_in_memory(),
            file,
            id,
            capacity,
            end,
            record: Vec::new(),
            failed: None,
        }
    }

    /// The log's id.
    #[must_use]
    pub fn id(&self) -> LogId {
        self.id
    }

    /// The log's file.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Whether appends wait for nothing, since the file is memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Whether a record with `payload` bytes fits the mapped page that holds the end of the last record. Unless the
    /// file is synced meanwhile, such an append waits for nothing.
    #[must_use]
    pub fn stays_in_page(&self, payload: usize) -> bool {
        !BROWSER && self.end + record_bytes(payload) + END.len() as u64 <= self.page_end
    }

    /// Bytes that the log has room for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Whether more than half of the log is written.
    #[must_use]
    pub fn is_half_full(&self) -> bool {
        self.end > self.capacity / 2
    }

    /// Whether a record with this much payload can be appended: the log has room for it and for a claim
    /// after it ([`log_file_bytes`]), and it is at most [`MAX_PAYLOAD_BYTES`] long.
    #[must_use]
    pub fn fits(&self, payload: usize) -> bool {
        payload <= MAX_PAYLOAD_BYTES && log_file_bytes(payload) <= self.capacity - self.end
    }

    /// Appends one record of these batches ([`WriteBatch::bytes`](crate::batch::WriteBatch::bytes)),
    /// in a single write; after a crash all of them are there, or none. They have the sequence numbers
    /// from `first` on; those through `synced` are already durable.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the record does not fit or a batch is empty; I/O
    /// failures.
    pub fn append(&mut self, first: Seq, synced: Seq, batches: &[&[u8]]) -> Result<()> {
        let size = self.encode(first, synced, batches)?;
        self.put(size, Way::Memory)
    }

    /// Appends one record as [`append`](Self::append) does, but always by a system call, for a sync that follows. The
    /// first store to a mapped page after a sync takes longer than the call, and where the system keeps several pages
    /// as one, the next sync writes all of them.
    ///
    /// # Errors
    /// The errors of [`append`](Self::append).
    pub fn append_to_sync(&mut self, first: Seq, synced: Seq, batches: &[&[u8]]) -> Result<()> {
        let size = self.encode(first, synced, batches)?;
        self.put(size, Way::Call)
    }

    /// Encodes a record, without padding. Returns its size with padding.
    fn encode(&mut self, first: Seq, synced: Seq, batches: &[&[u8]]) -> Result<u64> {
        debug_assert!(synced < first, "synced {synced} must come before first {first}");
        self.usable()?;
        let payload = payload_bytes(batches.iter().map(|batch| batch.len()));
        if payload == 0 || batches.iter().any(|b| b.is_empty()) || !self.fits(payload) {
            return Err(Error::invalid(
                "log record",
                format_args!(
                    "1 to {MAX_PAYLOAD_BYTES} bytes of batches that fit the {} bytes left",
                    self.capacity - self.end
                ),
                format_args!("{payload} bytes"),
            ));
        }
        self.record.clear();
        self.record.reserve_exact(record_bytes(payload) as usize + END.len());
        self.record.resize(HEADER_BYTES, 0);
        batches.iter().for_each(|batch| push_batch(&mut self.record, batch));
        if let Some((head, payload)) = self.record.split_first_chunk_mut::<HEADER_BYTES>() {
            let seed = self.id.seed();
            *head = Header::new(seed, first, synced, payload).encode(seed);
        }
        Ok(record_bytes(payload))
    }

    /// Appends a claim that batches through `synced` are durable, so that damage to them does not look
    /// like a crash. The next record will start with `next`. Room for one claim is reserved at the end: a
    /// claim that does not cover all batches is skipped if it would use that room.
    ///
    /// # Errors
    /// I/O failures.
    pub fn claim(&mut self, next: Seq, synced: Seq) -> Result<()> {
        self.usable()?;
        let seed = self.id.seed();
        let header = Header::new(seed, next, synced, &[]).encode(seed);
        let size = header.len() as u64;
        let needed = if synced.saturating_add(1) < next { 2 * size } else { size };
        // A claim that starts like the end marker would be read as the end, so it is useless.
        if header.starts_with(&END[..4]) || self.capacity - self.end < needed {
            return Ok(());
        }
        self.record.clear();
        self.record.extend_from_slice(&header);
        self.put(size, Way::Call)
    }

    /// Writes the buffered record, padded to `size` bytes, and the end marker.
    fn put(&mut self, size: u64, way: Way) -> Result<()> {
        let end = (self.capacity - self.end - size).min(END.len() as u64);
        self.record.resize((size + end) as usize, 0);
        let written = if way == Way::Memory && self.put_mapped() {
            Ok(())
        } else {
            write_all_at(&*self.file, &self.record, self.end)
        };
        if self.record.capacity() > KEPT_BYTES {
            self.record = Vec::new();
        }
        self.poison(written)?;
        self.end += size;
        Ok(())
    }

    /// Writes the buffered record through memory, its header last, so that it is not there in part if the
    /// process ends meanwhile; returns whether it did.
    fn put_mapped(&mut self) -> bool {
        let Some((head, rest)) = self.record.split_at_checked(HEADER_BYTES) else { return false };
        let map = || WriteMapping::of(&*self.file, self.end, self.capacity);
        let is_written = self.mapped.get_or_insert_with(map).append(head, rest, self.end);
        let written_end = self.end + self.record.len() as u64;
        self.page_end = if is_written { written_end.next_multiple_of(PAGE_BYTES) } else { 0 };
        is_written
    }

    fn usable(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(Error::poisoned(error)),
            None => Ok(()),
        }
    }

    fn poison(&mut self, done: Result<()>) -> Result<()> {
        self.failed = done.as_ref().err().cloned();
        done
    }
}
