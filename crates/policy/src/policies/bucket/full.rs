//! Level 0 under buckets: which of its tables overlap, and are enough to be merged.

use super::BucketLsm;
use crate::context::PlanContext;
use crate::toolkit::group_builder::{bytes, components};
use crate::toolkit::view::View;
use std::sync::Arc;
use terrane_types::{Quantity, Relation, TableInfo, Term, Unit, depth, key_range, sort_by};

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
    pub(super) fn find(
        view: &View<'a>,
        is_deep: &dyn Fn(usize) -> bool,
        most_runs: usize,
    ) -> Vec<Self> {
        // Runs that overlap little are never many over one key, and stall no write, but reads pass them.
        let oldest = view.runs(0).last().filter(|_| view.runs(0).len() >= most_runs);
        let is_old = |full: &Full| {
            let mut tables = oldest.into_iter().flat_map(|run| run.tables());
            tables.any(|old| full.tables.iter().any(|table| table.id == old.id))
        };
        let parts = components(view.level(0).collect());
        let mut all: Vec<_> = (parts.into_iter())
            .map(|tables| {
                let (smallest, largest) = key_range(&tables);
                let below = view.run(1).map(|run| run.overlapping(smallest, largest));
                let below = below.into_iter().flatten().collect();
                Full { depth: depth(&tables), tables, below }
            })
            .filter(|full| is_deep(full.depth) || is_old(full))
            .collect();
        let input = |full: &Full| bytes(&full.tables).saturating_add(bytes(&full.below));
        sort_by(&mut all, |a, b| (b.depth, input(a)).cmp(&(a.depth, input(b))));
        all
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
}
