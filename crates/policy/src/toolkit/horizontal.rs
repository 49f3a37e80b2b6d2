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
use terrane_types::{Compaction, Effect, Group, Of, Plan, Quantity, Reason, Relation, Term, Unit};

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
        self.cascade().0
    }

    /// Counts an admission; returns the level in which its cascade ends, and the comparisons that decide that.
    pub(crate) fn cascade(&mut self) -> (usize, Vec<Term>) {
        match self.merge {
            MergePolicy::Leveling => self.cascade_leveled(),
            MergePolicy::Tiering => self.cascade_tiered(),
        }
    }

    /// The next admission: one merge, of as much as its cascade takes.
    pub(crate) fn plan(&self, view: &View, admission: Admission) -> Plan {
        let mut after = self.clone();
        let (level, cascade) = after.cascade();
        let groups = self.merge.groups(view, &admission, level);
        let reason = format!(
            "{} are admitted: their cascade ends in level {level}, whose counter is {}, in {}",
            size(admission.bytes),
            after.counts.get(level - 1).copied().unwrap_or(0),
            count(groups.len(), "group"),
        );
        let mut terms = vec![admission.term];
        terms.extend(cascade);
        Compaction::parallel(groups, Reason::new(reason, terms)).into()
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

    fn cascade_leveled(&mut self) -> (usize, Vec<Term>) {
        let mut slack = self.slack;
        let mut arrivals = self.counts.iter_mut().peekable();
        let (mut ends, mut terms) = (0, Vec::new());
        while let Some(count) = arrivals.next() {
            *count = count.saturating_add(1);
            ends += 1;
            let Some(below) = arrivals.peek().map(|below| **below) else { break };
            let limit = match slack {
                0 => Quantity::level("counter", ends + 1, below),
                _ => Quantity::level("counter-and-slack", ends + 1, below.saturating_add(slack)),
            };
            let due = counted(ends, *count, Relation::Greater, limit);
            if !due.is(Relation::Greater) {
                terms.push(due.so(Effect::Enters(ends)));
                break;
            }
            terms.push(due.so(Effect::Passes(ends)));
            *count = 0;
            slack = 0;
        }
        (ends, terms)
    }

    fn cascade_tiered(&mut self) -> (usize, Vec<Term>) {
        let last = self.counts.len();
        let (mut ends, mut left, mut terms) = (0, 0, Vec::new());
        for count in &mut self.counts {
            *count = count.saturating_sub(1);
            ends += 1;
            left = *count;
            let due = counted(ends, left, Relation::AtMost, Quantity::new("spent", 0));
            let goes_on = due.is(Relation::AtMost) && ends < last;
            terms.push(due.so(if goes_on { Effect::Passes(ends) } else { Effect::Enters(ends) }));
            if left > 0 {
                break;
            }
        }
        self.counts.iter_mut().take(ends).for_each(|count| *count = left);
        (ends, terms)
    }

    /// Whether tiering has counted down to the end.
    pub(crate) fn are_spent(&self) -> bool {
        self.merge == MergePolicy::Tiering && self.counts.iter().all(|count| *count == 0)
    }
}

/// Compares a level's counter, with the admission that it counts.
fn counted(level: usize, count: u64, relation: Relation, limit: Quantity) -> Term {
    let counter = Quantity::level("counter-with-this-admission", level, count);
    Term::new(Unit::Count, counter, relation, limit)
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
        let counted = |level, value| Quantity::level("counter-with-this-admission", level, value);
        let compared = |mut counters: Counters| {
            let (ends, terms) = counters.cascade();
            let terms: Vec<_> =
                terms.iter().map(|t| (t.left, t.relation, t.right, t.effect)).collect();
            (ends, terms, counters.counts)
        };
        let slack = Quantity::level("counter-and-slack", 2, 6);
        let first = (counted(1, 7), Relation::Greater, slack, Some(Effect::Passes(1)));
        let second = (counted(2, 6), Relation::Greater, counter(3, 2), Some(Effect::Passes(2)));
        assert_eq!(compared(leveling), (3, vec![first, second], vec![0, 0, 3]));
        let stays = Counters { merge: MergePolicy::Leveling, slack: 0, counts: vec![1, 2] };
        let only = (counted(1, 2), Relation::AtMost, counter(2, 2), Some(Effect::Enters(1)));
        assert_eq!(compared(stays), (1, vec![only], vec![2, 2]));
        let tiering = Counters { merge: MergePolicy::Tiering, slack: 0, counts: vec![1, 3] };
        let spent = Quantity::new("spent", 0);
        let first = (counted(1, 0), Relation::AtMost, spent, Some(Effect::Passes(1)));
        let second = (counted(2, 2), Relation::Greater, spent, Some(Effect::Enters(2)));
        assert_eq!(compared(tiering), (2, vec![first, second], vec![2, 2]));
    }
}
