//! Pacing: with threads, writers slow down before they stall.
//!
//! 1. The nearer the store is to a stall, by memtables, their memory, level 0, or bytes that wait to be
//!    compacted, the more bytes of jobs a byte written pays for (`write/throttle.rs`): nothing below half of
//!    the limit. What jobs did just before counts.
//! 2. A write that finds less done than was paid for waits for jobs, for moments, and the longer the more it
//!    wrote itself: what is not done by then is left to the writes that follow. So writers slow down to the
//!    pace at which jobs catch up, and none of them waits long.
//! 3. Where no job is queued or runs, nobody waits. A slowdown begins with the first wait, and ends when
//!    there is room again.

use super::slowdown::Slowdown;
use crate::engine::Engine;
use crate::error::Stall;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use crate::write::{Throttle, work_due};
use std::time::Duration;

/// The longest that a small write waits.
const WAIT_MAX: Duration = Duration::from_millis(1);
/// The bytes of a write for which it waits that long; a larger one waits longer.
const WAIT_BYTES: u64 = 16 << 10;
/// The most that writes are spared for what jobs did before, in bytes.
const CREDIT_MAX: u64 = 1 << 20;

/// What writes have paid for, and what jobs have done.
#[derive(Default)]
pub(super) struct Pacing {
    /// Bytes that jobs have worked for, about.
    worked: AtomicU64,
    /// How far they are to be.
    goal: AtomicU64,
    /// How many bytes are to be written for a write to look further: none while a slowdown lasts. Most
    /// writes need no lock so.
    looks_at: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    throttle: Throttle,
    /// The stall that is near, while writes pay.
    near: Option<Stall>,
    slowdown: Slowdown,
}

/// A wait that a write is to make.
pub(super) struct Pause {
    pub reason: Stall,
    pub most: Duration,
}

impl Pacing {
    /// Jobs have worked for so many bytes; returns whether a write may wait for that.
    pub fn work(&self, bytes: u64) -> bool {
        self.worked.fetch_add(bytes, Ordering::AcqRel) < self.goal.load(Ordering::Acquire)
    }

    /// Whether less is done than was paid for.
    pub fn is_behind(&self) -> bool {
        self.worked.load(Ordering::Acquire) < self.goal.load(Ordering::Acquire)
    }

    /// Has what was written pay; returns the wait of a write of so many bytes, if it is to wait.
    pub fn pay(&self, engine: &Engine, bytes: u64) -> Option<Pause> {
        if engine.bytes_written() < self.looks_at.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = lock(&self.state);
        let unpaid = state.throttle.step(engine);
        if unpaid > 0 {
            let (reason, backpressure) = engine.nearest_stall();
            let due = work_due(unpaid, backpressure);
            let worked = self.worked.load(Ordering::Acquire);
            let paid = self.goal.load(Ordering::Acquire).max(worked.saturating_sub(CREDIT_MAX));
            // With enough room again, the rest is forgiven.
            let goal = if due > 0 { paid.saturating_add(due) } else { worked };
            self.goal.store(goal, Ordering::Release);
            state.near = (due > 0).then_some(reason);
            if state.near != state.slowdown.reason() {
                state.slowdown.tell(engine, None);
            }
            let looks_at = if due > 0 { 0 } else { state.throttle.pays_at(engine) };
            self.looks_at.store(looks_at, Ordering::Relaxed);
        }
        let reason = state.near?;
        let waits = u32::try_from(bytes / WAIT_BYTES).unwrap_or(u32::MAX).max(1);
        self.is_behind().then(|| Pause { reason, most: WAIT_MAX.saturating_mul(waits) })
    }

    /// A write begins to wait.
    pub fn begin(&self, engine: &Engine, reason: Stall) {
        lock(&self.state).slowdown.tell(engine, Some(reason));
    }

    /// The store closes.
    pub fn end(&self, engine: &Engine) {
        lock(&self.state).slowdown.tell(engine, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Options};
    use std::sync::Arc;

    #[test]
    fn a_write_waits_by_its_own_bytes_whoever_wrote_those_that_it_pays_for() {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let engine = db.engine();
        // As where flushes are far behind.
        engine.memtable_bytes.store(u64::MAX, Ordering::Relaxed);
        engine.sealed_bytes.store(1, Ordering::Relaxed);
        let pacing = Pacing::default();
        let large = 64 * WAIT_BYTES;
        engine.counters.user_bytes.fetch_add(large + 100, Ordering::Relaxed);
        // The small write comes first, and with it the payment for both.
        for (bytes, waits) in [(100, 1), (large, 64)] {
            let pause = pacing.pay(engine, bytes).unwrap();
            assert_eq!((pause.reason, pause.most), (Stall::Memory, WAIT_MAX * waits));
        }
    }
}
