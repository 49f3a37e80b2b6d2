//! Vertiorizon's plans: each step of its rule, for what it remembers.

use super::memory::Memory;
use super::{MergeChoice, Vertiorizon};
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::build_groups;
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::pick::Pick;
use crate::toolkit::view::View;
use std::cmp::Ordering;
use terrane_types::{
    Compaction, Effect, Level, LevelChange, Plan, Quantity, Reason, Relation, Reshape, Shape, Term,
    Unit,
};

impl Vertiorizon {
    /// Step 4, and the first of step 6.
    pub(super) fn settle(&self, view: &View, memory: &Memory) -> Option<Plan> {
        if view.running.writes_from(1) {
            return None;
        }
        let (vertical, levels) = (memory.vertical, memory.levels());
        let wanted = levels + 1;
        if !memory.counted {
            let reason = format!(
                "levels 1 to {} are of another policy: they go into level {vertical}",
                vertical - 1
            );
            let coming = view.shape.between(1, vertical);
            if !coming.is_empty() {
                let target = self.vertical_merge(memory).target(view, vertical);
                let bytes = view.down_to(1, vertical - 1);
                let there = Quantity::levels("bytes", 1, vertical - 1, bytes);
                let none = Quantity::new("none", 0);
                let term = Term::new(Unit::Bytes, there, Relation::Greater, none);
                let reason = Reason::new(reason, vec![term.so(Effect::Enters(vertical))]);
                return Some(Compaction::parallel(build_groups(coming, target), reason).into());
            }
        }
        let (change, relation, effect) = match vertical.cmp(&wanted) {
            Ordering::Equal => return None,
            Ordering::Less => (LevelChange::Add(1), Relation::Less, Effect::Becomes(1, 2)),
            Ordering::Greater => (LevelChange::Drop(1), Relation::Greater, Effect::Becomes(2, 1)),
        };
        let at = Quantity::new("v1-level", vertical as u64);
        let below = Quantity::new("level-below-the-horizontal-part", wanted as u64);
        let term = Term::new(Unit::Count, at, relation, below);
        let text = format!("the horizontal part is to have {}: {change}", count(levels, "level"));
        let reason = Reason::new(text, vec![term.so(effect)]);
        Some(Reshape { change, reason }.into())
    }

    /// Steps 1 and 2.
    pub(super) fn admit(&self, view: &View, memory: &Memory) -> Option<Plan> {
        let v1 = memory.vertical;
        let admission = view.admission_above(v1)?;
        let mut counters = memory.counters.clone();
        let (level, cascade) = counters.cascade();
        let (limit, have) =
            (self.horizontal_capacity(memory), self.after(view.shape, memory, admission.bytes));
        let Some(drain) = self.drained_by(have, memory, &counters) else {
            let groups = counters.merge.groups(view, &admission, level);
            let reason = format!(
                "{} are admitted: their cascade ends in level {level}, in {}",
                size(admission.bytes),
                count(groups.len(), "group"),
            );
            let mut terms = vec![admission.term];
            terms.extend(cascade);
            return Some(Compaction::parallel(groups, Reason::new(reason, terms)).into());
        };
        // It waits while V1 goes down, or the groups that do so read what it would merge.
        let (bytes, capacity) = (view.bytes(v1), self.v1_capacity(memory));
        if !self.backbone && bytes > capacity || view.is_any_held(v1) {
            return None;
        }
        let groups = self.vertical_merge(memory).groups(view, &admission, v1);
        let cause = match drain.unit {
            Unit::Bytes => "to half a buffer",
            _ => "and its counters are spent",
        };
        let reason = format!(
            "the horizontal part and an admission hold {} of {}, {cause}: all goes into level {v1}, in {}",
            size(have),
            size(limit),
            count(groups.len(), "group"),
        );
        let terms = vec![admission.term, drain.so(Effect::Enters(v1))];
        Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
    }

    /// Bytes of the horizontal part with those that are admitted.
    fn after(&self, shape: &Shape, memory: &Memory, admitted: u64) -> u64 {
        let part = shape.levels().iter().take(memory.vertical).skip(1).map(Level::bytes);
        part.fold(admitted, u64::saturating_add)
    }

    /// Returns the comparison by which an admission that leaves this many bytes and these counters is a drain: at n
    /// buffers, to the nearest buffer, or when tiering has counted down.
    fn drained_by(&self, bytes: u64, memory: &Memory, counters: &Counters) -> Option<Term> {
        let levels = memory.vertical.saturating_sub(1);
        let have = Quantity::levels("bytes-with-this-admission", 1, levels, bytes);
        let limit = self.horizontal_capacity(memory).saturating_sub(self.level_base_bytes / 2);
        let limit = Quantity::new("horizontal-capacity-less-half-a-buffer", limit);
        let full = Term::new(Unit::Bytes, have, Relation::AtLeast, limit);
        if full.is(Relation::AtLeast) {
            return Some(full);
        }
        let left = counters.counts.iter().copied().max().unwrap_or(0);
        let left = Quantity::levels("greatest-counter-with-this-admission", 1, levels, left);
        let spent = Term::new(Unit::Count, left, Relation::AtMost, Quantity::new("spent", 0));
        counters.are_spent().then_some(spent)
    }

    /// Step 3, and the second of step 6.
    pub(super) fn go_down(&self, view: &View, memory: &Memory, workers: usize) -> Option<Plan> {
        let (v1, v2) = (memory.vertical, memory.vertical + 1);
        let is_tuned = !self.backbone && self.vertical_merge_policy == MergeChoice::Tuned;
        if self.is_leveled(memory) {
            // V2 is made one run table by table (below), not by one merge of nearly everything.
            let vertical = if self.backbone || is_tuned { v1..=v1 } else { v1..=v2 };
            let is_free = |level: &usize| !view.running.writes_from(*level);
            let united = vertical.filter(is_free).find_map(|level| view.merge_into_one_run(level));
            if united.is_some() || self.backbone {
                return united;
            }
        }
        // One merge is left for admissions.
        let below = view.running.groups().filter(|group| group.destination.level == v2).count();
        if below >= workers.saturating_sub(1).max(1) {
            return None;
        }
        let over = view.staying_term(v1, Relation::Greater).so(Effect::Leaves(v1));
        if over.is(Relation::Greater) {
            return match self.vertical_merge(memory) {
                MergePolicy::Leveling => view.send_down(v1, Pick::LeastOverlap, 0, None),
                MergePolicy::Tiering => view.send_down_tiered(v1, vec![over]),
            };
        }
        let crowded = match self.is_leveled(memory) {
            true => view.one_run_term(v2),
            false => view.runs_term(v2, Relation::Greater, "size-ratio", self.size_ratio),
        };
        let is_due = crowded.is(Relation::Greater) && (is_tuned || !self.is_leveled(memory));
        let terms = || vec![crowded.so(Effect::Merges(v2))];
        is_due.then(|| view.merge_partly_in_place(v2, terms()))?
    }
}
