//! Filter outcomes of point reads, by level. A filter that is asked costs an addition to its thread's counts; at levels
//! that few trees have, to counts that threads share, so that each thread has a few cache lines for a keyspace.

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Own, Tallies};
use std::sync::OnceLock;
use terrane_policy::MAX_LEVELS;
use terrane_table::read::Verdict;

/// Counts of a level.
const VERDICTS: usize = 3;
/// The first levels, whose counts each thread has for itself.
const OWN_LEVELS: usize = 8;
const OWN: usize = VERDICTS * OWN_LEVELS;
const DEEPER: usize = VERDICTS * MAX_LEVELS - OWN;

/// Counts of one keyspace: for each level the filters that ruled a key out, that passed one which is there, and that
/// passed one which is not.
#[derive(Default)]
pub struct FilterCounters {
    first: Tallies<OWN>,
    deeper: Deeper,
}

/// Counts of the levels after the first, once there is one.
type Deeper = OnceLock<Box<[AtomicU64; DEEPER]>>;

/// This thread's counts, and those that threads share.
pub(super) struct OwnFilterCounters<'a> {
    first: Own<'a, OWN>,
    deeper: &'a Deeper,
}

/// Filter outcomes of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Filters that were asked.
    pub lookups: u64,
    /// Filters among those that did not rule the key out.
    pub passes: u64,
    /// Filters among those whose table had no version of the key visible to the reader.
    pub false_positives: u64,
}

impl FilterCounters {
    /// Returns the counts that this thread adds to.
    #[inline]
    pub(super) fn own(&self) -> OwnFilterCounters<'_> {
        OwnFilterCounters { first: self.first.own(), deeper: &self.deeper }
    }

    /// The counts of a level.
    #[must_use]
    pub fn level(&self, level: usize) -> FilterCounts {
        let sum = |verdict| match place(level, verdict) {
            place if place < OWN => self.first.sum(place),
            place => {
                let count = self.deeper.get().and_then(|counts| counts.get(place - OWN));
                count.map_or(0, |count| count.load(Relaxed))
            }
        };
        let false_positives = sum(Verdict::FalsePositive);
        let passes = false_positives + sum(Verdict::Positive);
        FilterCounts { lookups: passes + sum(Verdict::Negative), passes, false_positives }
    }
}

impl OwnFilterCounters<'_> {
    /// Counts what a filter of a level said.
    #[inline]
    pub fn add(&self, level: usize, verdict: Verdict) {
        match place(level, verdict) {
            place if place < OWN => self.first.add(place, 1),
            place => self.add_deeper(place - OWN),
        }
    }

    #[cold]
    fn add_deeper(&self, place: usize) {
        let zeros = || Box::new(std::array::from_fn(|_| AtomicU64::new(0)));
        if let Some(count) = self.deeper.get_or_init(zeros).get(place) {
            count.fetch_add(1, Relaxed);
        }
    }
}

#[inline]
fn place(level: usize, verdict: Verdict) -> usize {
    let verdict = match verdict {
        Verdict::Negative => 0,
        Verdict::Positive => 1,
        Verdict::FalsePositive => 2,
    };
    VERDICTS * level + verdict
}

#[cfg(test)]
mod tests {
    use super::{FilterCounters, FilterCounts, OWN_LEVELS};
    use terrane_policy::MAX_LEVELS;
    use terrane_table::read::Verdict;

    #[test]
    fn each_level_has_counts_of_its_own() {
        let counters = FilterCounters::default();
        let levels = [0, OWN_LEVELS - 1, OWN_LEVELS, MAX_LEVELS - 1];
        for (n, level) in levels.into_iter().enumerate() {
            for verdict in [Verdict::Negative, Verdict::Positive, Verdict::FalsePositive] {
                (0..=n).for_each(|_| counters.own().add(level, verdict));
            }
        }
        for (n, level) in (1..).zip(levels) {
            let expected = FilterCounts { lookups: 3 * n, passes: 2 * n, false_positives: n };
            assert_eq!(counters.level(level), expected, "{level}");
        }
        assert_eq!(counters.level(OWN_LEVELS + 1), FilterCounts::default());
    }
}
