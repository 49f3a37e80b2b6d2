//! A model of `crossbeam_epoch` under loom: what is deferred runs once no thread is pinned that was pinned then. It
//! runs as early as it may, so that a reader whose pin ended too soon, or that started too late, is found.

use super::lock_free::{Mutex, lock};
use loom::lazy_static;

type Deferred = Box<dyn FnOnce() + Send>;

/// Pins, by their numbers, and what is deferred, with the pins that it waits for.
#[derive(Default)]
struct Epoch {
    pins: u64,
    pinned: Vec<u64>,
    deferred: Vec<(Vec<u64>, Deferred)>,
}

lazy_static! {
    static ref EPOCH: Mutex<Epoch> = Mutex::new(Epoch::default());
}

/// Keeps this thread pinned.
pub struct Guard(u64);

/// Pins this thread.
pub fn pin() -> Guard {
    let mut epoch = lock(&EPOCH);
    epoch.pins += 1;
    let pin = epoch.pins;
    epoch.pinned.push(pin);
    Guard(pin)
}

impl Guard {
    /// Runs `work` once all pins that are held now have ended.
    pub fn defer<R>(&self, work: impl FnOnce() -> R + Send + 'static) {
        let mut epoch = lock(&EPOCH);
        let pinned = epoch.pinned.clone();
        epoch.deferred.push((pinned, Box::new(|| drop(work()))));
    }

    /// Does nothing, since no deferred work is kept in a thread's own buffer here.
    pub fn flush(&self) {}
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut epoch = lock(&EPOCH);
        epoch.pinned.retain(|pin| *pin != self.0);
        let mut due = Vec::new();
        for (mut pins, work) in std::mem::take(&mut epoch.deferred) {
            pins.retain(|pin| *pin != self.0);
            if pins.is_empty() {
                due.push(work);
            } else {
                epoch.deferred.push((pins, work));
            }
        }
        drop(epoch);
        due.into_iter().for_each(|work| work());
    }
}
