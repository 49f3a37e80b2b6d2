//! Counters of the store's work.

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
    pub flushed_bytes: AtomicU64,
    pub merge_read_bytes: AtomicU64,
    pub merge_written_bytes: AtomicU64,
    pub stalls: AtomicU64,
    pub waits: Waits,
    /// Bytes discarded by opening.
    pub discarded_bytes: AtomicU64,
    pub gets: ReadCounters,
    /// Shared with scans, which may outlive the engine.
    pub scans: Arc<ReadCounters>,
}

impl Counters {
    /// Counts a group of `bytes`, which became a record of `record` bytes.
    pub fn logged(&self, bytes: u64, entries: u64, record: u64) {
        self.wal_bytes.fetch_add(record, Ordering::Relaxed);
        self.user_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.entries.fetch_add(entries, Ordering::Relaxed);
    }

    /// Returns the bytes of batches that were written since the store was opened.
    pub fn bytes_written(&self) -> u64 {
        self.user_bytes.load(Ordering::Relaxed)
    }

    /// Returns the bytes of writes cut short by a crash that opening found in logs and manifest and discarded. What
    /// was promised is never among these.
    pub fn discarded(&self) -> u64 {
        self.discarded_bytes.load(Ordering::Relaxed)
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

#[cfg(test)]
mod tests {
    use crate::executor::SliceExecutor;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Durability, Options};
    use std::sync::Arc;

    #[test]
    fn what_logs_flushes_and_merges_wrote_is_counted() {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let rows = db.default_keyspace();
        let (mut flushed, mut logged) = (0, 0);
        for round in 0..3u8 {
            let before = db.engine().log.writer().log().bytes();
            rows.put([round], [round; 100], Durability::Buffered).unwrap();
            rows.put([9], [round; 100], Durability::Buffered).unwrap();
            logged += db.engine().log.writer().log().bytes() - before;
            let tables = rows.shape().unwrap().bytes();
            let stats = db.stats().unwrap();
            assert_eq!((stats.wal_bytes, stats.flushed_bytes), (logged, flushed));
            db.flush().unwrap();
            flushed += rows.shape().unwrap().bytes() - tables;
        }
        rows.compact_range(..).unwrap();
        let stats = db.stats().unwrap();
        assert_eq!((stats.flushed_bytes, stats.merge_read_bytes > 0), (flushed, true));
        assert_eq!(stats.merge_written_bytes, rows.shape().unwrap().bytes());
    }
}
