//! Requested flushes and compactions of a range: started, then awaited.
//!
//! 1. A flush is complete when every memtable that was sealed for it is in tables.
//! 2. A compaction of a range starts with a flush. Then the engine makes the range compact in slices
//!    (`ranges`), and it is complete when nothing of it is left to do. A slice whose job failed is
//!    made again, unless the failure is reported first. After one of all keys, small logs replace large ones.
//! 3. Jobs do the work. A caller that has a thread to spare has the executor run them ([`Db::flush`]
//!    and [`Keyspace::compact_range`] do so); another polls from the start.

use crate::db::{Db, Inner, Keyspace};
use crate::engine::Engine;
use crate::entry::Seq;
use crate::error::{Closed, Result};
use crate::executor::wait_until_idle;
use crate::install;
use crate::keyspace::KeyspaceId;
use crate::schedule;
use crate::write;
use std::sync::Arc;
use terrane_table::read::KeyRange;

/// A requested flush or compaction of a range. It keeps the store open; dropping it
/// cancels what has not started, and a range stays as far as it is compacted.
pub struct Waiter {
    db: Db,
    until: Until,
    /// Range compacted after the flush, if any.
    range: Option<(KeyspaceId, KeyRange)>,
}

/// Condition to wait for.
enum Until {
    /// Memtables through this sequence are in tables.
    Flushed(Seq),
    /// A range is compact.
    Compact(Request),
}

/// A range that the engine makes compact, until this is dropped.
struct Request {
    engine: Arc<Engine>,
    keyspace: KeyspaceId,
    number: u64,
    /// Whether it is the range of all keys.
    whole: bool,
}

impl Drop for Request {
    fn drop(&mut self) {
        // Whoever awaits it has the reason already.
        let _ = schedule::take_back_range(&self.engine.state, &self.engine.background, self.number);
    }
}

impl Waiter {
    /// Whether it is done. What was written after it was asked for may not be part of it.
    ///
    /// # Errors
    /// What keeps jobs from completing it: a full disk, an I/O error, a closed store, a keyspace that was
    /// dropped.
    pub fn is_done(&mut self) -> Result<bool> {
        let done = self.advance()?;
        if !done {
            let Inner { engine, executor, .. } = &*self.db.inner;
            executor.wake(engine);
        }
        Ok(done)
    }

    /// Requests the next part when one is complete; returns whether all is done.
    fn advance(&mut self) -> Result<bool> {
        let engine = &self.db.inner.engine;
        loop {
            if !self.is_complete() {
                // The failure of another job is reported: what follows would meet it.
                engine.state.failure().map_or(Ok(()), Err)?;
                return engine.state.lock_open().map(|_| false);
            }
            self.until = match (&self.until, self.range.take()) {
                (Until::Flushed(through), Some((keyspace, range))) => {
                    let whole = range == KeyRange::from(..);
                    let number = schedule::request_range(engine, keyspace, range, *through)?;
                    Until::Compact(Request { engine: engine.clone(), keyspace, number, whole })
                }
                (Until::Flushed(_), None) => return Ok(true),
                (Until::Compact(request), _) => {
                    schedule::take_back_range(&engine.state, &engine.background, request.number)?;
                    if request.whole {
                        install::trim_logs(engine)?;
                    }
                    let there = engine.keyspaces.load().contains_key(&request.keyspace);
                    return if there { Ok(true) } else { Err(Closed::Keyspace.into()) };
                }
            };
        }
    }

    fn is_complete(&self) -> bool {
        match &self.until {
            Until::Flushed(through) => self.db.engine().state.lock().flushes.are_done(*through),
            Until::Compact(request) => {
                request.engine.state.lock().planner.ranges.has_ended(request.number)
            }
        }
    }

    /// Runs jobs on the executor until it is done.
    fn wait(mut self) -> Result<()> {
        while !self.advance()? {
            let Inner { engine, executor, .. } = &*self.db.inner;
            wait_until_idle(&**executor, engine, &|_| self.is_complete())?;
            // A stopped executor leaves work undone.
            if !self.is_complete() {
                return Err(Closed::Store.into());
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
    pub fn begin_flush(&self) -> Result<Waiter> {
        let until = Until::Flushed(write::seal_all(self.engine())?);
        Ok(Waiter { db: self.clone(), until, range: None })
    }

    /// Turns all memtables into tables, and waits for it.
    ///
    /// # Errors
    /// An I/O error or a full disk.
    pub fn flush(&self) -> Result<()> {
        self.begin_flush()?.wait()
    }
}

impl Keyspace {
    /// Asks for what [`Keyspace::compact_range`] does.
    ///
    /// # Errors
    /// A closed store.
    pub fn begin_compact_range(&self, range: impl Into<KeyRange>) -> Result<Waiter> {
        let range = range.into();
        if range.is_empty() {
            let engine = self.db.engine();
            engine.state.writable()?;
            drop(engine.state.lock_open()?);
            return Ok(Waiter { db: self.db.clone(), until: Until::Flushed(0), range: None });
        }
        let range = Some((self.id(), range));
        Ok(Waiter { range, ..self.db.begin_flush()? })
    }

    /// Merges everything that lies in a range into one run, without what no reader can see, and
    /// waits for it. With a range that starts at or behind its end it does nothing, as a scan of it
    /// shows nothing.
    ///
    /// # Errors
    /// An I/O error or a full disk.
    pub fn compact_range(&self, range: impl Into<KeyRange>) -> Result<()> {
        self.begin_compact_range(range)?.wait()
    }
}
