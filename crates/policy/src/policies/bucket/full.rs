//! Level 0 under buckets: which of its tables overlap, and are enough to be merged.

use super::BucketLsm;
use crate::context::PlanContext;
use crate::toolkit::format::count;
use crate::toolkit::group_builder::{bytes, components};
use crate::toolkit::view::View;
use std::sync::Arc;
use terrane_types::{
    Compaction, Destination, Effect, Group, Plan, Quantity, Reason, Relation, TableInfo, Term,
    Unit, depth, key_range, sort_by,
};

/// In a merge within level 0, the tables of a run may be this many times as large as all newer ones together.
const GROWTH: u64 = 4;

/// Tables of level 0 that overlap, enough of them to be merged.
pub(super) struct Full<'a> {
    pub(super) tables: Vec<&'a Arc<TableInfo>>,
    /// The greatest number of them over one key.
    pub(super) depth: usize,
    /// The tables of level 1 that they overlap.
    pub(super) below: Vec<&'a Arc<TableInfo>>,
}

impl<'a> Full<'a> {
    /// All of them, those to be merged first at the front.
    pub(super) fn find(policy: &BucketLsm, view: &View<'a>, context: &PlanContext) -> Vec<Self> {
        // Runs that overlap little are never many over one key, and stall no write, but reads pass them.
        let oldest = view.runs(0).last().filter(|_| view.runs(0).len() >= context.l0_stop_trigger);
        let is_old = |full: &Full| {
            let mut tables = oldest.into_iter().flat_map(|run| run.tables());
            tables.any(|old| full.tables.iter().any(|table| table.id == old.id))
        };
        let is_deep = |full: &Full| policy.depth_term(full.depth, context).is(Relation::AtLeast);
        let parts = components(view.level(0).collect());
        let mut all: Vec<_> = (parts.into_iter())
            .map(|tables| {
                let (smallest, largest) = key_range(&tables);
                let below = view.run(1).map(|run| run.overlapping(smallest, largest));
                let below = below.into_iter().flatten().collect();
                Full { depth: depth(&tables), tables, below }
            })
            .collect();
        let all_are_due = policy.eager && all.iter().any(is_deep);
        all.retain(|full| all_are_due || is_deep(full) || is_old(full));
        let input = |full: &Full| bytes(&full.tables).saturating_add(bytes(&full.below));
        sort_by(&mut all, |a, b| (b.depth, input(a)).cmp(&(a.depth, input(b))));
        if policy.overlap_percent > 0 {
            Self::weigh(&mut all, policy.overlap_percent as f64 / 100.0);
        }
        all
    }

    /// Orders them by a score in which what they overlap below weighs `overlap`, and their tables the rest, each over
    /// the greatest of all.
    fn weigh(all: &mut [Self], overlap: f64) {
        let ratio = |full: &Full| bytes(&full.below) as f64 / bytes(&full.tables).max(1) as f64;
        let tables = |full: &Full| full.tables.len() as f64;
        let most = all.iter().map(tables).fold(1.0, f64::max);
        let widest = all.iter().map(ratio).fold(f64::MIN_POSITIVE, f64::max);
        let score = |full: &Full| {
            (1.0 - overlap) * tables(full) / most + overlap * (1.0 - ratio(full) / widest)
        };
        sort_by(all, |a, b| score(b).total_cmp(&score(a)));
    }
}

impl BucketLsm {
    /// The number of tables over one key at which level 0 is merged, below the one at which writes stall.
    pub(super) fn depth_trigger(&self, context: &PlanContext) -> Quantity {
        let near = (context.l0_stop_trigger as u64 * 3 / 4).max(1);
        match self.l0_compaction_trigger {
            trigger if trigger <= near => Quantity::new("l0-compaction-trigger", trigger.max(1)),
            _ => Quantity::new("three-quarters-of-l0-stop-trigger", near),
        }
    }

    /// The most tables of a bucket over one key, compared with that.
    pub(super) fn depth_term(&self, depth: usize, context: &PlanContext) -> Term {
        let have = Quantity::level("bucket-depth", 0, depth as u64);
        Term::new(Unit::Tables, have, Relation::AtLeast, self.depth_trigger(context))
    }

    /// Merges tables of a bucket within level 0, as many as are due, while a running merge keeps them waiting: those of
    /// the newest runs, and of each older one while they are at most [`GROWTH`] times as large as those taken.
    pub(super) fn merge_within_bucket(
        &self,
        view: &View<'_>,
        context: &PlanContext,
    ) -> Option<Plan> {
        if !self.merge_waiting {
            return None;
        }
        let waiting = view.level(0).filter(|table| !view.holds(&table.id)).collect();
        let mut parts: Vec<_> =
            components(waiting).into_iter().map(|tables| (depth(&tables), tables)).collect();
        sort_by(&mut parts, |(a, _), (b, _)| b.cmp(a));
        parts.iter().find_map(|(_, tables)| self.merge_newest(view, context, tables))
    }

    /// Plans such a merge for one component of waiting tables.
    fn merge_newest(
        &self,
        view: &View<'_>,
        context: &PlanContext,
        component: &[&Arc<TableInfo>],
    ) -> Option<Plan> {
        let (smallest, largest) = key_range(component);
        let (mut taken, mut into, mut last): (Vec<&Arc<TableInfo>>, _, _) = (Vec::new(), None, 0);
        for (at, run) in view.runs(0).iter().enumerate() {
            let there = run.overlapping(smallest, largest).filter(|t| !view.holds(&t.id));
            let there: Vec<_> = there.collect();
            let limit = bytes(&taken).saturating_mul(GROWTH);
            if !taken.is_empty() && bytes(&there) > limit {
                break;
            }
            if !there.is_empty() {
                into.get_or_insert(run.id);
                taken.extend(there);
                last = at;
            }
        }
        let deep = self.depth_term(depth(&taken), context);
        let destination = Destination { level: 0, run: into? };
        let (smallest, largest) = key_range(&taken);
        // What running merges take must be older, and what they put into level 0 elsewhere.
        let newer = view.runs(0).iter().take(last + 1);
        let mut beside = newer.flat_map(|run| run.overlapping(smallest, largest));
        let mut groups = view.running.groups().filter(|group| group.destination.level == 0);
        let meets = |group: &Group| {
            let inputs = view.shape.find(group.inputs.clone());
            let tables: Vec<_> = inputs.iter().map(|placed| placed.table).collect();
            let (first, end) = key_range(&tables);
            first <= largest && smallest <= end
        };
        if !deep.is(Relation::AtLeast)
            || beside.any(|table| view.holds(&table.id))
            || groups.any(meets)
        {
            return None;
        }
        let text = format!(
            "a bucket has {} in level 0 that wait for a running merge: they are merged in place",
            count(taken.len(), "table"),
        );
        let reason = Reason::new(text, vec![deep.so(Effect::Merges(0))]);
        let inputs = taken.iter().map(|table| table.id).collect();
        let groups = vec![Group::new(inputs, destination, view.merge())];
        Some(Compaction::parallel(groups, reason).into())
    }
}
