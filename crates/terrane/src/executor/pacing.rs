//! Pacing: with threads, writers slow down before they stall.
//!
//! 1. The nearer the store is to a stall, by memtables, their memory, level 0, or bytes that wait to be
//!    compacted, the more bytes of jobs a byte written pays for (`write/throttle.rs`): nothing below half of
//!    the limit. What jobs did just before counts.
//! 2. A write that finds less done than was paid for waits for jobs, for moments: what is not done by then
//!    is left to the writes that follow. So writers slow down to the pace at which jobs catch up, and none
//!    of them waits long.
//! 3. Where no job is queued or runs, nobody waits.

use crate::engine::Engine;
use crate::error::Stall;
use crate::event::Event;
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
    /// The slowdown that the listener was told of, and when.
    told: Option<(Stall, u64)>,
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

    /// Has what was written pay; returns the wait for that, if there is one.
    pub fn pay(&self, engine: &Engine) -> Option<Pause> {
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
            state.tell(engine, (due > 0).then_some(reason));
            let looks_at = if due > 0 { 0 } else { state.throttle.pays_at(engine) };
            self.looks_at.store(looks_at, Ordering::Relaxed);
        }
        let (reason, _) = state.told?;
        let waits = u32::try_from(unpaid / WAIT_BYTES).unwrap_or(u32::MAX).max(1);
        self.is_behind().then(|| Pause { reason, most: WAIT_MAX.saturating_mul(waits) })
    }

    /// The store closes.
    pub fn end(&self, engine: &Engine) {
        lock(&self.state).tell(engine, None);
    }
}

impl State {
    /// Tells the listener where a slowdown begins or ends, or has another reason.
    fn tell(&mut self, engine: &Engine, reason: Option<Stall>) {
        if self.told.map(|(told, _)| told) == reason {
            return;
        }
        let now = engine.jobs.events.micros();
        if let Some((reason, began)) = self.told.take() {
            let lasted_micros = now.saturating_sub(began);
            engine.emit(|| Event::SlowdownEnded { reason, lasted_micros });
        }
        if let Some(reason) = reason {
            engine.emit(|| Event::SlowdownBegun { reason });
            self.told = Some((reason, now));
        }
    }
}
