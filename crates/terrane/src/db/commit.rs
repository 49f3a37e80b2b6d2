//! Commits: a group of batches becomes one log record, then memtable entries, then visible.
//!
//! 1. Refuse what cannot be taken: an unknown keyspace, a stall, a poisoned log.
//! 2. Append one record to the log, in a fresh log if it does not fit.
//! 3. For a synced commit put the log on the medium: older logs that wait first, so that what a
//!    crash takes is always a suffix.
//! 4. Insert into the memtables and publish the last sequence: the group is visible as a whole.
//! 5. Seal memtables that are full.
//!
//! A failed append or sync leaves the log in an unknown state, so the writer is poisoned: nothing
//! is acknowledged after it until the store is reopened.

use super::state::{Keyspaces, SealedLog};
use super::{Engine, lock};
use crate::batch::WriteBatch;
use crate::entry::{MAX_SEQ, Seq, Tag};
use crate::error::{Closed, Corruption, Error, Result, Stall};
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::options::Durability;
use crate::sync::atomic::Ordering;
use crate::wal::{LogWriter, record_bytes};
use std::sync::Arc;

/// Everything under the writer lock.
pub(crate) struct Writer {
    /// The log; `None` before recovery has opened one and after the store was closed.
    pub log: Option<LogWriter>,
    /// The number of the file that the log lies in.
    pub log_file: u64,
    /// Whether the log's file has the usual size.
    pub reusable: bool,
    /// The sequence of the next entry.
    pub next: Seq,
    /// Every entry up to here is on the medium.
    pub synced: Seq,
    /// Full logs that were not synced yet, oldest first.
    pub unsynced: Vec<LogWriter>,
    /// What made the log unusable.
    pub poisoned: Option<Error>,
}

impl Writer {
    /// A writer that takes nothing yet.
    pub fn idle() -> Self {
        Writer {
            log: None,
            log_file: 0,
            reusable: false,
            next: 1,
            synced: 0,
            unsynced: Vec::new(),
            poisoned: None,
        }
    }

    /// The last sequence that was given out.
    pub fn last(&self) -> Seq {
        self.next - 1
    }

    /// Puts everything appended on the medium, oldest log first.
    pub fn sync(&mut self) -> Result<()> {
        if self.synced == self.last() {
            return Ok(());
        }
        if let Some(cause) = &self.poisoned {
            return Err(Error::Poisoned(Box::new(cause.clone())));
        }
        let done = self.unsynced.iter_mut().chain(&mut self.log).try_for_each(LogWriter::sync);
        match done {
            Ok(()) => {
                self.unsynced.clear();
                self.synced = self.last();
                Ok(())
            }
            Err(e) => {
                self.poisoned = Some(e.clone());
                Err(e)
            }
        }
    }
}

impl Engine {
    /// Writes a group of batches as one atomic record.
    ///
    /// # Errors
    /// [`Error::Stalled`] if jobs must run first (nothing was written; try again), a failing medium
    /// (nothing is acknowledged; the log is poisoned), or a bad argument.
    pub fn commit(&self, batches: &[&WriteBatch], durability: Durability) -> Result<Seq> {
        let entries: u64 = batches.iter().map(|b| b.len() as u64).sum();
        if entries == 0 {
            return Ok(self.visible.load(Ordering::Acquire));
        }
        let mut writer = lock(&self.writer);
        if let Some(cause) = &writer.poisoned {
            return Err(Error::Poisoned(Box::new(cause.clone())));
        }
        let keyspaces = self.keyspaces.load_full();
        self.admit(&keyspaces, batches)?;
        let first = writer.next;
        let last = first + entries - 1;
        if last > MAX_SEQ {
            return Err(Error::invalid(
                "sequence number",
                format_args!("at most {MAX_SEQ} entries in the life of a store"),
                last,
            ));
        }
        let parts: Vec<&[u8]> = batches.iter().map(|b| b.bytes()).collect();
        let bytes: usize = parts.iter().map(|p| p.len()).sum();
        if !writer.log.as_ref().is_some_and(|log| log.fits(bytes)) {
            self.rotate_log(&mut writer, bytes)?;
        }
        let synced = writer.synced;
        let log = writer.log.as_mut().ok_or(Error::Closed(Closed::Store))?;
        if let Err(e) = log.append(first, synced, &parts) {
            writer.poisoned = Some(e.clone());
            return Err(e);
        }
        writer.next = last + 1;
        self.counters.logged(bytes as u64, entries);
        if durability == Durability::Sync {
            writer.sync()?;
        }
        let taken = insert(&keyspaces, batches, first)?;
        self.memtable_bytes.fetch_add(taken, Ordering::Relaxed);
        self.visible.store(last, Ordering::Release);
        let touched: Vec<_> = batches.iter().flat_map(|b| b.keyspaces()).copied().collect();
        self.seal_full(&writer, &keyspaces, &touched)?;
        Ok(last)
    }

    /// Puts every earlier write on the medium.
    ///
    /// # Errors
    /// A failing medium; the log is poisoned then.
    pub fn sync(&self) -> Result<()> {
        lock(&self.writer).sync()
    }

    /// Refuses batches that name unknown keyspaces, and writes that must wait.
    fn admit(&self, keyspaces: &Keyspaces, batches: &[&WriteBatch]) -> Result<()> {
        if let Some(cause) = &self.open_state()?.in_doubt {
            return Err(Error::Poisoned(Box::new(cause.clone())));
        }
        for id in batches.iter().flat_map(|b| b.keyspaces()) {
            let keyspace = keyspaces.get(id).ok_or(Error::Closed(Closed::Keyspace))?;
            let view = keyspace.view.load();
            if view.sealed.len() >= self.options.memtables_max {
                return Err(self.stalled(Stall::Memtables));
            }
            if view.tree.level0_runs() >= self.options.level0_runs_max {
                return Err(self.stalled(Stall::Level0));
            }
        }
        Ok(())
    }

    /// A write must wait: for jobs, or not at all if they cannot help.
    fn stalled(&self, reason: Stall) -> Error {
        match lock(&self.state).failed.take() {
            Some(cause) => cause,
            None => {
                self.emit(&Event::Stalled { reason });
                self.counters.stalls.fetch_add(1, Ordering::Relaxed);
                Error::Stalled(reason)
            }
        }
    }

    /// Closes the full log and goes on in the next.
    fn rotate_log(&self, writer: &mut Writer, payload_bytes: usize) -> Result<()> {
        let mut state = self.open_state()?;
        let capacity = record_bytes(payload_bytes).max(self.options.log_bytes);
        let reusable = capacity == self.options.log_bytes;
        let next = self.open_log(&mut state, capacity)?;
        let log = match LogWriter::begin(next.file.clone(), next.number, capacity) {
            Ok(log) => log,
            Err(e) => {
                state.spare_logs.insert(0, next);
                return Err(e);
            }
        };
        let Some(full) = writer.log.replace(log) else { return Ok(()) };
        state.sealed_logs.push(SealedLog {
            number: full.number(),
            file_number: std::mem::replace(&mut writer.log_file, next.file_number),
            file: full.file().clone(),
            last: writer.last(),
            bytes: full.bytes(),
            reusable: std::mem::replace(&mut writer.reusable, reusable),
        });
        if writer.synced < writer.last() {
            writer.unsynced.push(full);
        }
        Ok(())
    }
}

/// Inserts entries with consecutive sequences, and answers the bytes of memory that they take. The
/// batches were checked when they were made.
fn insert(keyspaces: &Keyspaces, batches: &[&WriteBatch], first: Seq) -> Result<u64> {
    let mut taken = 0;
    let mut current: Option<(KeyspaceId, Arc<Memtable>)> = None;
    for (seq, entry) in (first..).zip(batches.iter().flat_map(|b| b.iter())) {
        let (kind, id, key, value) = entry.map_err(|_| {
            Corruption::new("memory", 0, "a sound batch", "one that does not decode")
        })?;
        let memtable = match &current {
            Some((held, memtable)) if *held == id => memtable,
            _ => {
                let keyspace = keyspaces.get(&id).ok_or(Error::Closed(Closed::Keyspace))?;
                &current.insert((id, keyspace.view.load().active.clone())).1
            }
        };
        let before = memtable.bytes();
        memtable.insert(key, Tag::new(seq, kind), value)?;
        taken += (memtable.bytes() - before) as u64;
    }
    Ok(taken)
}
