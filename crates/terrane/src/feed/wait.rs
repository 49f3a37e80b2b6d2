//! Waits for durable batches.
//!
//! 1. A waiter sleeps until a batch is appended.
//! 2. Then it waits [`DELAY`] for a sync, and syncs itself if nobody has. One sync serves all waiters. Further writes
//!    do not wake it: under load a waiter is in this step almost always, and each write would pay for a wake-up.

use super::cursor::FeedCursor;
use super::lineage;
use crate::db::Db;
use crate::engine::Engine;
use crate::entry::Seq;
use crate::error::Result;
use std::sync::Arc;
use std::time::Duration;
use terrane_platform::THREADS;
use terrane_platform::threads::Instant;

/// Time from the append of an awaited batch to its sync: half of the promised 50 ms.
const DELAY: Duration = Duration::from_millis(25);

/// Waits for the batches of a store without keeping it open.
#[derive(Clone)]
pub struct FeedWatch {
    engine: Arc<Engine>,
}

impl Db {
    /// Returns a handle that waits for batches, for a thread that wakes subscribers.
    #[must_use]
    pub fn feed_watch(&self) -> FeedWatch {
        FeedWatch { engine: self.engine().clone() }
    }
}

impl FeedWatch {
    /// Waits for a durable batch after `after`, for at most `most`. Returns the place after the last durable batch,
    /// which may be `after`, or of another lineage.
    ///
    /// # Errors
    /// A closed store; a sync that failed.
    pub fn wait(&self, after: FeedCursor, most: Duration) -> Result<FeedCursor> {
        let sequence = wait(&self.engine, after.sequence, most)?;
        let lineage = lineage::of(&self.engine, &self.engine.state.lock());
        Ok(FeedCursor { lineage, sequence })
    }
}

/// Waits for a durable batch after `after`, for at most `most`; returns the last durable sequence number.
pub(super) fn wait(engine: &Engine, after: Seq, most: Duration) -> Result<Seq> {
    let log = &engine.log;
    let is_open = || engine.state.lock_open().is_ok();
    let is_synced = || log.syncs.synced() > after;
    if !THREADS {
        // No other thread can write meanwhile.
        engine.sync()?;
        return Ok(log.syncs.synced());
    }
    let started = Instant::now();
    loop {
        drop(engine.state.lock_open()?);
        if is_synced() {
            return Ok(log.syncs.synced());
        }
        log.syncs.usable()?;
        let fails = || log.syncs.usable().is_err() || !is_open();
        let Some(left) = most.checked_sub(started.elapsed()) else {
            return Ok(log.syncs.synced());
        };
        if log.last() > after {
            log.syncs.durable.wait(DELAY.min(left), || !is_synced() && !fails());
            if !is_synced() && left > DELAY {
                engine.sync()?;
            }
        } else {
            log.syncs.appends.wait(left, || log.last() <= after && !fails());
        }
    }
}
