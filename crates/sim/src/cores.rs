//! The processor: its cores are shared evenly by the threads that compute.
//!
//! 1. Clients, flushes and merges compute in bursts. While `n` threads compute on `c` cores, each
//!    advances at the rate `min(1, c / n)`, as under a fair scheduler.
//! 2. `work` is the processor time that a thread would have received had it computed all along. A burst of
//!    `b` that starts at `w` ends when that is `w + b`, however the rate changes in between.
//! 3. A thread that waits for the device, for a write stall or for its next operation takes no core.

use crate::clock::{Thread, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The cores, and the bursts that they compute.
pub(crate) struct Cores {
    /// `c`.
    cores: f64,
    work: f64,
    /// Time of `work`.
    at: Time,
    /// End of each burst, as the bits of `work`, which order like the numbers; then in the order of their
    /// starts.
    bursts: BinaryHeap<Reverse<(u64, u64, Thread)>>,
    begun: u64,
    /// The processor time of all threads so far.
    busy: f64,
}

impl Cores {
    /// This many cores; 0 for one for each thread.
    pub(crate) fn new(cores: usize) -> Self {
        let cores = if cores == 0 { f64::INFINITY } else { cores as f64 };
        Cores { cores, work: 0.0, at: 0, bursts: BinaryHeap::new(), begun: 0, busy: 0.0 }
    }

    fn rate(&self) -> f64 {
        (self.cores / self.bursts.len() as f64).min(1.0)
    }

    fn advance(&mut self, now: Time) {
        if self.bursts.is_empty() {
            // Small numbers are exact.
            self.work = 0.0;
        } else {
            let work = now.saturating_sub(self.at) as f64 * self.rate();
            self.work += work;
            self.busy += work * self.bursts.len() as f64;
        }
        self.at = now;
    }

    /// The processor time that all threads have received until the last burst started or ended.
    pub(crate) fn busy(&self) -> Time {
        self.busy as Time
    }

    /// A thread computes from now on, for this much processor time.
    pub(crate) fn begin(&mut self, now: Time, burst: Time, thread: Thread) {
        self.advance(now);
        self.begun += 1;
        let end = self.work + burst as f64;
        self.bursts.push(Reverse((end.to_bits(), self.begun, thread)));
    }

    /// Returns the end of the next burst; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.bursts.peek().map_or(Time::MAX, |Reverse((end, ..))| {
            let left = (f64::from_bits(*end) - self.work).max(0.0);
            self.at.saturating_add((left / self.rate()).ceil() as Time)
        })
    }

    /// Ends the next burst; returns when, and whose it is.
    pub(crate) fn pop(&mut self) -> Option<(Time, Thread)> {
        let at = self.next();
        let Reverse((end, _, thread)) = *self.bursts.peek()?;
        self.advance(at);
        self.work = self.work.max(f64::from_bits(end));
        self.bursts.pop();
        Some((at, thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ends of bursts that start at these times.
    fn ends(cores: usize, bursts: &[(Time, Time)]) -> Vec<Time> {
        let mut processor = Cores::new(cores);
        let mut ends = vec![0; bursts.len()];
        let mut left = bursts.iter().zip(0..).peekable();
        loop {
            let begins = left.peek().map_or(Time::MAX, |((at, _), _)| *at);
            if begins < processor.next() {
                let ((at, burst), number) = left.next().unwrap();
                processor.begin(*at, *burst, Thread::Job(number));
            } else if let Some((at, Thread::Job(number))) = processor.pop() {
                ends[number as usize] = at;
            } else {
                return ends;
            }
        }
    }

    #[test]
    fn threads_beyond_the_cores_share_them_evenly() {
        assert_eq!(ends(0, &[(0, 10), (0, 10), (0, 10)]), [10, 10, 10]);
        assert_eq!(ends(2, &[(0, 10), (0, 10)]), [10, 10]);
        assert_eq!(ends(1, &[(0, 10), (0, 10)]), [20, 20]);
        assert_eq!(ends(2, &[(0, 10), (0, 10), (0, 10), (0, 10)]), [20; 4]);
        // The first is alone for 6, then has half a core for its last 4; the second is then alone.
        assert_eq!(ends(1, &[(0, 10), (6, 20)]), [14, 30]);
        // Nothing is computed in between.
        assert_eq!(ends(1, &[(0, 5), (100, 5)]), [5, 105]);
    }

    #[test]
    fn the_cores_do_neither_more_nor_less_work_than_there_is() {
        for cores in 1..5 {
            let bursts: Vec<_> = (0..40).map(|n| (n * 3, 50 + n * 7 % 31)).collect();
            let all: Time = bursts.iter().map(|(_, burst)| burst).sum();
            let end = *ends(cores, &bursts).iter().max().unwrap();
            let least = all.div_ceil(cores as Time);
            // All but the end is computed on all cores; each end is rounded up.
            assert!((least..least + 120).contains(&end), "{cores}: {end}, at least {least}");
        }
    }
}
