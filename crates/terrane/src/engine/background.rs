//! Background work, as the engine and its executor signal it to each other.

use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

/// Signals between the engine and the executor of its jobs.
pub(crate) struct Background {
    /// Whether a job may be ready. Obsolete files set it, too.
    work: Arc<AtomicBool>,
    /// Whether a keyspace's policy may be due because of reads.
    reads_due: AtomicBool,
    /// Number of merges that the executor runs at once.
    workers: AtomicUsize,
    /// The most bytes that jobs may take in a second, or 0.
    rate: AtomicU64,
}

impl Background {
    /// Signals over `work`, with a limit of `bytes_per_second`.
    pub fn new(work: Arc<AtomicBool>, bytes_per_second: u64) -> Self {
        Background {
            work,
            reads_due: AtomicBool::default(),
            workers: AtomicUsize::default(),
            rate: AtomicU64::new(bytes_per_second),
        }
    }

    /// Notes that a job may be ready.
    pub fn notify_work(&self) {
        self.work.store(true, Ordering::Release);
    }

    /// Whether a job may be ready. Cheap; an executor asks after every write.
    pub fn work_waits(&self) -> bool {
        self.work.load(Ordering::Acquire)
    }

    /// Notes that every kind of job is about to be searched for: later work sets
    /// [`Background::work_waits`] again.
    pub fn search_begins(&self) {
        self.work.store(false, Ordering::Release);
    }

    /// Makes the next search for jobs look for keyspaces whose policies are due because of reads.
    pub fn notify_reads_due(&self) {
        self.reads_due.store(true, Ordering::Relaxed);
        self.notify_work();
    }

    /// Returns whether a policy may be due because of reads, and resets it.
    pub fn take_reads_due(&self) -> bool {
        self.reads_due.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of merges that may run at once, for planners.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed).max(1)
    }

    /// Sets how many merges may run at once.
    pub fn set_workers(&self, workers: usize) {
        self.workers.store(workers, Ordering::Relaxed);
    }

    /// Returns the most bytes that flushes and merges may take in a second; 0 for any.
    pub fn bytes_per_second(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }

    /// Sets the most bytes that flushes and merges may take in a second; 0 for any.
    pub fn set_bytes_per_second(&self, bytes: u64) {
        self.rate.store(bytes, Ordering::Relaxed);
    }
}
