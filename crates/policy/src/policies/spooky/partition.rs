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
use terrane_types::{Action, Compaction, Destination, Group, Order, Plan, Relation};

impl Tree<'_> {
    pub(super) fn partition(&self) -> Option<Plan> {
        let Tree { divided, last, .. } = *self;
        if divided == last || self.is_lower_busy() {
            return None;
        }
        let (have, capacity) = (self.view.bytes(divided), self.view.capacity(divided));
        let crowded = !self.is_leveled(divided) && self.runs(divided) >= self.view.rule.size_ratio;
        let below = divided + 1;
        let full = (have >= capacity || crowded).then_some(below);
        // A level that is over its limits has no room, so that z is below it.
        let over = (below..last).rfind(|l| self.is_over(*l));
        let scattered = (below..=last).rfind(|l| self.is_scattered(*l));
        let least = full.max(over).max(scattered)?;
        let level = (least..last).find(|z| self.holds(divided, *z)).unwrap_or(last);

        let cause =
            format!("level {divided} has {} against a capacity of {}", size(have), size(capacity));
        let mut plan = self.divide(level, &cause).or_else(|| self.merge(level, &cause))?;
        let terms = &mut plan.reason.terms;
        terms.push(self.view.capacity_term(divided, have, Relation::AtLeast));
        terms.extend(self.view.room_terms(divided, below, level));
        self.are_free(&plan.groups).then_some(plan.into())
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
