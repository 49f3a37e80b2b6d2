//! Reads and writes of a keyspace, counted for its policy.
//!
//! Counts are relaxed and in memory, and cover what happened since the policy's last plan started, and
//! what was given to a plan of which nothing was installed. Reads of each table are counted only for a
//! policy that watches them, for as long as the table is open in the tree; it is also asked for a plan
//! after a number of them, since nothing else may change in a tree that is only read: only then do threads
//! share the count of reads.

use crate::sync::Tallies;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::version::Tree;
use terrane_policy::{Observed, Policy, READS_BETWEEN};

/// Counts of one keyspace.
#[derive(Default)]
pub(crate) struct AccessStats {
    /// Entries, counted when their memtable is sealed.
    pub updates: AtomicU64,
    point_reads: Reads,
    range_reads: Reads,
    /// Whether the policy watches the reads of each table.
    watched: AtomicBool,
    /// Whether its policy is due because of reads.
    due: AtomicBool,
}

/// A count of reads.
#[derive(Default)]
struct Reads {
    /// Reads under a policy that does not watch them.
    unwatched: Tallies<1>,
    /// Other reads, less those that a plan took.
    others: AtomicU64,
}

impl Reads {
    fn sum(&self) -> u64 {
        self.others.load(Relaxed).wrapping_add(self.unwatched.sum(0))
    }
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

    /// Counts keys looked up. Returns whether the policy is due.
    #[inline]
    pub fn looked_up(&self, keys: usize) -> bool {
        self.read(&self.point_reads, keys as u64)
    }

    /// Counts a scan. Returns whether the policy is due.
    pub fn scanned(&self) -> bool {
        self.read(&self.range_reads, 1)
    }

    #[inline]
    fn read(&self, reads: &Reads, keys: u64) -> bool {
        if !self.watched() {
            reads.unwatched.own().add(0, keys);
            return false;
        }
        self.read_watched(reads, keys)
    }

    fn read_watched(&self, reads: &Reads, keys: u64) -> bool {
        let before = reads.others.fetch_add(keys, Relaxed);
        let is_due = before % READS_BETWEEN + keys >= READS_BETWEEN;
        if is_due {
            self.due.store(true, Relaxed);
        }
        is_due
    }

    /// Returns whether the policy is due because of reads, and resets it.
    pub fn take_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }

    /// Returns the observations for its policy.
    pub fn observed(&self, tree: &Tree) -> Observed {
        let reads = tree.tables().map(|t| (t.table().info().id, t.table().reads()));
        Observed {
            updates: self.updates.load(Relaxed),
            point_reads: self.point_reads.sum(),
            range_reads: self.range_reads.sum(),
            table_reads: if self.watched() {
                reads.filter(|(_, reads)| *reads > 0).collect()
            } else {
                Default::default()
            },
            ..Observed::default()
        }
    }

    /// Takes the observations that a starting plan was made from: its first step reports them.
    pub fn take(&self, observed: &Observed) {
        self.updates.fetch_sub(observed.updates, Relaxed);
        self.point_reads.others.fetch_sub(observed.point_reads, Relaxed);
        self.range_reads.others.fetch_sub(observed.range_reads, Relaxed);
    }

    /// Returns the observations of a plan that ended without an installed step, for the next plan.
    pub fn give_back(&self, unreported: &Observed) {
        self.updates.fetch_add(unreported.updates, Relaxed);
        self.point_reads.others.fetch_add(unreported.point_reads, Relaxed);
        self.range_reads.others.fetch_add(unreported.range_reads, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watching_policy_is_due_after_each_full_number_of_reads() {
        let ignored = AccessStats::default();
        assert!(!ignored.looked_up(10_000) && !ignored.scanned() && !ignored.take_due());
        let stats = AccessStats::default();
        stats.watched.store(true, Relaxed);
        for n in 1..=3 * READS_BETWEEN {
            let full = n % READS_BETWEEN == 0;
            assert_eq!(stats.looked_up(1), full, "{n}");
            assert_eq!(stats.take_due(), full);
            assert!(!stats.take_due(), "it was asked");
        }
        assert!(!stats.scanned(), "scans count by themselves");
        assert!(stats.looked_up(READS_BETWEEN as usize));
        assert!(!stats.looked_up(READS_BETWEEN as usize - 1));
        assert!(stats.looked_up(1));
    }

    #[test]
    fn a_plan_takes_its_observations_and_returns_unreported_ones() {
        let stats = AccessStats::default();
        stats.updates.store(7, Relaxed);
        stats.looked_up(5);
        stats.scanned();
        let counts = |stats: &AccessStats| {
            let observed = stats.observed(&Tree::default());
            (observed.updates, observed.point_reads, observed.range_reads)
        };
        let given = stats.observed(&Tree::default());
        assert_eq!(counts(&stats), (7, 5, 1));
        stats.looked_up(2);
        stats.take(&given);
        assert_eq!(counts(&stats), (0, 2, 0));
        stats.give_back(&given);
        assert_eq!(counts(&stats), (7, 7, 1));
    }
}
