//! What reads cost: counted within an operation, and added up for as long as a store is open.
//!
//! An operation counts in plain integers. At its end each figure that is not zero is one relaxed
//! addition; what memtables answer alone costs none.

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What reads did with tables. Divided by operations, this is their read amplification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReadCounts {
    /// Gets that no memtable answered, or searches of scans: each begins with one.
    pub operations: u64,
    /// Rows that scans showed.
    pub rows: u64,
    /// Tables that a filter ruled out: the key is surely absent.
    pub filter_negatives: u64,
    /// Tables whose filter let a key pass of which the reader could see no version there.
    pub filter_false_positives: u64,
    /// Blocks that were looked into.
    pub blocks: u64,
    /// Those of them that the block cache had.
    pub blocks_cached: u64,
    /// Bytes read from the file system.
    pub bytes_read: u64,
}

const FIGURES: usize = 7;

impl ReadCounts {
    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &ReadCounts) -> ReadCounts {
        self.with(earlier, u64::saturating_sub)
    }

    /// These counts and others.
    #[must_use]
    pub fn plus(&self, others: &ReadCounts) -> ReadCounts {
        self.with(others, u64::saturating_add)
    }

    fn with(&self, other: &ReadCounts, each: fn(u64, u64) -> u64) -> ReadCounts {
        let mut figures = self.figures();
        figures.iter_mut().zip(other.figures()).for_each(|(a, b)| *a = each(*a, b));
        ReadCounts::of(figures)
    }

    fn figures(&self) -> [u64; FIGURES] {
        [
            self.operations,
            self.rows,
            self.filter_negatives,
            self.filter_false_positives,
            self.blocks,
            self.blocks_cached,
            self.bytes_read,
        ]
    }

    fn of(figures: [u64; FIGURES]) -> Self {
        let [
            operations,
            rows,
            filter_negatives,
            filter_false_positives,
            blocks,
            blocks_cached,
            bytes_read,
        ] = figures;
        ReadCounts {
            operations,
            rows,
            filter_negatives,
            filter_false_positives,
            blocks,
            blocks_cached,
            bytes_read,
        }
    }
}

/// Counts of operations that have ended, on a cache line that nothing else shares.
#[derive(Default)]
#[repr(align(128))]
pub struct ReadCounters([AtomicU64; FIGURES]);

impl ReadCounters {
    /// Adds an operation's counts.
    #[inline]
    pub fn add(&self, counts: &ReadCounts) {
        for (total, figure) in self.0.iter().zip(counts.figures()) {
            if figure > 0 {
                total.fetch_add(figure, Relaxed);
            }
        }
    }

    /// The sums.
    pub fn sums(&self) -> ReadCounts {
        ReadCounts::of(self.0.each_ref().map(|total| total.load(Relaxed)))
    }
}
