//! Flushes and compactions of a range that were asked for: begun, then awaited.
//!
//! 1. A flush has come when every memtable that was sealed for it is in tables.
//! 2. A compaction of a range begins with a flush. Where a running compaction holds tables of the
//!    range, that one ends first. Then its own begins, and has come when it has ended and its tables
//!    are gone; one whose job failed begins again, unless the failure is told first.
//! 3. Jobs do the work. A caller that has a thread to spare has the driver run them ([`Db::flush`]
//!    and [`Keyspace::compact_range`] do so); another looks in now and then, from the beginning on.

use super::handle::Inner;
use super::ranges::RangeCompaction;
use super::{Db, Keyspace};
use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::Range;
use terrane_policy::TableId;

/// A flush or a compaction of a range that was asked for. It keeps the store open; dropped, it takes
/// nothing back.
pub struct Pending {
    db: Db,
    until: Until,
    /// What is compacted, if anything is.
    range: Option<(KeyspaceId, Range)>,
    /// One of the tables of the compaction that has begun.
    input: Option<TableId>,
}

/// What is waited for.
enum Until {
    /// Memtables through this sequence are in tables.
    Flushed(Seq),
    /// This compaction has ended.
    Ended(u64),
}

impl Pending {
    /// Whether it is done. What was written after it was asked for may not be part of it.
    ///
    /// # Errors
    /// What keeps jobs from doing it: a full or failing medium, a closed store, a keyspace that was
    /// dropped.
    pub fn is_done(&mut self) -> Result<bool> {
        let done = self.advance()?;
        if !done {
            let Inner { engine, driver, .. } = &*self.db.inner;
            driver.wake(engine);
        }
        Ok(done)
    }

    /// Asks for what is next, when the time has come; answers whether it is done.
    fn advance(&mut self) -> Result<bool> {
        let engine = self.db.engine();
        loop {
            let has_come = self.has_come();
            // The failure of another job is told, too: what follows would meet it.
            if !(has_come && matches!(self.until, Until::Flushed(_))) {
                engine.failure().map_or(Ok(()), Err)?;
            }
            if !has_come {
                return engine.open_state().map(|_| false);
            }
            let Some((keyspace, range)) = &self.range else { return Ok(true) };
            if let Some(input) = self.input.take()
                && !engine.has_table(*keyspace, input)
            {
                return Ok(true);
            }
            self.until = Until::Ended(match engine.compact_range(*keyspace, range)? {
                RangeCompaction::Nothing => return Ok(true),
                RangeCompaction::Later(number) => number,
                RangeCompaction::Begun(number, input) => {
                    self.input = input;
                    number
                }
            });
        }
    }

    fn has_come(&self) -> bool {
        let engine = self.db.engine();
        match self.until {
            Until::Flushed(through) => engine.flushed(through),
            Until::Ended(number) => !engine.is_compacting(number),
        }
    }

    /// Has the driver run jobs until it is done.
    fn wait(mut self) -> Result<()> {
        while !self.advance()? {
            let Inner { engine, driver, .. } = &*self.db.inner;
            driver.settle(engine, &|_| self.has_come())?;
            // A driver that is told to stop leaves work undone.
            if !self.has_come() {
                return Err(Error::Closed(Closed::Store));
            }
        }
        Ok(())
    }
}

impl Db {
    /// Asks for a flush: what was written before is in tables when it is done.
    ///
    /// # Errors
    /// A closed store.
    pub fn begin_flush(&self) -> Result<Pending> {
        let until = Until::Flushed(self.engine().seal_all()?);
        Ok(Pending { db: self.clone(), until, range: None, input: None })
    }

    /// Turns all memtables into tables, and waits for it.
    ///
    /// # Errors
    /// A failing medium or a full disk.
    pub fn flush(&self) -> Result<()> {
        self.begin_flush()?.wait()
    }
}

impl Keyspace {
    /// Asks for what [`Keyspace::compact_range`] does.
    ///
    /// # Errors
    /// A closed store.
    pub fn begin_compact_range(&self, range: &Range) -> Result<Pending> {
        let range = Some((self.id(), range.clone()));
        Ok(Pending { range, ..self.db.begin_flush()? })
    }

    /// Merges everything that lies in a range into one run, without what no reader can see, and
    /// waits for it.
    ///
    /// # Errors
    /// A failing medium or a full disk.
    pub fn compact_range(&self, range: &Range) -> Result<()> {
        self.begin_compact_range(range)?.wait()
    }
}
