//! The counters of horizontal growth: how far an admission goes down a fixed number of levels.
//!
//! Level i has a counter `C_i`. An admission joins level 1; where a level is due, all of it continues into
//! the next, and so forth: a cascade, which ends in some level m. It is one merge: the admission with
//! levels 1 to m.
//!
//! * **Leveling.** Counters start at 0 and count arrivals. A level above the last is due when
//!   `C_i > C_(i+1)`, and starts again at 0. After `C(k+l-1, l)` admissions the last counter is k.
//! * **Tiering.** Counters start at k and count down. A level is due at 0: all its runs become one run
//!   of the next. When the cascade has ended in m, every counter above it is set to `C_m`. After
//!   `C(k+l-1, l)` admissions all are 0.

use super::admission::Admission;
use super::combinatorics::least_count;
use super::format::{count, size};
use super::group_builder::{Target, build_groups};
use super::parameter::Choose;
use super::view::View;
use crate::status::{Capacity, Fact};
use terrane_types::{Compaction, Group, Of, Plan, Quantity, Reason, Relation, Term, Unit};

/// Whether a level is one run or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergePolicy {
    /// One run: what arrives is merged with it.
    #[default]
    Leveling,
    /// Several runs: what arrives is one more.
    Tiering,
}

impl MergePolicy {
    /// Returns the target of data that arrives in a level.
    pub(crate) fn target<'a>(self, view: &View<'a>, level: usize) -> Target<'a> {
        match self {
            MergePolicy::Leveling => view.leveled(level),
            MergePolicy::Tiering => view.new_run(level),
        }
    }

    /// The merge of an admission and all levels below 0 that are above `level`, into that level.
    pub(crate) fn groups(self, view: &View, admission: &Admission, level: usize) -> Vec<Group> {
        let mut coming = admission.tables();
        coming.extend(view.shape.between(1, level));
        build_groups(coming, self.target(view, level))
    }
}

impl Choose for MergePolicy {
    fn among(&self) -> &'static [&'static str] {
        &["leveling", "tiering"]
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = if at == 1 { MergePolicy::Tiering } else { MergePolicy::Leveling };
    }
}

/// The counters of the levels from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) merge: MergePolicy,
    pub(crate) counts: Vec<u64>,
    /// Under leveling, by how much more the first counter must be above the second.
    pub(crate) slack: u64,
}

impl Counters {
    /// The counters of empty levels, for `admissions` under tiering.
    pub(crate) fn new(merge: MergePolicy, levels: u64, admissions: u64) -> Self {
        let first = match merge {
            MergePolicy::Leveling => 0,
            MergePolicy::Tiering => least_count(admissions.max(1), levels.max(1)),
        };
        let levels = usize::try_from(levels.max(1)).unwrap_or(1);
        Counters { merge, counts: vec![first; levels], slack: 0 }
    }

    /// Counts an admission; returns the level in which its cascade ends.
    pub(crate) fn admit(&mut self) -> usize {
        match self.merge {
            MergePolicy::Leveling => self.admit_leveled(),
            MergePolicy::Tiering => self.admit_tiered(),
        }
    }

    /// The next admission: one merge, of as much as its cascade takes.
    pub(crate) fn plan(&self, view: &View, admission: Admission) -> Plan {
        let mut after = self.clone();
        let level = after.admit();
        let groups = self.merge.groups(view, &admission, level);
        let reason = format!(
            "{} are admitted: their cascade ends in level {level}, whose counter is {}, in {}",
            size(admission.bytes),
            after.counts.get(level - 1).copied().unwrap_or(0),
            count(groups.len(), "group"),
        );
        let mut terms = vec![admission.term];
        terms.extend(self.terms(level));
        Compaction::parallel(groups, Reason::new(reason, terms)).into()
    }

    /// The comparisons that make the next admission's cascade end in `level`.
    pub(crate) fn terms(&self, level: usize) -> Vec<Term> {
        let mut slack = self.slack;
        let mut terms = Vec::new();
        let levels =
            (1..).zip(&self.counts).zip(self.counts.iter().skip(1).map(Some).chain([None]));
        for ((at, count), below) in levels.take(level) {
            let counter = |count| Quantity::level("counter", at, count);
            let (counter, relation, limit) = match (self.merge, below) {
                (MergePolicy::Tiering, _) => {
                    (counter(count.saturating_sub(1)), Relation::AtMost, Quantity::new("spent", 0))
                }
                (MergePolicy::Leveling, Some(below)) => {
                    let limit = Quantity::level("counter", at + 1, below.saturating_add(slack));
                    (counter(count.saturating_add(1)), Relation::Greater, limit)
                }
                (MergePolicy::Leveling, None) => break,
            };
            terms.push(Term::new(Unit::Count, counter, relation, limit));
            slack = 0;
        }
        terms
    }

    /// Returns the counters, as a policy reports them.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let fact = |(level, count): (usize, &u64)| {
            let (name, of, unit) = ("counter", Of::Levels(level, level), Unit::Count);
            Fact::Number { name, of, value: *count, unit }
        };
        (1..).zip(&self.counts).map(fact).collect()
    }

    /// The capacities of level 0, at B bytes, and of levels that grow with the data.
    pub(crate) fn capacities(&self, level_base_bytes: u64) -> Vec<Capacity> {
        let runs = (self.merge == MergePolicy::Leveling).then_some(1);
        let mut capacities = vec![Capacity { bytes: None, runs }; self.counts.len() + 1];
        if let Some(level0) = capacities.first_mut() {
            *level0 = Capacity { bytes: Some(level_base_bytes), runs: None };
        }
        capacities
    }

    fn admit_leveled(&mut self) -> usize {
        let mut slack = self.slack;
        let mut arrivals = self.counts.iter_mut().peekable();
        let mut ends = 0;
        while let Some(count) = arrivals.next() {
            *count = count.saturating_add(1);
            ends += 1;
            match arrivals.peek() {
                Some(below) if *count > below.saturating_add(slack) => *count = 0,
                _ => break,
            }
            slack = 0;
        }
        ends
    }

    fn admit_tiered(&mut self) -> usize {
        let mut ends = 0;
        let mut left = 0;
        for count in &mut self.counts {
            *count = count.saturating_sub(1);
            ends += 1;
            left = *count;
            if left > 0 {
                break;
            }
        }
        self.counts.iter_mut().take(ends).for_each(|count| *count = left);
        ends
    }

    /// Whether tiering has counted down to the end.
    pub(crate) fn are_spent(&self) -> bool {
        self.merge == MergePolicy::Tiering && self.counts.iter().all(|count| *count == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_reported_by_level_with_a_cascades_comparisons() {
        let counter = |level, value| Quantity::level("counter", level, value);
        let leveling = Counters { merge: MergePolicy::Leveling, slack: 1, counts: vec![6, 5, 2] };
        let value = |(level, value)| {
            let (name, of, unit) = ("counter", Of::Levels(level, level), Unit::Count);
            Fact::Number { name, of, value, unit }
        };
        assert_eq!(leveling.facts(), [(1, 6), (2, 5), (3, 2)].map(value));
        let compared = |terms: Vec<Term>| -> Vec<_> {
            terms.iter().map(|term| (term.left, term.relation, term.right)).collect()
        };
        let (first, second) = (
            (counter(1, 7), Relation::Greater, counter(2, 6)),
            (counter(2, 6), Relation::Greater, counter(3, 2)),
        );
        assert_eq!(compared(leveling.terms(1)), [first]);
        assert_eq!(compared(leveling.terms(2)), [first, second]);
        assert_eq!(compared(leveling.terms(3)), [first, second], "nothing is below the last");
        let tiering = Counters { merge: MergePolicy::Tiering, slack: 0, counts: vec![1, 3] };
        let spent = Quantity::new("spent", 0);
        assert_eq!(compared(tiering.terms(1)), [(counter(1, 0), Relation::AtMost, spent)]);
    }
}
