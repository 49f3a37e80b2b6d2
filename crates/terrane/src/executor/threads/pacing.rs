//! Pacing: with threads, writers slow down before they stall.
//!
//! 1. The nearer the store is to a stall, by memtables, their memory, level 0, or bytes that wait to be
//!    compacted, the more bytes of jobs a byte written pays for (`write/throttle.rs`): nothing below half of
//!    the limit. What jobs did just before counts.
//! 2. A write that finds less done than was paid for waits for jobs, for moments, and the longer the more it
//!    wrote itself: what is not done by then is left to the writes that follow. So writers slow down to the
//!    pace at which jobs catch up, and none of them waits long.
//! 3. Where no job is queued or runs, nobody waits. A slowdown starts with the first wait, and ends when
//!    the store is far enough from a stall again, or has no job left: a write notices that,
//!    or a worker that has finished a job.

use crate::engine::Engine;
use crate::error::Stall;
use crate::executor::slowdown::Slowdown;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use crate::write;
use crate::write::{Backpressure, Throttle, is_near, work_due};
use std::time::Duration;

/// The longest that a small write waits while more than a quarter of the room is left. Each halving of what
/// is left doubles it, so that many writers, slow down to what jobs can do before they stall.
const WAIT_MAX: Duration = Duration::from_micros(500);
/// Number of doublings at most.
const DOUBLINGS_MAX: u32 = 3;
/// The bytes of a write for which it waits that long; a larger one waits longer.
const WAIT_BYTES: u64 = 8 << 10;
/// The most that writes are spared for what jobs did before, in bytes.
const CREDIT_MAX: u64 = 1 << 20;

/// Work that writes have paid for, and work done by jobs.
#[derive(Default)]
pub(super) struct Pacing {
    /// Bytes that jobs have worked for, about.
    worked: AtomicU64,
    /// Work to reach.
    goal: AtomicU64,
    /// Bytes written at which a write looks further; 0 during a slowdown. Most writes need no lock so.
    looks_at: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    throttle: Throttle,
    /// The stall that is near, while writes pay, and the longest that a small write waits.
    near: Option<(Stall, Duration)>,
    slowdown: Slowdown,
}

/// A wait of a write.
pub(super) struct Pause {
    pub reason: Stall,
    pub most: Duration,
}

impl Pacing {
    /// Adds `bytes` of work by jobs. Returns whether a write may wait for it.
    pub fn work(&self, bytes: u64) -> bool {
        self.worked.fetch_add(bytes, Ordering::AcqRel) < self.goal.load(Ordering::Acquire)
    }

    /// Returns the bytes of work by jobs.
    #[cfg(test)]
    pub fn worked(&self) -> u64 {
        self.worked.load(Ordering::Acquire)
    }

    /// Returns whether jobs have done less than was paid for.
    pub fn is_behind(&self) -> bool {
        self.worked.load(Ordering::Acquire) < self.goal.load(Ordering::Acquire)
    }

    /// Charges recent writes for background work. Returns how long a write of `bytes` should pause, if at
    /// all.
    pub fn pay(&self, engine: &Engine, bytes: u64) -> Option<Pause> {
        if engine.counters.bytes_written() < self.looks_at.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = lock(&self.state);
        let unpaid = state.throttle.step(&engine.counters, &engine.options);
        if unpaid > 0 {
            let (reason, backpressure) = write::nearest_stall(engine);
            let due = work_due(unpaid, backpressure);
            let worked = self.worked.load(Ordering::Acquire);
            let paid = self.goal.load(Ordering::Acquire).max(worked.saturating_sub(CREDIT_MAX));
            // Far enough from a stall again, the rest is forgiven.
            let goal = if due > 0 { paid.saturating_add(due) } else { worked };
            self.goal.store(goal, Ordering::Release);
            state.near = (due > 0).then(|| (reason, wait_max(backpressure)));
            if state.near_stall() != state.slowdown.reason() {
                state.slowdown.report(&engine.jobs.events, None);
            }
            let looks_at = if due > 0 { 0 } else { state.throttle.pays_at(&engine.options) };
            self.looks_at.store(looks_at, Ordering::Relaxed);
        }
        let (reason, wait_max) = state.near?;
        let waits = u32::try_from(bytes / WAIT_BYTES).unwrap_or(u32::MAX).max(1);
        self.is_behind().then(|| Pause { reason, most: wait_max.saturating_mul(waits) })
    }

    /// A write starts to wait, if the stall is still near.
    pub fn begin(&self, engine: &Engine, reason: Stall) {
        let mut state = lock(&self.state);
        if state.near_stall() == Some(reason) {
            state.slowdown.report(&engine.jobs.events, Some(reason));
        }
    }

    /// A worker has finished a job, perhaps the last; returns whether writes that wait may now continue.
    pub fn relieve(&self, engine: &Engine, is_idle: bool) -> bool {
        let mut state = lock(&self.state);
        if state.near.is_none() || !is_idle && is_near(write::backpressure(engine)) {
            return false;
        }
        state.near = None;
        state.slowdown.report(&engine.jobs.events, None);
        self.looks_at.store(state.throttle.pays_at(&engine.options), Ordering::Relaxed);
        // What is not done is forgiven; what was done ahead still counts.
        let worked = self.worked.load(Ordering::Acquire);
        self.goal.fetch_min(worked, Ordering::AcqRel);
        true
    }

    /// The store closes.
    pub fn end(&self, engine: &Engine) {
        let mut state = lock(&self.state);
        // A write that is about to wait starts no slowdown.
        state.near = None;
        state.slowdown.report(&engine.jobs.events, None);
    }
}

impl State {
    fn near_stall(&self) -> Option<Stall> {
        self.near.map(|(reason, _)| reason)
    }
}

/// The longest that a small write waits so near a stall.
fn wait_max(Backpressure { filled, room }: Backpressure) -> Duration {
    let left = room.saturating_sub(filled);
    let halvings = room.checked_div(left).map_or(u32::MAX, |parts| parts.max(1).ilog2());
    WAIT_MAX * (1 << halvings.saturating_sub(1).min(DOUBLINGS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::executor::SliceExecutor;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Options};
    use std::sync::Arc;

    /// The slowdowns that a listener was notified of: the reason, and whether one started or ended.
    type Slowdowns = Arc<Mutex<Vec<(Stall, bool)>>>;

    /// A store of which only the memory of memtables can be near a limit.
    fn open() -> (Db, Slowdowns) {
        let slowdowns = Slowdowns::default();
        let events = slowdowns.clone();
        let listener = move |_, event: &Event| match event {
            Event::SlowdownBegun { reason } => lock(&events).push((*reason, true)),
            Event::SlowdownEnded { reason, .. } => lock(&events).push((*reason, false)),
            _ => {}
        };
        let options = Options { listener: Some(Arc::new(listener)), ..Options::small() };
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let db = Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap();
        db.engine().memtables.set_sealed(1);
        (db, slowdowns)
    }

    /// Sets how much of their memory memtables take, in percent, and counts bytes as written.
    fn write(db: &Db, percent: u64, bytes: u64) {
        let engine = db.engine();
        let taken = engine.options.memtables_share() / 100 * percent;
        engine.memtables.set_all(taken);
        engine.counters.user_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The written bytes at which a payment is due.
    fn step(db: &Db) -> u64 {
        Throttle::default().pays_at(&db.engine().options)
    }

    #[test]
    fn a_write_waits_by_its_own_bytes_whoever_wrote_the_others() {
        let (db, _) = open();
        let pacing = Pacing::default();
        let large = 64 * WAIT_BYTES;
        write(&db, 70, large + 100);
        // The small write comes first, and with it the payment for both.
        for (bytes, waits) in [(100, 1), (large, 64)] {
            let pause = pacing.pay(db.engine(), bytes).unwrap();
            assert_eq!((pause.reason, pause.most), (Stall::Memory, WAIT_MAX * waits));
        }
    }

    #[test]
    fn a_write_waits_the_longer_the_nearer_the_stall() {
        let near = |filled| wait_max(Backpressure { filled, room: 1600 });
        let at = [801, 1199, 1200, 1399, 1400, 1499, 1500, 1599, 1600, 5000];
        let waits = [1, 1, 2, 2, 4, 4, 8, 8, 8, 8].map(|times| WAIT_MAX * times);
        assert_eq!(at.map(near), waits);
        assert_eq!(wait_max(Backpressure { filled: 1, room: 0 }), WAIT_MAX * 8);
    }

    #[test]
    fn a_wait_after_the_end_starts_no_slowdown() {
        let (db, slowdowns) = open();
        let pacing = Pacing::default();
        write(&db, 80, step(&db));
        let pause = pacing.pay(db.engine(), 1).unwrap();
        pacing.end(db.engine());
        pacing.begin(db.engine(), pause.reason);
        assert_eq!(*lock(&slowdowns), []);
    }

    #[test]
    fn a_write_waits_until_jobs_have_done_the_work_that_is_due() {
        let (db, _) = open();
        let pacing = Pacing::default();
        assert!(!pacing.is_behind() && !pacing.work(0), "nothing is due");
        write(&db, 100, step(&db));
        assert!(pacing.pay(db.engine(), 1).is_some() && pacing.is_behind());
        let due = work_due(step(&db), write::backpressure(db.engine()));
        assert!(pacing.work(due - 1) && pacing.is_behind());
        assert!(pacing.work(1) && !pacing.is_behind());
        assert!(!pacing.work(1), "no write waits for work beyond that");
        assert!(pacing.pay(db.engine(), 1).is_none());
    }

    #[test]
    fn work_done_ahead_of_payment_is_credited_up_to_a_limit() {
        for (worked, spared) in [(0, 0), (1000, 1000), (CREDIT_MAX + 1000, CREDIT_MAX)] {
            let (db, _) = open();
            let pacing = Pacing::default();
            pacing.work(worked);
            write(&db, 100, 2 * step(&db));
            assert!(pacing.pay(db.engine(), 1).is_some());
            let due = work_due(2 * step(&db), write::backpressure(db.engine()));
            assert!(pacing.work(due - spared) && !pacing.is_behind(), "{worked}");
            assert!(!pacing.work(0));
        }
    }

    #[test]
    fn a_slowdown_ends_far_from_the_limit_and_the_rest_is_forgiven() {
        let (db, slowdowns) = open();
        let pacing = Pacing::default();
        write(&db, 80, step(&db));
        let pause = pacing.pay(db.engine(), 1).unwrap();
        pacing.begin(db.engine(), pause.reason);
        write(&db, 90, step(&db));
        assert!(pacing.pay(db.engine(), 1).is_some() && pacing.is_behind());
        assert_eq!(*lock(&slowdowns), [(Stall::Memory, true)], "the slowdown goes on");
        write(&db, 40, step(&db));
        assert!(pacing.pay(db.engine(), 1).is_none() && !pacing.is_behind());
        assert_eq!(*lock(&slowdowns), [(Stall::Memory, true), (Stall::Memory, false)]);
        pacing.end(db.engine());
        assert_eq!(lock(&slowdowns).len(), 2);
    }

    #[test]
    fn a_slowdown_without_writes_ends_far_from_the_limit_or_idle() {
        for (percent, is_idle, ends) in
            [(80, false, false), (80, true, true), (40, false, true), (40, true, true)]
        {
            let (db, slowdowns) = open();
            let pacing = Pacing::default();
            write(&db, 80, step(&db));
            let pause = pacing.pay(db.engine(), 1).unwrap();
            pacing.begin(db.engine(), pause.reason);
            write(&db, percent, 0);
            assert_eq!(pacing.relieve(db.engine(), is_idle), ends);
            let events = [(Stall::Memory, true), (Stall::Memory, false)];
            assert_eq!(*lock(&slowdowns), events[..1 + usize::from(ends)]);
            assert_eq!(pacing.is_behind(), !ends, "the rest is forgiven");
            assert!(!pacing.relieve(db.engine(), is_idle) && lock(&slowdowns).len() <= 2);
        }
    }

    #[test]
    fn a_wait_that_is_too_late_starts_no_slowdown_but_the_next_does() {
        let (db, slowdowns) = open();
        let pacing = Pacing::default();
        write(&db, 80, step(&db));
        let late = pacing.pay(db.engine(), 1).unwrap();
        assert!(pacing.relieve(db.engine(), true));
        pacing.begin(db.engine(), late.reason);
        assert_eq!(*lock(&slowdowns), []);
        assert!(pacing.pay(db.engine(), 1).is_none());
        write(&db, 80, step(&db));
        let next = pacing.pay(db.engine(), 1).unwrap();
        pacing.begin(db.engine(), next.reason);
        assert_eq!(*lock(&slowdowns), [(Stall::Memory, true)]);
    }

    #[test]
    fn work_done_ahead_counts_also_after_no_job_was_left() {
        let (db, _) = open();
        let pacing = Pacing::default();
        write(&db, 100, step(&db));
        assert!(pacing.pay(db.engine(), 1).is_some());
        let due = work_due(step(&db), write::backpressure(db.engine()));
        pacing.work(due + 1000);
        assert!(pacing.relieve(db.engine(), true));
        write(&db, 100, step(&db));
        assert!(pacing.pay(db.engine(), 1).is_some());
        let due = work_due(step(&db), write::backpressure(db.engine()));
        assert!(pacing.work(due - 1000) && !pacing.is_behind());
    }

    #[test]
    fn far_from_the_limit_writes_check_it_once_per_payment() {
        let (db, _) = open();
        let (engine, pacing) = (db.engine(), Pacing::default());
        let looks_at = || pacing.looks_at.load(Ordering::Relaxed);
        write(&db, 40, step(&db));
        assert!(pacing.pay(engine, 1).is_none());
        assert_eq!(looks_at(), 2 * step(&db));
        write(&db, 100, step(&db) - 1);
        assert!(pacing.pay(engine, 1).is_none());
        write(&db, 100, 1);
        assert!(pacing.pay(engine, 1).is_some());
        assert_eq!(looks_at(), 0, "each write checks during a slowdown");
    }
}
