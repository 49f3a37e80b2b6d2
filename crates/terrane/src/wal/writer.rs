//! Writing a log.

use super::LogId;
use super::record::{
    END, HEADER_BYTES, Header, MAX_PAYLOAD_BYTES, log_file_bytes, payload_bytes, push_batch,
    record_bytes,
};
use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::storage::{File, write_all_at};
use std::sync::Arc;

/// A buffer that has grown past this is not kept for the next record.
const KEPT_BYTES: usize = 1 << 20;

/// Erases the front of a file that holds an earlier log, for one that will lie there. Until then
/// what the earlier one left looks like damage to the first record.
pub fn erase(file: &dyn File) -> Result<()> {
    write_all_at(file, &END, 0)
}

/// Appends records to one log. Where it begins, no more than the front of its file has to be erased:
/// records that lie there are another log's.
///
/// After a failed write or sync what the file holds is unknown, and every later call is
/// [`Error::Poisoned`].
pub struct LogWriter {
    file: Arc<dyn File>,
    id: LogId,
    capacity: u64,
    end: u64,
    record: Vec<u8>,
    failed: Option<Error>,
}

impl LogWriter {
    /// Begins log `id`, one that no log had before, in `file`, with room for `capacity` bytes.
    ///
    /// # Errors
    /// A failing file system.
    pub fn begin(file: Arc<dyn File>, id: LogId, capacity: u64) -> Result<Self> {
        erase(&*file)?;
        Ok(LogWriter { file, id, capacity, end: 0, record: Vec::new(), failed: None })
    }

    /// Goes on in log `id`, whose records end at `end`, and which holds nothing after them.
    #[must_use]
    pub fn resume(file: Arc<dyn File>, id: LogId, capacity: u64, end: u64) -> Self {
        LogWriter { file, id, capacity, end, record: Vec::new(), failed: None }
    }

    /// What names the log.
    #[must_use]
    pub fn id(&self) -> LogId {
        self.id
    }

    /// The file that the log lies in.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Bytes written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Whether a record with this much payload can be appended: the log has the room for it and for a
    /// claim behind it ([`log_file_bytes`]), and it is at most [`MAX_PAYLOAD_BYTES`].
    #[must_use]
    pub fn fits(&self, payload: usize) -> bool {
        payload <= MAX_PAYLOAD_BYTES && log_file_bytes(payload) <= self.capacity - self.end
    }

    /// Appends one record of these batches ([`WriteBatch::bytes`](crate::batch::WriteBatch::bytes)),
    /// in a single write; after a crash all of them are there, or none. They have the sequences from
    /// `first` on, and those through `synced` are durable already.
    ///
    /// Refuses what does not fit, and a batch without any entry.
    pub fn append(&mut self, first: Seq, synced: Seq, batches: &[&[u8]]) -> Result<()> {
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
        self.put(record_bytes(payload))
    }

    /// Says that batches through `synced` are durable already, in place of the next record,
    /// which will begin with `next`: so damage to what was synced is told from a crash. There is room
    /// for one between two records; a claim that leaves batches out and would take it is not made, so
    /// that the one of all batches can be.
    ///
    /// # Errors
    /// A failing file system.
    pub fn claim(&mut self, next: Seq, synced: Seq) -> Result<()> {
        self.usable()?;
        let seed = self.id.seed();
        let header = Header::new(seed, next, synced, &[]).encode(seed);
        let size = header.len() as u64;
        let needed = if synced.saturating_add(1) < next { 2 * size } else { size };
        // One that begins as the end does would not be seen: it would change nothing.
        if header.starts_with(&END[..4]) || self.capacity - self.end < needed {
            return Ok(());
        }
        self.record.clear();
        self.record.extend_from_slice(&header);
        self.put(size)
    }

    /// Appends the record that was made, of `size` bytes with its padding, and what ends the log.
    fn put(&mut self, size: u64) -> Result<()> {
        let end = (self.capacity - self.end - size).min(END.len() as u64);
        self.record.resize((size + end) as usize, 0);
        let written = write_all_at(&*self.file, &self.record, self.end);
        if self.record.capacity() > KEPT_BYTES {
            self.record = Vec::new();
        }
        self.poison(written)?;
        self.end += size;
        Ok(())
    }

    fn usable(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(Error::Poisoned(Box::new(error.clone()))),
            None => Ok(()),
        }
    }

    fn poison(&mut self, done: Result<()>) -> Result<()> {
        self.failed = done.as_ref().err().cloned();
        done
    }
}
