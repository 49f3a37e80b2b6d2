//! The planner's view of the tree: L, X, which levels are leveled, and what runs.

use super::Spooky;
use crate::context::PlanContext;
use crate::toolkit::vertical::Repair;
use crate::toolkit::view::View;
use std::ops::Range;
use terrane_types::{Group, Plan, Relation, TableId, Term, inputs_of};

/// The state of one planner call.
pub(super) struct Tree<'a> {
    pub view: View<'a>,
    /// L.
    pub last: usize,
    /// X.
    pub divided: usize,
    /// L-G+1, at least 1: from here down levels are leveled.
    first_leveled: usize,
    /// Whether a partitioned merge moves a file that overlaps nothing.
    pub trivial_moves: bool,
}

impl<'a> Tree<'a> {
    pub fn new(policy: &Spooky, context: &PlanContext<'a>) -> Self {
        let view = View::new(policy.rule(), context);
        let last = view.last();
        let (divided, first_leveled) = policy.levels(last);
        Tree { view, last, divided, first_leveled, trivial_moves: policy.trivial_moves }
    }

    pub fn runs(&self, level: usize) -> u64 {
        self.view.runs(level).len() as u64
    }

    pub fn is_leveled(&self, level: usize) -> bool {
        level >= self.first_leveled
    }

    /// The first of these levels that has room for levels `from` to it, as a new run if it is tiered, with the
    /// comparisons.
    pub fn find_room(&self, from: usize, levels: Range<usize>) -> (Option<usize>, Vec<Term>) {
        self.view.find_room(from, levels, &|level| {
            (!self.is_leveled(level)).then(|| self.crowd_term(level, Relation::Less))
        })
    }

    /// Whether `level` has room for levels `from` to `level`.
    pub fn holds(&self, from: usize, level: usize) -> bool {
        self.find_room(from, level..level + 1).0.is_some()
    }

    /// The runs of a level, compared with T.
    pub fn crowd_term(&self, level: usize, relation: Relation) -> Term {
        self.view.runs_term(level, relation, "size-ratio", self.view.rule.size_ratio)
    }

    /// Whether a level above L is over its limits.
    pub fn is_over(&self, level: usize) -> bool {
        !self.over(level).is_empty()
    }

    /// Whether a level has several runs and must have one: a leveled one, or L at its capacity or
    /// with more than T runs.
    pub fn is_scattered(&self, level: usize) -> bool {
        !self.scattered(level).is_empty()
    }

    /// Whether a partitioned or a dividing merge runs: anything that writes into X or below.
    pub fn is_lower_busy(&self) -> bool {
        self.view.running.writes_from(self.divided)
    }

    /// Whether a full or a dividing merge runs: anything that reads levels above X, except merges
    /// within level 0.
    pub fn is_upper_busy(&self) -> bool {
        let taken = self.view.running.taken_into(self.divided);
        let is_above = |id: &TableId| {
            let placed = self.view.shape.table(*id);
            placed.is_some_and(|placed| placed.place.level < self.divided)
        };
        taken.iter().any(is_above)
            || self.running().any(|g| (1..self.divided).contains(&g.destination.level))
    }

    /// Merges small runs within level 0, or runs of similar size that must wait for another merge.
    pub fn merge_within_l0(&self) -> Option<Plan> {
        if self.running().any(|g| g.destination.level == 0) {
            return None;
        }
        let waits = self.view.is_level0_due() && (self.is_lower_busy() || self.is_upper_busy());
        if waits {
            self.view.merge_alike_in_level0("a merge below keeps them waiting")
        } else {
            self.view.merge_within_l0()
        }
    }

    fn running(&self) -> impl Iterator<Item = &'a Group> {
        self.view.running.groups()
    }

    /// Whether no running group reads the inputs of these groups.
    pub fn are_free(&self, groups: &[Group]) -> bool {
        !inputs_of(groups).any(|id| self.view.holds(id))
    }
}

impl Repair for Tree<'_> {
    fn over(&self, level: usize) -> Vec<Term> {
        let mut terms = self.view.over(level);
        if !self.is_leveled(level) {
            terms.extend(self.crowd_term(level, Relation::Greater).only_if(Relation::Greater));
        }
        terms
    }

    fn scattered(&self, level: usize) -> Vec<Term> {
        let several = self.view.one_run_term(level);
        if !several.is(Relation::Greater) {
            return Vec::new();
        }
        if self.is_leveled(level) {
            return vec![several];
        }
        let full = self.view.capacity_term(level, self.view.bytes(level), Relation::AtLeast);
        let crowded = self.crowd_term(level, Relation::Greater);
        let must = full.only_if(Relation::AtLeast).or(crowded.only_if(Relation::Greater));
        must.filter(|_| level == self.last).map_or_else(Vec::new, |must| vec![several, must])
    }
}
