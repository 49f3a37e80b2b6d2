//! Flushes and compactions of a range that were asked for: begun, then awaited.
//!
//! 1. A flush has come when every memtable that was sealed for it is in tables.
//! 2. A compaction of a range begins with a flush. Where a running compaction holds tables of the
//!    range, that one ends first. Then its own begins, and has come when it has ended.
//! 3. Jobs do the work. A caller that has a thread to spare has the driver run them ([`Db::flush`]
//!    and [`Keyspace::compact_range`] do so); another looks in now and then.

use super::handle::Inner;
use super::ranges::RangeCompaction;
use super::{Db, Keyspace};
use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::Range;

/// A flush or a compaction of a range that was asked for. It keeps the store open; dropped, it takes nothing
/// back.
pub struct Pending {
    db: Db,
    until: Until,
    /// The range whose compaction has not begun.
    range: Option<(KeyspaceId, Range)>,
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
        let Inner { engine, driver, .. } = &*self.db.inner;
        loop {
            let has_come = self.has_come();
            // A compaction ends, too, when its job fails.
            if !(has_come && matches!(self.until, Until::Flushed(_))) {
                engine.failure().map_or(Ok(()), Err)?;
            }
            if !has_come {
                return engine.open_state().map(|_| false);
            }
            let Some((keyspace, range)) = &self.range else { return Ok(true) };
            let begun = engine.compact_range(*keyspace, range)?;
            self.until = Until::Ended(match begun {
                RangeCompaction::Nothing => return Ok(true),
                RangeCompaction::Later(number) => number,
                RangeCompaction::Begun(number) => {
                    self.range = None;
                    number
                }
            });
            driver.wake(engine);
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
        while !self.is_done()? {
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
        let Inner { engine, driver, .. } = &*self.inner;
        let until = Until::Flushed(engine.seal_all()?);
        driver.wake(engine);
        Ok(Pending { db: self.clone(), until, range: None })
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
