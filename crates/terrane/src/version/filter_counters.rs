//! Filter outcomes of point reads, by level.
//!
//! A filter that is asked costs one relaxed addition, to the count of its level and what it said; filters of one level
//! that rule a key out one after another cost one together.

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

    /// Counts `filters` filters of a level that ruled a key out.
    #[inline]
    fn add_negatives(&self, level: usize, filters: u64) {
        if let Some(level) = self.0.get(level).filter(|_| filters > 0) {
            level.negatives.fetch_add(filters, Relaxed);
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

/// Verdicts of the filters in one search, from the first level on.
pub(super) struct SearchVerdicts<'a> {
    counters: &'a FilterCounters,
    level: usize,
    /// Filters of the level that ruled the key out, and are not counted yet.
    negatives: u64,
}

impl<'a> SearchVerdicts<'a> {
    pub fn new(counters: &'a FilterCounters) -> Self {
        SearchVerdicts { counters, level: 0, negatives: 0 }
    }

    /// Counts what a filter of a level said.
    #[inline]
    pub fn add(&mut self, level: usize, verdict: Verdict) {
        if verdict != Verdict::Negative {
            return self.counters.add(level, verdict);
        }
        if level != self.level {
            self.counters.add_negatives(self.level, self.negatives);
            (self.level, self.negatives) = (level, 0);
        }
        self.negatives += 1;
    }
}

impl Drop for SearchVerdicts<'_> {
    fn drop(&mut self) {
        self.counters.add_negatives(self.level, self.negatives);
    }
}
