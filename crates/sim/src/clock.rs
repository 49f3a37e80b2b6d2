//! Virtual time, and the queue of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds since the simulation started. Integers, so that the order of events never depends on
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

/// A time in microseconds, as events have it.
pub(crate) fn micros(time: Time) -> u64 {
    time / 1000
}

/// A thread of the machine, to which events happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thread {
    /// A flush, or a worker's part of a merge.
    Job(u64),
    /// A client.
    Client(usize),
}

/// Future events by time; events of the same time are in insertion order.
#[derive(Default)]
pub(crate) struct Agenda {
    events: BinaryHeap<Reverse<(Time, u64, Thread)>>,
    entered: u64,
}

impl Agenda {
    /// Schedules the next step of a thread at `at`.
    pub(crate) fn enter(&mut self, at: Time, thread: Thread) {
        self.entered += 1;
        self.events.push(Reverse((at, self.entered, thread)));
    }

    /// The time of the next event; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.events.peek().map_or(Time::MAX, |Reverse((at, _, _))| *at)
    }

    /// Removes the next event; returns its time and its thread.
    pub(crate) fn pop(&mut self) -> Option<(Time, Thread)> {
        self.events.pop().map(|Reverse((at, _, thread))| (at, thread))
    }
}
