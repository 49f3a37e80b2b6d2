//! Vertiorizon's plans: each step of its rule, for what it remembers.

use super::Vertiorizon;
use super::memory::Memory;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::build_groups;
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::pick::Pick;
use crate::toolkit::view::View;
use std::cmp::Ordering;
use terrane_types::{
    Compaction, Level, LevelChange, Plan, Quantity, Reason, Relation, Reshape, Shape, Term, Unit,
};

impl Vertiorizon {
    /// Step 4, and the first of step 6.
    pub(super) fn settle(&self, view: &View, memory: &Memory) -> Option<Plan> {
        if view.running.writes_from(1) {
            return None;
        }
        let (vertical, levels) = (memory.vertical, memory.levels());
        let wanted = levels + 1;
        let terms = |relation| {
            let (at, wanted) = (
                Quantity::new("v1-level", vertical as u64),
                Quantity::new("levels", levels as u64),
            );
            vec![Term::new(Unit::Count, at, relation, wanted)]
        };
        if !memory.counted {
            let reason = format!(
                "levels 1 to {} are of another policy: they go into level {vertical}",
                vertical - 1
            );
            let coming = view.shape.between(1, vertical);
            if !coming.is_empty() {
                let target = self.vertical_merge().target(view, vertical);
                let reason = Reason::new(reason, terms(Relation::Greater));
                return Some(Compaction::parallel(build_groups(coming, target), reason).into());
            }
        }
        let change = match vertical.cmp(&wanted) {
            Ordering::Equal => return None,
            Ordering::Less => LevelChange::Add(1),
            Ordering::Greater => LevelChange::Drop(1),
        };
        let text = format!("the horizontal part is to have {}: {change}", count(levels, "level"));
        let reason = Reason::new(text, terms(Relation::Greater));
        Some(Reshape { change, reason }.into())
    }

    /// Steps 1 and 2.
    pub(super) fn admit(&self, view: &View, memory: &Memory) -> Option<Plan> {
        let v1 = memory.vertical;
        let admission = view.admission_above(v1)?;
        let mut counters = memory.counters.clone();
        let level = counters.admit();
        let (limit, have) =
            (self.horizontal_capacity(memory), self.after(view.shape, memory, admission.bytes));
        if !self.is_drained_by(have, memory, &counters) {
            let groups = counters.merge.groups(view, &admission, level);
            let reason = format!(
                "{} are admitted: their cascade ends in level {level}, in {}",
                size(admission.bytes),
                count(groups.len(), "group"),
            );
            let mut terms = vec![admission.term];
            terms.extend(memory.counters.terms(level));
            return Some(Compaction::parallel(groups, Reason::new(reason, terms)).into());
        }
        // It waits while V1 goes down, or the groups that do so read what it would merge.
        let (bytes, capacity) = (view.bytes(v1), self.v1_capacity(memory));
        if !self.backbone && bytes > capacity || view.is_any_held(v1) {
            return None;
        }
        let groups = self.vertical_merge().groups(view, &admission, v1);
        let reason = format!(
            "the horizontal part and an admission hold {} against a limit of {}: \
             all goes into level {v1}, in {}",
            size(have),
            size(limit),
            count(groups.len(), "group"),
        );
        let terms = vec![
            admission.term,
            Term::new(
                Unit::Bytes,
                Quantity::levels("bytes-after", 1, v1 - 1, have),
                Relation::AtLeast,
                Quantity::levels("horizontal-capacity", 1, v1 - 1, limit),
            ),
        ];
        Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
    }

    /// Bytes of the horizontal part with those that are admitted.
    fn after(&self, shape: &Shape, memory: &Memory, admitted: u64) -> u64 {
        let part = shape.levels().iter().take(memory.vertical).skip(1).map(Level::bytes);
        part.fold(admitted, u64::saturating_add)
    }

    /// Whether an admission that leaves this many bytes and these counters is a drain: at n buffers, to
    /// the nearest buffer, or when tiering has counted down.
    fn is_drained_by(&self, bytes: u64, memory: &Memory, counters: &Counters) -> bool {
        let full =
            bytes.saturating_add(self.level_base_bytes / 2) >= self.horizontal_capacity(memory);
        full || counters.are_spent()
    }

    /// Step 3, and the second of step 6.
    pub(super) fn go_down(&self, view: &View, memory: &Memory, workers: usize) -> Option<Plan> {
        let (v1, v2) = (memory.vertical, memory.vertical + 1);
        if self.is_leveled() {
            let vertical = if self.backbone { v1..=v1 } else { v1..=v2 };
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
        if view.staying(v1) > self.v1_capacity(memory) {
            let term = view.capacity_term(v1, view.staying(v1), Relation::Greater);
            return match self.vertical_merge_policy {
                MergePolicy::Leveling => view.send_down(v1, Pick::LeastOverlap, 0, None),
                MergePolicy::Tiering => view.send_down_tiered(v1, vec![term]),
            };
        }
        let crowded = view.runs(v2).len() as u64 > self.size_ratio;
        let terms = || vec![view.runs_term(v2, Relation::Greater, "size-ratio", self.size_ratio)];
        (crowded && !self.is_leveled()).then(|| view.merge_partly_in_place(v2, terms()))?
    }
}
