//! Filter outcomes of point reads, by level. A filter that is asked costs an addition to its thread's counts.

use crate::sync::{Own, Tallies};
use terrane_policy::MAX_LEVELS;
use terrane_table::read::Verdict;

/// Counts of a level.
const VERDICTS: usize = 3;
const FIGURES: usize = VERDICTS * MAX_LEVELS;

/// Counts of one keyspace: for each level the filters that ruled a key out, that passed one which is there, and that
/// passed one which is not.
#[derive(Default)]
pub struct FilterCounters(Tallies<FIGURES>);

/// This thread's counts.
pub(super) struct OwnFilterCounters<'a>(Own<'a, FIGURES>);

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
        OwnFilterCounters(self.0.own())
    }

    /// The counts of a level.
    #[must_use]
    pub fn level(&self, level: usize) -> FilterCounts {
        let sum = |verdict| self.0.sum(place(level, verdict));
        let false_positives = sum(Verdict::FalsePositive);
        let passes = false_positives + sum(Verdict::Positive);
        FilterCounts { lookups: passes + sum(Verdict::Negative), passes, false_positives }
    }
}

impl OwnFilterCounters<'_> {
    /// Counts what a filter of a level said.
    #[inline]
    pub fn add(&self, level: usize, verdict: Verdict) {
        self.0.add(place(level, verdict), 1);
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
