//! Throttle: how much background work a write pays for, so that writers slow down before they stall.
//!
//! 1. Below half of the limit they pay nothing: idle time will do.
//! 2. With x the filled share of the other half, a byte written pays for `STEEPNESS * x / (1 - x)`
//!    bytes of jobs: nothing at first, and ever more toward the bound. So whatever work a policy
//!    makes of a byte, there is a point before the bound at which writers pay just that, and a
//!    steady load settles there.
//! 3. Small writes are added up, so that a slice is worth its call.

use super::backpressure::backpressure;
use crate::engine::{Counters, Engine};
use crate::options::Options;
use crate::write::Backpressure;

/// Bytes of jobs for a byte written when three quarters of the room are filled.
const STEEPNESS: u64 = 8;
/// The most bytes of jobs that a byte written pays for.
const WORK_PER_BYTE_MAX: u64 = 64;
/// Bytes of writes that are added up.
const STEP_BYTES: u64 = 16 << 10;

/// Remembers what was paid for.
#[derive(Default)]
pub(crate) struct Throttle {
    /// Bytes written to the store that have been paid for.
    paid: u64,
}

impl Throttle {
    /// Charges the bytes written since the last charge. Returns the bytes of jobs that they pay for.
    pub fn due(&mut self, engine: &Engine) -> u64 {
        match self.step(&engine.counters, &engine.options) {
            0 => 0,
            unpaid => work_due(unpaid, backpressure(engine)),
        }
    }

    /// Charges the bytes written since the last charge and returns them, or returns 0 while a slice is not worth its
    /// call.
    pub fn step(&mut self, counters: &Counters, options: &Options) -> u64 {
        let written = counters.bytes_written();
        if written < self.pays_at(options) {
            return 0;
        }
        written - std::mem::replace(&mut self.paid, written)
    }

    /// Returns the bytes written to the store at which the next payment is due.
    pub fn pays_at(&self, options: &Options) -> u64 {
        // With small memtables in small steps: many to a memtable.
        self.paid.saturating_add(STEP_BYTES.min(options.memtable_bytes / 64))
    }
}

/// Whether writes pay for jobs at all.
pub(crate) fn is_near(Backpressure { filled, room }: Backpressure) -> bool {
    filled > room.saturating_sub(filled)
}

/// Returns the bytes of jobs that `written` bytes pay for.
pub(crate) fn work_due(written: u64, backpressure: Backpressure) -> u64 {
    if !is_near(backpressure) {
        return 0;
    }
    let Backpressure { filled, room } = backpressure;
    let most = written.saturating_mul(WORK_PER_BYTE_MAX);
    let left = room.saturating_sub(filled);
    if left == 0 {
        return most;
    }
    // A share of the room: what rounding takes does not matter, and the product may pass 64 bits.
    let steep = STEEPNESS as f64 * (filled - left) as f64 / (2.0 * left as f64);
    ((written as f64 * steep) as u64).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::sync::atomic::Ordering;
    use crate::{Db, Options};
    use std::sync::Arc;

    #[test]
    fn small_writes_are_added_up_and_each_byte_pays_once() {
        for (memtable_bytes, step) in [(64 << 10, 1 << 10), (16 << 20, STEP_BYTES)] {
            let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
            let options =
                Options { memtable_bytes, memory_bytes: Some(64 << 20), ..Options::small() };
            let db =
                Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap();
            let engine = db.engine();
            // As where flushes are far behind: each byte pays for the most.
            engine.memtables.set_all(u64::MAX);
            engine.memtables.set_sealed(1);
            let mut throttle = Throttle::default();
            let mut write = |bytes: u64| {
                engine.counters.user_bytes.fetch_add(bytes, Ordering::Relaxed);
                throttle.due(engine)
            };
            assert_eq!(write(step - 1), 0);
            assert_eq!(write(1), step * WORK_PER_BYTE_MAX);
            assert_eq!(write(0), 0, "it is paid");
            assert_eq!(write(step - 1), 0);
            assert_eq!(write(1000), (step + 999) * WORK_PER_BYTE_MAX);
        }
    }

    #[test]
    fn writes_pay_nothing_up_to_half_and_ever_more_toward_the_bound() {
        let at = |filled| work_due(1000, Backpressure { filled, room: 1 << 40 });
        let quarter = 1 << 38;
        assert_eq!([at(0), at(quarter), at(2 * quarter)], [0; 3]);
        let near = |filled| is_near(Backpressure { filled, room: 1 << 40 });
        let ends = [0, 2 * quarter, 2 * quarter + 1, 4 * quarter, u64::MAX];
        assert_eq!(ends.map(near), [false, false, true, true, true]);
        assert_eq!(at(3 * quarter), 1000 * STEEPNESS);
        let steps: Vec<_> = (0..=64).map(|n| at(2 * quarter + n * (quarter / 32))).collect();
        assert!(steps.is_sorted(), "{steps:?}");
        assert_eq!([at(4 * quarter), at(u64::MAX)], [1000 * WORK_PER_BYTE_MAX; 2]);
        assert_eq!(work_due(u64::MAX, Backpressure { filled: u64::MAX, room: 1 }), u64::MAX);
    }
}
