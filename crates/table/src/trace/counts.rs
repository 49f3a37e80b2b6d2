//! The cost of reads, per operation and summed over the time that a store is open.
//!
//! An operation counts in plain integers, which are added to its thread's at its end.

use crate::sync::Tallies;

/// Cost of reads in tables. Divided by `operations`, this is read amplification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReadCounts {
    /// Gets that went past the memtables, and seeks of scans (each scan starts with one).
    pub operations: u64,
    /// Rows that scans returned.
    pub rows: u64,
    /// Table reads that a filter avoided.
    pub filter_negatives: u64,
    /// Tables whose filter passed a key of which they had no visible version.
    pub filter_false_positives: u64,
    /// Blocks read.
    pub blocks: u64,
    /// Blocks among them that were in the block cache.
    pub blocks_cached: u64,
    /// Bytes read from files.
    pub bytes_read: u64,
}

const FIGURES: usize = 7;
/// Places of figures.
const OPERATIONS: usize = 0;
const FILTER_NEGATIVES: usize = 2;

impl ReadCounts {
    /// The difference since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &ReadCounts) -> ReadCounts {
        self.with(earlier, u64::saturating_sub)
    }

    /// The sum of both.
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

/// Sums of the counts of operations that have ended.
#[derive(Default)]
pub struct ReadCounters(Tallies<FIGURES>);

impl ReadCounters {
    /// Adds an operation's counts.
    #[inline]
    pub fn add(&self, counts: &ReadCounts) {
        let ReadCounts { operations, rows, filter_negatives, .. } = *counts;
        if counts.blocks | counts.bytes_read | counts.filter_false_positives | rows == 0 {
            // A get of a missing key: filters alone were asked.
            let own = self.0.own();
            own.add(OPERATIONS, operations);
            own.add(FILTER_NEGATIVES, filter_negatives);
        } else {
            self.add_all(counts);
        }
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(never))]
    fn add_all(&self, counts: &ReadCounts) {
        let own = self.0.own();
        for (n, figure) in counts.figures().into_iter().enumerate() {
            if figure > 0 {
                own.add(n, figure);
            }
        }
    }

    /// The sums.
    pub fn sums(&self) -> ReadCounts {
        ReadCounts::of(std::array::from_fn(|n| self.0.sum(n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(figures: [u64; FIGURES]) -> ReadCounts {
        ReadCounts::of(figures)
    }

    #[test]
    fn each_count_is_added_and_subtracted_by_itself() {
        let (a, b) = (counts([1, 2, 3, 4, 5, 6, 7]), counts([10, 20, 30, 40, 50, 60, 70]));
        assert_eq!((a.operations, a.rows, a.blocks_cached, a.bytes_read), (1, 2, 6, 7));
        assert_eq!((a.filter_negatives, a.filter_false_positives, a.blocks), (3, 4, 5));
        assert_eq!(a.plus(&b), counts([11, 22, 33, 44, 55, 66, 77]));
        assert_eq!(b.since(&a), counts([9, 18, 27, 36, 45, 54, 63]));
        let sums = ReadCounters::default();
        for counts in [a, b, counts([0, 1, 0, 0, 0, 0, 0])] {
            sums.add(&counts);
        }
        assert_eq!(sums.sums(), counts([11, 23, 33, 44, 55, 66, 77]));
    }
}
