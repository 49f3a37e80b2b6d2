//! The batches after a cursor.
//!
//! Each read of the logs:
//! 1. Under the state's lock check that the cursor is still valid, and find the log with the next batch: a retained
//!    one, a full one, or the one that is appended to.
//! 2. Read some batches of it, without a lock. They are whole, since only durable batches are read.
//! 3. If a record cannot be read, look again. The log may have been forgotten meanwhile, and its file recycled. A log
//!    that is still there is damaged.
//!
//! Between two reads nothing is held: no file, no lock, and no space.

use super::change::ChangeBatch;
use super::cursor::{FeedCursor, Lineage};
use super::names::Names;
use super::{lineage, wait};
use crate::db::Db;
use crate::engine::HeldLog;
use crate::entry::Seq;
use crate::error::{Corruption, Result};
use crate::rules::Rule;
use crate::wal::{Place, Records, read_records};
use std::time::Duration;

/// Bytes of batches that a subscriber reads at once, unless one is longer.
const READ_BYTES: usize = 64 << 10;
/// Time after which a waiting subscriber checks whether its lineage has ended.
const LOOK: Duration = Duration::from_secs(1);

/// The batches of a store after a [`FeedCursor`], oldest first.
///
/// As an iterator it waits for the next batch; it ends after an error. [`Changes::try_next`] does not wait.
pub struct Changes {
    db: Db,
    lineage: Lineage,
    /// The sequence number of the next batch to return.
    next: Seq,
    /// Batches that were read and not returned, the last first.
    ready: Vec<(Seq, Vec<u8>)>,
    /// The keyspaces that they name.
    names: Names,
    /// The place in a log behind them.
    place: Option<Place>,
    failed: bool,
}

impl Db {
    /// Returns the batches after `since`: first those in the logs, then those that are written meanwhile. Each is
    /// returned once it is durable; while a subscriber waits, batches become durable within 50 ms.
    ///
    /// [`Options::feed_bytes`](field@crate::Options::feed_bytes) bounds how far back the feed reaches. Removals by
    /// compactions, and keyspaces that are created without a batch, are not in it. The removal of a keyspace is.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("notes");
    /// use terrane::{Change, Db, Durability, Options};
    ///
    /// let db = Db::open(&path, Options::default().feed_bytes(64 << 20))?;
    /// let cursor = db.feed_cursor();
    /// db.default_keyspace().put("key", "value", Durability::Buffered)?;
    ///
    /// let mut changes = db.changes(cursor)?;
    /// let batch = changes.next().unwrap()?;
    /// let put = Change::Put { key: b"key", value: b"value", expires: None };
    /// assert_eq!(batch.changes().collect::<Vec<_>>(), [("default", put)]);
    /// assert_eq!(batch.cursor(), db.feed_cursor());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Cursor`] for a cursor from which the feed cannot continue; a closed store.
    pub fn changes(&self, since: FeedCursor) -> Result<Changes> {
        let engine = self.engine();
        lineage::check(engine, &*engine.state.lock_open()?, since)?;
        Ok(Changes {
            db: self.clone(),
            lineage: since.lineage,
            next: since.sequence + 1,
            ready: Vec::new(),
            names: Names::default(),
            place: None,
            failed: false,
        })
    }
}

impl Changes {
    /// Returns the place after the last batch that was returned.
    #[must_use]
    pub fn cursor(&self) -> FeedCursor {
        FeedCursor { lineage: self.lineage, sequence: self.next - 1 }
    }

    /// Returns the next batch, or `None` if it is not durable yet.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Cursor`] if the feed no longer has the next batch, or the store has another lineage; damage,
    /// an I/O error, a closed store.
    pub fn try_next(&mut self) -> Result<Option<ChangeBatch>> {
        if self.ready.is_empty() {
            self.read()?;
        }
        Ok(self.take())
    }

    /// Returns the next batch, or `None` if none is durable within `most`.
    ///
    /// # Errors
    /// The errors of [`Changes::try_next`]; a sync that failed.
    pub fn next_within(&mut self, most: Duration) -> Result<Option<ChangeBatch>> {
        if let Some(batch) = self.try_next()? {
            return Ok(Some(batch));
        }
        wait::wait(self.db.engine(), self.next - 1, most)?;
        self.try_next()
    }

    /// Returns a batch that was read.
    fn take(&mut self) -> Option<ChangeBatch> {
        let (sequence, bytes) = self.ready.pop()?;
        self.next = sequence + 1;
        Some(ChangeBatch { cursor: self.cursor(), bytes, names: self.names.clone() })
    }

    /// Reads batches of the log that has the next one.
    fn read(&mut self) -> Result<()> {
        let mut lost: Option<(Place, String)> = None;
        loop {
            let log = &self.db.engine().log;
            let through = if Rule::FeedAfterSync.holds() { log.syncs.synced() } else { log.last() };
            let Some((log, names)) = self.locate()? else { return Ok(()) };
            if through < self.next {
                return Ok(());
            }
            let through = log.through.map_or(through, |last| last.min(through));
            let start = Place { log: log.id, offset: 0 };
            let place = self.place.filter(|place| place.log == log.id).unwrap_or(start);
            if let Some((before, found)) = lost.take().filter(|(before, _)| *before == place) {
                let expected = format!("the record with sequence {}", self.next);
                let name = log.file.name();
                return Err(Corruption::new(name, before.offset, expected, found).into());
            }
            let Records { mut batches, place, lost: reason } =
                read_records(&log, place, self.next, through, READ_BYTES)?;
            self.place = Some(place);
            if !batches.is_empty() {
                batches.reverse();
                (self.ready, self.names) = (batches, names);
                return Ok(());
            }
            lost = reason.map(|reason| (place, reason));
        }
    }

    /// Returns the log with the next batch, and the keyspaces that batches of now name; `None` if the batch is not
    /// written yet.
    fn locate(&self) -> Result<Option<(HeldLog, Names)>> {
        let engine = self.db.engine();
        loop {
            let state = engine.state.lock_open()?;
            lineage::check(engine, &state, self.cursor())?;
            let names = Names::of(&state.version_set);
            let first = state.version_set.log_start;
            let full = || state.logs.full_with(self.next, first);
            if let Some(log) = state.logs.retained.with(self.next).or_else(full) {
                return Ok(Some((log, names)));
            }
            let tail = engine.log.tail();
            drop(state);
            match tail {
                // The previous log is full, and is not listed among the full ones yet.
                Some(tail) if tail.first > self.next => drop(engine.log.writer()),
                Some(tail) => return Ok(Some((tail.held(), names))),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for Changes {
    type Item = Result<ChangeBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            match self.next_within(LOOK) {
                Ok(Some(batch)) => return Some(Ok(batch)),
                Ok(None) => {}
                Err(e) => {
                    self.failed = true;
                    return Some(Err(e));
                }
            }
        }
        None
    }
}
