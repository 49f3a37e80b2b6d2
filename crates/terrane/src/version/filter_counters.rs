//! Filter outcomes of point reads, by level.
//!
//! Each filter that is asked costs one relaxed addition, to the count of its level and what it said.

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use terrane_policy::MAX_LEVELS;
use terrane_table::read::Verdict;

/// The counts of one level.
#[derive(Default)]
struct Level {
    negatives: AtomicU64,
    positives: AtomicU64,
    false_positives: AtomicU64,
}

/// Counts of one keyspace.
pub struct FilterCounters([Level; MAX_LEVELS]);

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

impl Default for FilterCounters {
    fn default() -> Self {
        FilterCounters(std::array::from_fn(|_| Level::default()))
    }
}

impl FilterCounters {
    /// Counts what a filter of a level said.
    #[inline]
    pub fn add(&self, level: usize, verdict: Verdict) {
        if let Some(level) = self.0.get(level) {
            let counter = match verdict {
                Verdict::Negative => &level.negatives,
                Verdict::Positive => &level.positives,
                Verdict::FalsePositive => &level.false_positives,
            };
            counter.fetch_add(1, Relaxed);
        }
    }

    /// The counts of a level.
    #[must_use]
    pub fn level(&self, level: usize) -> FilterCounts {
        let Some(level) = self.0.get(level) else { return FilterCounts::default() };
        let false_positives = level.false_positives.load(Relaxed);
        let passes = false_positives + level.positives.load(Relaxed);
        FilterCounts { lookups: passes + level.negatives.load(Relaxed), passes, false_positives }
    }
}
