//! Counters of one kind of job on a store's threads.

use super::background_stats::JobStats;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The jobs of one kind.
#[derive(Default)]
pub(super) struct WorkCounters {
    begun: AtomicU64,
    ended: AtomicU64,
    busy_micros: AtomicU64,
}

impl WorkCounters {
    /// A job has started.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread was busy with it.
    pub fn work(&self, micros: u64) {
        self.busy_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// It is over.
    pub fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts of the threads.
    pub fn stats(&self) -> JobStats {
        let ended = self.ended.load(Ordering::Relaxed);
        let running = self.begun.load(Ordering::Relaxed).saturating_sub(ended);
        let busy_micros = self.busy_micros.load(Ordering::Relaxed);
        JobStats { running, ended, busy_micros, ..JobStats::default() }
    }
}
