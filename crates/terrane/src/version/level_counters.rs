//! Filter outcomes of point reads, and blocks that were not cached, by level. A filter that is asked costs an addition
//! to its thread's counts; at levels that few trees have, to counts that threads share, so that each thread has a few
//! cache lines for a keyspace.

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Own, Tallies};
use std::sync::OnceLock;
use terrane_policy::MAX_LEVELS;
use terrane_table::read::Verdict;

/// Counts of a level.
const COUNTS: usize = 5;
/// Places of its counts that are no verdicts: tables without a filter, and blocks that were not cached.
const UNFILTERED: usize = 3;
const BLOCKS_READ: usize = 4;
/// The first levels, whose counts each thread has for itself.
const OWN_LEVELS: usize = 8;
const OWN: usize = COUNTS * OWN_LEVELS;
const DEEPER: usize = COUNTS * MAX_LEVELS - OWN;

/// Counts of one keyspace: for each level the filters that ruled a key out, that passed one which is there, and that
/// passed one which is not; tables without a filter, and blocks that were not cached.
#[derive(Default)]
pub struct LevelCounters {
    first: Tallies<OWN>,
    deeper: Deeper,
}

/// Counts of the levels after the first, once there is one.
type Deeper = OnceLock<Box<[AtomicU64; DEEPER]>>;

/// This thread's counts, and those that threads share.
pub(super) struct OwnLevelCounters<'a> {
    first: Own<'a, OWN>,
    deeper: &'a Deeper,
}

/// Filter outcomes of a level, and its blocks that were not cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// Filters that were asked.
    pub lookups: u64,
    /// Filters among those that did not rule the key out.
    pub passes: u64,
    /// Filters among those whose table had no version of the key visible to the reader.
    pub false_positives: u64,
    /// Tables in which a block was searched without an answer of a filter.
    pub unfiltered: u64,
    /// Blocks that were not in the block cache.
    pub blocks_read: u64,
}

impl LevelCounters {
    /// Returns the counts that this thread adds to.
    #[inline]
    pub(super) fn own(&self) -> OwnLevelCounters<'_> {
        OwnLevelCounters { first: self.first.own(), deeper: &self.deeper }
    }

    /// The counts of a level.
    #[must_use]
    pub fn level(&self, level: usize) -> LevelCounts {
        let sum = |count| match COUNTS * level + count {
            place if place < OWN => self.first.sum(place),
            place => {
                let count = self.deeper.get().and_then(|counts| counts.get(place - OWN));
                count.map_or(0, |count| count.load(Relaxed))
            }
        };
        let false_positives = sum(place(Verdict::FalsePositive));
        let passes = false_positives + sum(place(Verdict::Positive));
        LevelCounts {
            lookups: passes + sum(place(Verdict::Negative)),
            passes,
            false_positives,
            unfiltered: sum(UNFILTERED),
            blocks_read: sum(BLOCKS_READ),
        }
    }
}

impl OwnLevelCounters<'_> {
    /// Counts a search of a table of a level: the answer of its filter if it was asked, and the number of blocks
    /// searched, and of those among them that were read.
    #[inline]
    pub fn add(&self, level: usize, verdict: Option<Verdict>, blocks: u64, blocks_read: u64) {
        let at = COUNTS * level;
        match verdict {
            Some(verdict) => self.add_to(at + place(verdict), 1),
            None if blocks > 0 => self.add_to(at + UNFILTERED, 1),
            None => {}
        }
        if blocks_read > 0 {
            self.add_to(at + BLOCKS_READ, blocks_read);
        }
    }

    #[inline]
    fn add_to(&self, place: usize, more: u64) {
        if place < OWN {
            self.first.add(place, more);
        } else {
            self.add_deeper(place - OWN, more);
        }
    }

    #[cold]
    fn add_deeper(&self, place: usize, more: u64) {
        let zeros = || Box::new(std::array::from_fn(|_| AtomicU64::new(0)));
        if let Some(count) = self.deeper.get_or_init(zeros).get(place) {
            count.fetch_add(more, Relaxed);
        }
    }
}

#[inline]
fn place(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Negative => 0,
        Verdict::Positive => 1,
        Verdict::FalsePositive => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{LevelCounters, LevelCounts, OWN_LEVELS};
    use terrane_policy::MAX_LEVELS;
    use terrane_table::read::Verdict;

    #[test]
    fn each_level_has_counts_of_its_own() {
        let counters = LevelCounters::default();
        let levels = [0, OWN_LEVELS - 1, OWN_LEVELS, MAX_LEVELS - 1];
        for (n, level) in levels.into_iter().enumerate() {
            let verdicts = [Verdict::Negative, Verdict::Positive, Verdict::FalsePositive];
            for verdict in verdicts.map(Some).into_iter().chain([None]) {
                (0..=n).for_each(|_| counters.own().add(level, verdict, 6, 5));
            }
        }
        for (n, level) in (1..).zip(levels) {
            let expected = LevelCounts {
                lookups: 3 * n,
                passes: 2 * n,
                false_positives: n,
                unfiltered: n,
                blocks_read: 20 * n,
            };
            assert_eq!(counters.level(level), expected, "{level}");
        }
        assert_eq!(counters.level(OWN_LEVELS + 1), LevelCounts::default());
    }
}
