//! What the store's work has cost.

use super::waits::Waits;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::version::LiveTable;
use std::sync::Arc;
use terrane_table::read::ReadCounters;

/// Work done since the store was opened.
#[derive(Default)]
pub(crate) struct Counters {
    pub user_bytes: AtomicU64,
    pub entries: AtomicU64,
    pub wal_bytes: AtomicU64,
    /// Bytes of records in the log that is appended to.
    pub log_end: AtomicU64,
    pub flushed_bytes: AtomicU64,
    pub merge_read_bytes: AtomicU64,
    pub merge_written_bytes: AtomicU64,
    pub stalls: AtomicU64,
    pub waits: Waits,
    /// What opening discarded.
    pub discarded_bytes: AtomicU64,
    pub gets: ReadCounters,
    /// Shared with scans, which may outlive the engine.
    pub scans: Arc<ReadCounters>,
}

impl Counters {
    /// A group of `bytes` became a record, which takes these of its log.
    pub fn logged(&self, bytes: u64, entries: u64, record: std::ops::Range<u64>) {
        self.wal_bytes.fetch_add(record.end - record.start, Ordering::Relaxed);
        self.log_end.store(record.end, Ordering::Relaxed);
        self.user_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.entries.fetch_add(entries, Ordering::Relaxed);
    }

    pub fn flushed(&self, bytes: u64) {
        self.flushed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a merge.
    pub fn merged(&self, read_bytes: u64, outputs: &[Arc<LiveTable>]) {
        let written: u64 = outputs.iter().map(|t| t.table().info().bytes).sum();
        self.merge_read_bytes.fetch_add(read_bytes, Ordering::Relaxed);
        self.merge_written_bytes.fetch_add(written, Ordering::Relaxed);
    }
}
