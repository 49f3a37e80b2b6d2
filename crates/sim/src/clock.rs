//! Virtual time, and the queue of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds since the simulation began. Integers, so that the order of events never depends on
/// rounding.
pub(crate) type Time = u64;

/// A duration in [`Time`].
pub(crate) fn nanos(seconds: f64) -> Time {
    (seconds * 1e9).round() as Time
}

/// A time in seconds.
pub(crate) fn seconds(time: Time) -> f64 {
    time as f64 / 1e9
}

/// Future events by time; events of the same time are in insertion order.
#[derive(Default)]
pub(crate) struct Agenda {
    events: BinaryHeap<Reverse<(Time, u64, u64)>>,
    entered: u64,
}

impl Agenda {
    /// Schedules the next step of a job at `at`.
    pub(crate) fn enter(&mut self, at: Time, job: u64) {
        self.entered += 1;
        self.events.push(Reverse((at, self.entered, job)));
    }

    /// The time of the next event; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.events.peek().map_or(Time::MAX, |Reverse((at, _, _))| *at)
    }

    /// Removes the next event; returns its time and its job.
    pub(crate) fn pop(&mut self) -> Option<(Time, u64)> {
        self.events.pop().map(|Reverse((at, _, job))| (at, job))
    }
}
