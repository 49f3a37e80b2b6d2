//! The shape of a tree: levels of runs of tables, newest first.
//!
//! A *level* is a list of runs, newest first. A *run* is a list of tables with disjoint key ranges,
//! in key order. Level 0 is the staging area where flushes land, one run each.
//!
//! A shape is cheap to clone and to change: the tables of a run are in a [`Sequence`] next to their
//! totals, and a second sequence indexes all tables by id, each with its run.

use crate::ids::{Destination, RunId, TableId};
use crate::run::{Run, Tables, tables_of};
use crate::sequence::{Place, Sequence};
use crate::sort::sort_by;
use crate::table_info::{TableInfo, depth};
use crate::totals::Totals;
use serde::Serialize;
use std::cmp::Reverse;
use std::sync::Arc;

/// The most levels a tree may have. Capacities grow at least twofold a level, so 64 hold any `u64`
/// of bytes.
pub const MAX_LEVELS: usize = 64;

/// A level: runs, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Level {
    /// The runs, newest (greatest id) first.
    pub runs: Vec<Run>,
}

impl Level {
    /// Every table, newest run first.
    pub fn tables(&self) -> Tables<'_> {
        tables_of(&self.runs)
    }

    /// Returns the totals of its tables.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.runs.iter().for_each(|run| totals += run.totals());
        totals
    }

    /// Bytes of all its runs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.totals().bytes()
    }
}

/// A table and its place.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// The table.
    pub table: &'a Arc<TableInfo>,
    /// Its level and run.
    pub place: Destination,
}

/// An entry of the index by id: a table and its run.
#[derive(Clone, Debug)]
struct Entry {
    table: Arc<TableInfo>,
    run: RunId,
}

/// One keyspace's tree: levels from the staging area (0) downward; deeper is older.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Shape {
    levels: Vec<Level>,
    #[serde(skip)]
    index: Sequence<Entry>,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.levels == other.levels
    }
}

impl Eq for Shape {}

impl From<Vec<Level>> for Shape {
    fn from(levels: Vec<Level>) -> Self {
        let mut entries = Vec::new();
        for run in levels.iter().flat_map(|level| &level.runs) {
            entries.extend(run.tables().iter().map(|t| Entry { table: t.clone(), run: run.id }));
        }
        sort_by(&mut entries, |a, b| a.table.id.cmp(&b.table.id));
        Shape { levels, index: entries.into_iter().collect() }
    }
}

impl Shape {
    /// The levels; index 0 is the staging area. Deeper levels hold older data.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The levels, to add and remove runs; their tables must stay.
    pub(crate) fn levels_mut(&mut self) -> &mut Vec<Level> {
        &mut self.levels
    }

    /// Every run with its place, newest first.
    #[must_use]
    pub fn runs(&self) -> Vec<(Destination, &Run)> {
        let mut runs = Vec::new();
        for (level, l) in self.levels.iter().enumerate() {
            runs.extend(l.runs.iter().map(|run| (Destination { level, run: run.id }, run)));
        }
        runs
    }

    /// The tables of the levels from `from` to above `to`, newest position first.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> Vec<&Arc<TableInfo>> {
        let mut tables = Vec::new();
        for level in self.levels.iter().take(to).skip(from) {
            tables.extend(level.tables());
        }
        tables
    }

    /// Every table with its level and run, newest position first.
    pub fn tables(&self) -> impl Iterator<Item = (usize, RunId, &Arc<TableInfo>)> {
        let mut tables = Vec::new();
        for (Destination { level, run: id }, run) in self.runs() {
            tables.extend(run.tables().iter().map(|table| (level, id, table)));
        }
        tables.into_iter()
    }

    /// The table of this id, with its place.
    #[must_use]
    pub fn table(&self, id: TableId) -> Option<Placed<'_>> {
        let Entry { table, run } = self.index.get(self.entry(id).ok()?)?;
        for (level, l) in self.levels.iter().enumerate() {
            let mut runs = l.runs.iter();
            if runs.any(|r| r.id == *run && r.place_of(table).is_some()) {
                return Some(Placed { table, place: Destination { level, run: *run } });
            }
        }
        None
    }

    /// The tables of these ids, newest position first; ids that the shape does not hold are skipped.
    #[must_use]
    pub fn find(&self, mut ids: Vec<TableId>) -> Vec<Placed<'_>> {
        sort_by(&mut ids, Ord::cmp);
        ids.dedup();
        let mut found: Vec<_> = ids.into_iter().filter_map(|id| self.table(id)).collect();
        sort_by(&mut found, |a, b| {
            let position = |p: &Placed| (p.place.level, Reverse(p.place.run));
            position(a).cmp(&position(b)).then_with(|| a.table.smallest.cmp(&b.table.smallest))
        });
        found
    }

    /// The places of the runs that hold a table of these ids.
    #[must_use]
    pub fn runs_of(&self, ids: impl Iterator<Item = TableId>) -> Vec<Destination> {
        let mut runs = Vec::new();
        for Placed { place, .. } in ids.filter_map(|id| self.table(id)) {
            if !runs.contains(&place) {
                runs.push(place);
            }
        }
        runs
    }

    /// Returns the place of a table's entry in the index, or the place to insert it.
    fn entry(&self, id: TableId) -> Result<Place, Place> {
        let place = match self.index.last() {
            Some(last) if last.table.id < id => self.index.end(),
            _ => self.index.partition_point(|entry| entry.table.id < id),
        };
        let found = self.index.get(place).is_some_and(|entry| entry.table.id == id);
        if found { Ok(place) } else { Err(place) }
    }

    /// Enters a table of this run into the index; returns whether its id was free.
    pub(crate) fn register(&mut self, table: &Arc<TableInfo>, run: RunId) -> bool {
        let Err(place) = self.entry(table.id) else { return false };
        self.index.insert(place, Entry { table: table.clone(), run });
        true
    }

    /// Removes a table; returns whether it was there.
    pub(crate) fn take(&mut self, id: TableId) -> bool {
        let Ok(place) = self.entry(id) else { return false };
        let Some(Entry { table, run: id }) = self.index.remove(place) else { return false };
        let mut runs = self.levels.iter_mut().flat_map(|level| &mut level.runs);
        runs.any(|run| run.id == id && run.take(&table))
    }

    /// Index of the deepest level that holds a table; 0 when there is none.
    #[must_use]
    pub fn deepest(&self) -> usize {
        self.levels.iter().rposition(|level| !level.runs.is_empty()).unwrap_or(0)
    }

    /// The runs of level 0.
    #[must_use]
    pub fn level0_runs(&self) -> usize {
        self.levels.first().map_or(0, |level| level.runs.len())
    }

    /// The greatest number of tables of level 0 over any one key: at most its runs.
    #[must_use]
    pub fn level0_depth(&self) -> usize {
        self.levels.first().map_or(0, |level| depth(&level.tables().collect::<Vec<_>>()))
    }

    /// Returns the totals of all tables.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.levels.iter().for_each(|level| totals += level.totals());
        totals
    }

    /// Bytes of all tables.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.totals().bytes()
    }
}
