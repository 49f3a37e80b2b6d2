//! The store's clock: the times by which values expire.
//!
//! 1. It is read only once a value that expires may have been written: until then every reader's time is 0.
//! 2. Within a process time never goes backward, whatever the clock does.
//! 3. A table can be dropped at its last expiry. Reads compare the time with the next one and wake the planner.

use crate::entry::Millis;
use crate::error::{Error, Result};
use crate::options::WallClock;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The clock of a store, over the wall clock of its options.
pub(crate) struct StoreClock {
    source: Option<WallClock>,
    is_used: AtomicBool,
    /// The latest time that was read.
    latest: AtomicU64,
    /// The time at which planning is due; `Millis::MAX` if no table expires.
    due: AtomicU64,
}

impl StoreClock {
    /// A clock that reads `source`, once it is used.
    pub fn new(source: Option<WallClock>) -> Self {
        StoreClock {
            source,
            is_used: AtomicBool::default(),
            latest: AtomicU64::default(),
            due: AtomicU64::new(Millis::MAX),
        }
    }

    /// Whether there is a clock.
    pub fn exists(&self) -> bool {
        self.source.is_some()
    }

    /// Refuses a store without a clock.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn needed(&self) -> Result<()> {
        if self.exists() {
            return Ok(());
        }
        Err(Error::invalid("Options::wall_clock", "a clock, for values that expire", "none"))
    }

    /// Starts to read the clock: values that expire may be written from now on.
    pub fn start(&self) {
        self.is_used.store(true, Ordering::Release);
    }

    /// The time for readers: 0 while nothing can expire, or without a clock.
    #[inline]
    pub fn now(&self) -> Millis {
        if self.is_used.load(Ordering::Acquire) { self.read() } else { 0 }
    }

    /// The time; 0 without a clock.
    pub fn read(&self) -> Millis {
        let Some(source) = &self.source else { return 0 };
        let (now, latest) = (source(), self.latest.load(Ordering::Acquire));
        if now > latest { self.latest.fetch_max(now, Ordering::AcqRel).max(now) } else { latest }
    }

    /// Notes the last expiry of a table.
    pub fn note_expiry(&self, at: Millis) {
        self.due.fetch_min(at, Ordering::AcqRel);
    }

    /// Whether the last expiry of a table has passed by `now`.
    #[inline]
    pub fn is_due(&self, now: Millis) -> bool {
        let due = self.due.load(Ordering::Acquire);
        now >= due && due != Millis::MAX
    }

    /// Returns `true` once for the times noted that have passed.
    pub fn take_due(&self) -> bool {
        let is_due = self.is_due(self.now());
        if is_due {
            self.due.store(Millis::MAX, Ordering::Release);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn settable() -> (Arc<AtomicU64>, StoreClock) {
        let time = Arc::new(AtomicU64::new(0));
        let source = time.clone();
        (time, StoreClock::new(Some(Arc::new(move || source.load(Ordering::Relaxed)))))
    }

    #[test]
    fn the_time_is_0_until_it_is_used_and_never_goes_backward() {
        let (time, clock) = settable();
        time.store(9, Ordering::Relaxed);
        assert_eq!(clock.now(), 0);
        clock.start();
        assert_eq!(clock.now(), 9);
        time.store(7, Ordering::Relaxed);
        assert_eq!((clock.now(), clock.read()), (9, 9));
        let none = StoreClock::new(None);
        none.start();
        assert_eq!((none.exists(), none.now()), (false, 0));
    }

    #[test]
    fn planning_is_due_once_for_each_time_that_is_noted() {
        let (time, clock) = settable();
        clock.start();
        [8, 5, 6].into_iter().for_each(|at| clock.note_expiry(at));
        let at = |now| {
            time.store(now, Ordering::Relaxed);
            clock.take_due()
        };
        assert_eq!([4, 5, 9].map(at), [false, true, false]);
    }
}
