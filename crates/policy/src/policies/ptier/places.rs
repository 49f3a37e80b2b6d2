//! Places that keep the order of versions, where some tables of a level are merged and others move.
//!
//! An *item* is a table that moves, or a set that is merged. Its *age* is that of its newest table: the runs of
//! a level are counted from the oldest. A merge in the place of its newest table lifts older ones, so it takes
//! in, until nothing more comes:
//!
//! 1. tables of the level that stand between one of its tables and that place and overlap that table;
//! 2. tables of that place that overlap the range of all of it.
//!
//! After that, of two items with tables that overlap, the one with the newer table has the greater age. They go
//! down oldest first, each as far as it may: into the newest run of the next level if it overlaps nothing
//! there, and one run above the highest of what went before and overlaps it. Overlapping ones follow each other,
//! so that the order holds after each of them.

use crate::toolkit::trivial_move::move_or_merge;
use crate::toolkit::view::View;
use std::sync::Arc;
use terrane_types::{
    Action, Destination, Group, Run, RunId, TableId, TableIdSet, TableInfo, key_range, sort_by,
};

/// The runs of a level by age.
pub(super) struct Ages<'a> {
    /// The oldest first.
    runs: Vec<&'a Run>,
}

impl<'a> Ages<'a> {
    /// The ages in a level with these runs, newest first.
    pub(super) fn of(runs: &'a [Run]) -> Self {
        Ages { runs: runs.iter().rev().collect() }
    }

    /// The run of this age.
    pub(super) fn run(&self, age: usize) -> Option<RunId> {
        self.runs.get(age).map(|run| run.id)
    }

    /// A table by itself.
    pub(super) fn alone(&self, table: &'a Arc<TableInfo>) -> Option<Item<'a>> {
        Some(Item::new(vec![(self.age(table)?, table)]))
    }

    fn age(&self, table: &TableInfo) -> Option<usize> {
        let holds = |run: &&Run| {
            let mut near = run.overlapping(&table.smallest, &table.smallest);
            near.any(|found| found.id == table.id)
        };
        self.runs.iter().position(holds)
    }

    /// The sets with what they take in; those that take in each other's tables become one.
    pub(super) fn close(&self, sets: Vec<Vec<&'a Arc<TableInfo>>>) -> Vec<Item<'a>> {
        let aged = |tables: Vec<&'a Arc<TableInfo>>| {
            Item::new(tables.into_iter().filter_map(|t| Some((self.age(t)?, t))).collect())
        };
        let mut open: Vec<Item<'a>> = sets.into_iter().map(aged).collect();
        let mut closed: Vec<Item<'a>> = Vec::new();
        while let Some(mut item) = open.pop() {
            let taken = self.taken_in(&item);
            if taken.is_empty() {
                closed.push(item);
                continue;
            }
            for (age, table) in taken {
                let other = [&mut open, &mut closed].into_iter().find_map(|items| {
                    let at = items.iter().position(|other| other.has(table.id))?;
                    Some(items.swap_remove(at))
                });
                match other {
                    Some(other) => item.tables.extend(other.tables),
                    None if item.has(table.id) => {}
                    None => item.tables.push((age, table)),
                }
            }
            open.push(item);
        }
        closed
    }

    /// Returns the tables that a merge includes.
    fn taken_in(&self, item: &Item<'a>) -> Vec<(usize, &'a Arc<TableInfo>)> {
        let (place, own) = (item.age(), TableIdSet::from(item.ids()));
        let mut taken = Vec::new();
        let mut take = |age: usize, from: &[u8], to: &[u8]| {
            let Some(run) = self.runs.get(age) else { return };
            taken.extend(run.overlapping(from, to).map(|table| (age, table)));
        };
        for (age, table) in &item.tables {
            (*age..place).for_each(|between| take(between, &table.smallest, &table.largest));
        }
        let (smallest, largest) = item.range();
        take(place, smallest, largest);
        taken.retain(|(_, table)| !own.contains(table.id));
        taken
    }
}

/// A table that moves, or tables that are merged, each with its age.
pub(super) struct Item<'a> {
    tables: Vec<(usize, &'a Arc<TableInfo>)>,
}

impl<'a> Item<'a> {
    pub(super) fn new(tables: Vec<(usize, &'a Arc<TableInfo>)>) -> Self {
        Item { tables }
    }

    /// The age of its newest table.
    pub(super) fn age(&self) -> usize {
        self.tables.iter().map(|(age, _)| *age).max().unwrap_or(0)
    }

    pub(super) fn has(&self, id: TableId) -> bool {
        self.tables.iter().any(|(_, table)| table.id == id)
    }

    pub(super) fn tables(&self) -> Vec<&'a Arc<TableInfo>> {
        self.tables.iter().map(|(_, table)| *table).collect()
    }

    pub(super) fn ids(&self) -> Vec<TableId> {
        self.tables.iter().map(|(_, table)| table.id).collect()
    }

    fn range(&self) -> (&'a [u8], &'a [u8]) {
        key_range(&self.tables())
    }
}

/// The level that tables go down to.
pub(super) struct Next<'a> {
    level: usize,
    /// Its newest run, if tables may go into it.
    newest: Option<&'a Run>,
    /// All of its runs, if nothing is below them.
    bottom: Option<&'a [Run]>,
    fresh: RunId,
}

/// A place in the next level: 0 for its newest run, then new ones above it.
type Place = u64;

impl<'a> Next<'a> {
    pub(super) fn of(view: &View<'a>, level: usize) -> Self {
        let runs = view.runs(level);
        let newest = runs.first().filter(|_| !view.is_any_held(level));
        let bottom = (level >= view.last()).then_some(runs);
        Next { level, newest, bottom, fresh: view.fresh }
    }

    /// The lowest place for an item above what went before it.
    pub(super) fn place(&self, before: &[(Place, &[u8], &[u8])], item: &Item<'a>) -> Place {
        let (smallest, largest) = item.range();
        let overlaps = |range: &&(Place, &[u8], &[u8])| range.1 <= largest && smallest <= range.2;
        let above = before.iter().filter(overlaps).map(|(place, ..)| place + 1).max().unwrap_or(0);
        let fits = |run: &Run| run.overlapping(smallest, largest).next().is_none();
        if above == 0 && !self.newest.is_some_and(fits) { 1 } else { above }
    }

    /// The run of a place.
    pub(super) fn destination(&self, place: Place) -> Destination {
        let run = match (place, self.newest) {
            (0, Some(newest)) => newest.id,
            _ => RunId(self.fresh.0.saturating_add(place.saturating_sub(1))),
        };
        Destination { level: self.level, run }
    }

    /// Returns the action for a table that goes down: a move, unless it reaches the bottom and is mostly
    /// tombstones.
    fn action(&self, table: &TableInfo, merge: &Action) -> Action {
        let older = |runs: &[Run]| {
            let mut runs = runs.iter();
            runs.any(|run| run.overlapping(&table.smallest, &table.largest).next().is_some())
        };
        let is_bottom = self.bottom.is_some_and(|runs| !older(runs));
        match move_or_merge(table.entries, table.tombstones, is_bottom, u64::MAX) {
            Action::Move => Action::Move,
            Action::Merge { .. } => merge.clone(),
        }
    }
}

/// The groups that take the items of each set that overlap down, in their order.
pub(super) fn send_down<'a>(
    sets: Vec<Vec<Item<'a>>>,
    next: &Next<'a>,
    merge: &Action,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // What overlaps nothing moves at once, by place.
    let mut free: Vec<Group> = Vec::new();
    for mut items in sets {
        sort_by(&mut items, |a, b| (a.age(), a.range()).cmp(&(b.age(), b.range())));
        let is_free = items.len() == 1;
        let mut before = Vec::new();
        let mut follows: Option<TableId> = None;
        for item in items {
            let place = next.place(&before, &item);
            let destination = next.destination(place);
            let action = match item.tables.as_slice() {
                // Those that went before are below it: only the first may be at the bottom.
                [(_, alone)] if before.is_empty() => next.action(alone, merge),
                [_] => Action::Move,
                _ => merge.clone(),
            };
            let (smallest, largest) = item.range();
            before.push((place, smallest, largest));
            let inputs = item.ids();
            let joins = |last: &&mut Group| {
                last.destination == destination && last.action == action && action == Action::Move
            };
            let other = if is_free {
                free.iter_mut().find(joins)
            } else {
                groups
                    .last_mut()
                    .filter(joins)
                    .filter(|last| follows == last.inputs.first().copied())
            };
            match other {
                Some(group) => group.inputs.extend(inputs),
                None => {
                    let first = inputs.first().copied();
                    let group = Group { follows, ..Group::new(inputs, destination, action) };
                    if is_free {
                        free.push(group)
                    } else {
                        groups.push(group)
                    }
                    follows = first;
                }
            }
        }
    }
    free.extend(groups);
    free
}
