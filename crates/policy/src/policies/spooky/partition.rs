//! The partitioned merge: levels X to z, one group of overlapping files at a time.
//!
//! 1. It is due when X reaches its capacity, or T runs if it is tiered, and to repair a level below X
//!    that another policy left with too much data or with several runs.
//! 2. z is the smallest level below X that holds levels X to z, else L.
//! 3. Files of levels above L that cross a boundary of L, left by another policy or a smaller L, are
//!    first cut there, each in its place.
//! 4. The overlapping files of levels X to z form the groups, cut as in `files.rs`. Each is merged, or
//!    moved if it is one file; files of z that overlap nothing are left as they are.

use super::files::within;
use super::tree::Tree;
use crate::toolkit::format::{count, size};
use crate::toolkit::vertical::Repair;
use terrane_types::{
    Action, Compaction, Destination, Effect, Group, Order, Plan, Reason, Relation, Term,
};

impl Tree<'_> {
    pub(super) fn partition(&self) -> Option<Plan> {
        let Tree { divided, last, .. } = *self;
        if divided == last || self.is_lower_busy() {
            return None;
        }
        let below = divided + 1;
        let due = self.due();
        // A level that is over its limits has no room, so that z is below it.
        let over = (below..last).rfind(|l| self.is_over(*l));
        let scattered = (below..=last).rfind(|l| self.is_scattered(*l));
        let full = due.as_ref().map(|_| below);
        let least = full.max(over).max(scattered)?;
        let (found, room) = self.find_room(divided, least..last);
        let level = found.unwrap_or(last);

        let Reason { text: cause, mut terms } = match due {
            Some(due) if full == Some(least) => due,
            _ if over == Some(least) => {
                let terms = Term::all_so(self.over(least), Effect::Leaves(least));
                Reason::new(self.view.over_text(least), terms)
            }
            _ => self.view.cause(least, None, scattered, self),
        };
        terms.extend(room);
        let mut plan = self.divide(level, &cause).or_else(|| self.merge(level, &cause))?;
        plan.reason.terms = terms;
        self.are_free(&plan.groups).then_some(plan.into())
    }

    /// Returns the reason for which X is due, if it is.
    fn due(&self) -> Option<Reason> {
        let level = self.divided;
        let have = self.view.bytes(level);
        let full = self.view.capacity_term(level, have, Relation::AtLeast);
        if full.is(Relation::AtLeast) {
            let capacity = size(self.view.capacity(level));
            let text = format!("level {level} has {} against a capacity of {capacity}", size(have));
            return Some(Reason::new(text, vec![full.so(Effect::Leaves(level))]));
        }
        let crowded = self.crowd_term(level, Relation::AtLeast);
        let is_crowded = !self.is_leveled(level) && crowded.is(Relation::AtLeast);
        is_crowded.then(|| {
            let (runs, most) =
                (count(self.view.runs(level).len(), "run"), self.view.rule.size_ratio);
            let text = format!("level {level} has {runs} of {most}");
            Reason::new(text, vec![crowded.so(Effect::Leaves(level))])
        })
    }

    /// Step 3.
    fn divide(&self, level: usize, cause: &str) -> Option<Compaction> {
        let boundaries = self.boundaries();
        let mut groups = Vec::new();
        for depth in self.divided..=level.min(self.last - 1) {
            for run in self.view.runs(depth) {
                let destination = Destination { level: depth, run: run.id };
                for table in run.tables() {
                    let cuts = within(&boundaries, &table.smallest, &table.largest);
                    if !cuts.is_empty() {
                        let target_file_bytes = self.view.rule.target_file_bytes;
                        let action = Action::Merge {
                            cuts,
                            target_file_bytes,
                            filter_bits: None,
                            split: None,
                        };
                        groups.push(Group::new(vec![table.id], destination, action));
                    }
                }
            }
        }
        let reason = format!(
            "{cause}, but {} over a boundary of level {}: cut there first",
            count(groups.len(), "file"),
            self.last,
        );
        let plan = Compaction { groups, order: Order::Sequential, reason: reason.into() };
        (!plan.groups.is_empty()).then_some(plan)
    }

    /// Step 4.
    fn merge(&self, level: usize, cause: &str) -> Option<Compaction> {
        let groups = self.groups(self.divided, level);
        let reason = format!(
            "{cause}: levels {} to {level} are merged into level {level}, in {}",
            self.divided,
            count(groups.len(), "group"),
        );
        let plan = Compaction { groups, order: Order::Sequential, reason: reason.into() };
        (!plan.groups.is_empty()).then_some(plan)
    }
}
