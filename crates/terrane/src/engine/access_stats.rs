//! Reads and writes of a keyspace, counted for its policy.
//!
//! Counts are relaxed, and cover what happened since the last plan began. Reads of each table are
//! counted only for a policy that watches them; it is asked for a plan after so many of them, too,
//! since nothing else may change in a tree that is only read.

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::version::Tree;
use terrane_policy::{Observed, Policy, READS_BETWEEN};

/// Counts of one keyspace.
#[derive(Default)]
pub(crate) struct AccessStats {
    /// Entries, counted when their memtable is sealed.
    pub updates: AtomicU64,
    point_reads: AtomicU64,
    range_reads: AtomicU64,
    /// Whether the policy watches the reads of each table.
    watched: AtomicBool,
    /// Whether it is to be asked because of what was read.
    due: AtomicBool,
}

impl AccessStats {
    /// Counts for a policy.
    pub fn of(policy: &dyn Policy) -> Self {
        let access_stats = AccessStats::default();
        access_stats.watch_for(policy);
        access_stats
    }

    /// Counts for another policy from now on.
    pub fn watch_for(&self, policy: &dyn Policy) {
        self.watched.store(policy.watches_reads(), Relaxed);
    }

    /// Whether the reads of each table count.
    pub fn watched(&self) -> bool {
        self.watched.load(Relaxed)
    }

    /// Counts keys looked up; returns whether the policy is to be asked.
    pub fn looked_up(&self, keys: usize) -> bool {
        let keys = keys as u64;
        let before = self.point_reads.fetch_add(keys, Relaxed);
        let is_due = self.watched() && before % READS_BETWEEN + keys >= READS_BETWEEN;
        if is_due {
            self.due.store(true, Relaxed);
        }
        is_due
    }

    /// Counts a scan.
    pub fn scanned(&self) {
        self.range_reads.fetch_add(1, Relaxed);
    }

    /// Whether the policy is to be asked because of what was read; asked once.
    pub fn take_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }

    /// What its policy is given.
    pub fn observed(&self, tree: &Tree) -> Observed {
        let reads = tree.tables().map(|t| (t.table().info().id, t.reads().load(Relaxed)));
        Observed {
            updates: self.updates.load(Relaxed),
            point_reads: self.point_reads.load(Relaxed),
            range_reads: self.range_reads.load(Relaxed),
            table_reads: if self.watched() {
                reads.filter(|(_, reads)| *reads > 0).collect()
            } else {
                Default::default()
            },
        }
    }

    /// A plan begins that was made of this: counting starts again.
    pub fn reset(&self, observed: &Observed, tree: &Tree) {
        self.updates.fetch_sub(observed.updates, Relaxed);
        self.point_reads.fetch_sub(observed.point_reads, Relaxed);
        self.range_reads.fetch_sub(observed.range_reads, Relaxed);
        for (id, reads) in &observed.table_reads {
            if let Some(table) = tree.table(*id) {
                table.reads().fetch_sub(*reads, Relaxed);
            }
        }
    }
}
