//! Partial compactions among tiered levels: one table at a time, with those of its level that overlap it.
//!
//! A table that leaves its level takes along what it overlaps there, and what of older runs these overlap
//! in turn: nothing older may stay above. Their ranges join, so the set is what of each run, from the
//! newest down, overlaps the range gathered so far.
//!
//! 1. **Down.** The set becomes tables of the next level, merged with nothing there. It enters that
//!    level's newest run if it overlaps nothing in it, else a new one. Outputs of neighbouring sets overlap
//!    a little, so a few sets are tried for one that fits into the newest run: one after another in key
//!    order, each would need a run of its own.
//! 2. **In place**, in a level that has no next: a table of the newest run is merged with its set into
//!    the oldest run of the set, or moves to the next run if it overlaps nothing.

use super::format::{count, size};
use super::group_builder::{Target, build_groups};
use super::pick::mix;
use super::view::View;
use std::sync::Arc;
use terrane_types::{Compaction, Destination, Plan, Reason, Run, TableInfo, Term, key_range};

/// Number of sets that are tried for one that fits into the newest run of the next level.
const TRIES: usize = 8;

/// A table and what leaves its level with it.
struct Leaving<'a> {
    seed: &'a Arc<TableInfo>,
    tables: Vec<&'a Arc<TableInfo>>,
    /// The oldest run that they are in.
    oldest: Destination,
    smallest: &'a [u8],
    largest: &'a [u8],
}

impl Leaving<'_> {
    fn overlaps(&self, run: &Run) -> bool {
        run.overlapping(self.smallest, self.largest).next().is_some()
    }
}

impl<'a> View<'a> {
    /// The set of a table, unless a running group consumes a table that overlaps it.
    fn leaving(&self, level: usize, seed: &'a Arc<TableInfo>) -> Option<Leaving<'a>> {
        let runs = self.runs(level);
        let (mut smallest, mut largest) = (seed.smallest.as_slice(), seed.largest.as_slice());
        let mut tables = Vec::new();
        let mut oldest = None;
        for run in runs {
            let from = tables.len();
            tables.extend(run.overlapping(smallest, largest));
            for table in tables.iter().skip(from) {
                smallest = smallest.min(&table.smallest);
                largest = largest.max(&table.largest);
                oldest = Some(Destination { level, run: run.id });
            }
        }
        let mut near = runs.iter().flat_map(|run| run.overlapping(smallest, largest));
        let is_free = !near.any(|table| self.holds(&table.id));
        is_free.then_some(Leaving { seed, tables, oldest: oldest?, smallest, largest })
    }

    /// The newest run of a level, there or promised, if the set overlaps nothing in it.
    fn newest_that_fits(&self, level: usize, leaving: &Leaving) -> Option<Destination> {
        let promised = self.running.groups().map(|group| group.destination);
        let there = self.run(level).map(|run| Destination { level, run: run.id });
        let into =
            promised.filter(|place| place.level == level).chain(there).max_by_key(|p| p.run)?;
        let runs = self.runs(level);
        let collides = runs.iter().any(|run| run.id == into.run && leaving.overlaps(run))
            || self.running.groups().filter(|group| group.destination == into).any(|group| {
                let inputs = self.shape.find(group.inputs.clone());
                let tables: Vec<_> = inputs.iter().map(|placed| placed.table).collect();
                let (smallest, largest) = key_range(&tables);
                !tables.is_empty() && smallest <= leaving.largest && leaving.smallest <= largest
            });
        (!collides).then_some(into)
    }

    /// Step 1, of a level for the reason of these terms.
    pub(crate) fn send_down_tiered(&self, level: usize, terms: Vec<Term>) -> Option<Plan> {
        let oldest: Vec<_> = self.runs(level).last()?.tables().iter().collect();
        let start = oldest.iter().fold(0, |drawn, table| mix(drawn ^ table.id.0));
        let start = usize::try_from(start.checked_rem(oldest.len() as u64)?).ok()?;
        let in_turn = oldest.iter().cycle().skip(start).step_by(oldest.len() / TRIES + 1);
        let mut sets = in_turn.take(TRIES).filter_map(|table| self.leaving(level, table));
        let first = sets.next().or_else(|| oldest.iter().find_map(|t| self.leaving(level, t)))?;
        let fitting = |set: Leaving<'a>| {
            let into = self.newest_that_fits(level + 1, &set)?;
            Some((set, into))
        };
        let fresh = Destination { level: level + 1, run: self.fresh };
        let first_into = self.newest_that_fits(level + 1, &first);
        let (set, into) = match first_into {
            Some(into) => (first, into),
            None => sets.find_map(fitting).unwrap_or((first, fresh)),
        };
        let reason = format!(
            "level {level} has {}: {} goes down with the {} that it overlaps there, into {} run of level {}",
            size(self.staying(level)),
            set.seed.id,
            count(set.tables.len() - 1, "table"),
            if into == fresh { "a new" } else { "the newest" },
            level + 1,
        );
        let target = Target { destination: into, ..self.new_run(level + 1) };
        let groups = build_groups(set.tables, target);
        Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
    }

    /// Step 2, of a level for the reason of these terms.
    pub(crate) fn merge_partly_in_place(&self, level: usize, terms: Vec<Term>) -> Option<Plan> {
        let (newest, older) = self.runs(level).split_first()?;
        let next = Destination { level, run: older.first()?.id };
        let set = newest.tables().iter().find_map(|table| self.leaving(level, table))?;
        let destination = if set.tables.len() > 1 { set.oldest } else { next };
        let reason = format!(
            "level {level}, the last, has {} in {}: {} and the {} that it overlaps go into {}",
            size(self.bytes(level)),
            count(self.runs(level).len(), "run"),
            set.seed.id,
            count(set.tables.len() - 1, "table"),
            destination,
        );
        let target = Target { destination, ..self.new_run(level) };
        let groups = build_groups(set.tables, target);
        Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
    }
}
