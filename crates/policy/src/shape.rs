//! The shape of a tree: levels of runs of tables, newest first.
//!
//! A *level* is a list of runs, newest first. A *run* is a list of tables with disjoint key ranges,
//! in key order. Level 0 is the staging area where flushes land, one run each.
//!
//! A shape is cheap to clone and to change: the tables of a run lie in a [`Sequence`], beside their
//! sums, and so do all tables by their ids, each with its run.

use crate::histogram::Histogram;
use crate::plan::Destination;
use crate::sequence::{self, Place, Sequence};
use crate::sort::sort_by;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::ops::AddAssign;
use std::sync::Arc;
use std::{fmt, slice};

/// The most levels a tree may have. Capacities grow at least twofold a level, so 64 hold any `u64`
/// of bytes.
pub const MAX_LEVELS: usize = 64;

/// Names a table for the whole life of a store; never reused. It is also the number of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u64);

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}", self.0)
    }
}

/// Names a run within a store. Within a level a greater id is a newer run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(pub u64);

/// What a planner may know of one table (SST).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// The table's name.
    pub id: TableId,
    /// Size of its file, in bytes.
    pub bytes: u64,
    /// Entries of every kind, all versions counted.
    pub entries: u64,
    /// Those of them that are deletes.
    pub tombstones: u64,
    /// The least user key held.
    pub smallest: Vec<u8>,
    /// The greatest user key held (inclusive).
    pub largest: Vec<u8>,
    /// The least sequence number held.
    pub first_seq: u64,
    /// The greatest sequence number held.
    pub last_seq: u64,
    /// The salt of the store that wrote it, which seeds its checksums; planners have no use for it.
    #[serde(skip)]
    pub salt: u64,
    /// How its bytes spread over its keys, for policies that say that they read it. Not part of any
    /// stored form: the table's own properties hold it.
    #[serde(skip)]
    pub histogram: Histogram,
}

impl TableInfo {
    /// Whether the two key ranges share a user key.
    #[must_use]
    pub fn overlaps(&self, other: &TableInfo) -> bool {
        self.smallest <= other.largest && other.smallest <= self.largest
    }

    /// Whether `key` lies in the table's key range.
    #[must_use]
    pub fn spans(&self, key: &[u8]) -> bool {
        self.smallest.as_slice() <= key && key <= self.largest.as_slice()
    }
}

/// What some tables hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many tables there are.
    pub tables: usize,
    bytes: u128,
    entries: u128,
    tombstones: u128,
}

impl Totals {
    /// Sizes of their files, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        clamp(self.bytes)
    }

    /// Entries of every kind, all versions counted.
    #[must_use]
    pub fn entries(&self) -> u64 {
        clamp(self.entries)
    }

    /// Those of them that are deletes.
    #[must_use]
    pub fn tombstones(&self) -> u64 {
        clamp(self.tombstones)
    }

    fn of(table: &TableInfo) -> Self {
        let TableInfo { bytes, entries, tombstones, .. } = table;
        let wide = |n: &u64| u128::from(*n);
        Totals {
            tables: 1,
            bytes: wide(bytes),
            entries: wide(entries),
            tombstones: wide(tombstones),
        }
    }

    fn subtract(&mut self, other: &Totals) {
        self.tables -= other.tables;
        self.bytes -= other.bytes;
        self.entries -= other.entries;
        self.tombstones -= other.tombstones;
    }
}

/// Sizes are not trusted: sums of them may be greater than any size.
fn clamp(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.tables += other.tables;
        self.bytes += other.bytes;
        self.entries += other.entries;
        self.tombstones += other.tombstones;
    }
}

/// A sorted run: tables with disjoint key ranges, in key order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The run's name; a greater id within a level is newer.
    pub id: RunId,
    tables: Sequence<Arc<TableInfo>>,
    #[serde(skip)]
    totals: Totals,
}

impl Run {
    /// A run of tables in key order, which share no key.
    #[must_use]
    pub fn new(id: RunId, tables: Vec<Arc<TableInfo>>) -> Self {
        let mut run = Run { id, tables: Sequence::default(), totals: Totals::default() };
        for table in tables {
            run.insert(run.tables.end(), table);
        }
        run
    }

    /// Its tables, in key order.
    #[must_use]
    pub fn tables(&self) -> &Sequence<Arc<TableInfo>> {
        &self.tables
    }

    /// What its tables hold.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Bytes of all its tables.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.totals.bytes()
    }

    /// The first of its tables that ends at `key` or after it.
    #[must_use]
    pub fn first_from(&self, key: &[u8]) -> Place {
        self.tables.partition_point(|t| t.largest.as_slice() < key)
    }

    /// The tables that share a user key range with `smallest..=largest`, found by binary search.
    #[must_use]
    pub fn overlapping(&self, smallest: &[u8], largest: &[u8]) -> RunTables<'_> {
        let to = self.tables.partition_point(|t| t.smallest.as_slice() <= largest);
        self.tables.range(self.first_from(smallest), to)
    }

    /// Where a table of this id and smallest key stands.
    fn place_of(&self, table: &TableInfo) -> Option<Place> {
        let place = self.tables.partition_point(|t| t.smallest < table.smallest);
        self.tables.get(place).filter(|found| found.id == table.id).map(|_| place)
    }

    fn insert(&mut self, place: Place, table: Arc<TableInfo>) {
        self.totals += Totals::of(&table);
        self.tables.insert(place, table);
    }

    /// Adds a table where its keys belong; where it would share keys with one that is there, returns
    /// the two, in key order.
    pub(crate) fn add(&mut self, table: &Arc<TableInfo>) -> Result<(), (TableId, TableId)> {
        let is_last = self.tables.last().is_none_or(|last| last.largest < table.smallest);
        let place = if is_last {
            self.tables.end()
        } else {
            self.tables.partition_point(|t| t.smallest < table.smallest)
        };
        let before = self.tables.before(place).and_then(|place| self.tables.get(place));
        if let Some(before) = before.filter(|before| before.largest >= table.smallest) {
            return Err((before.id, table.id));
        }
        if let Some(after) = self.tables.get(place).filter(|after| after.smallest <= table.largest)
        {
            return Err((table.id, after.id));
        }
        self.insert(place, table.clone());
        Ok(())
    }

    /// Takes a table out; returns whether it was there.
    pub(crate) fn take(&mut self, table: &TableInfo) -> bool {
        let Some(place) = self.place_of(table) else { return false };
        self.totals.subtract(&Totals::of(table));
        self.tables.remove(place).is_some()
    }
}

/// Tables of a run, in key order.
pub type RunTables<'a> = sequence::Iter<'a, Arc<TableInfo>>;

/// The tables of runs, run after run.
#[derive(Clone)]
pub struct Tables<'a> {
    runs: slice::Iter<'a, Run>,
    tables: Option<RunTables<'a>>,
}

impl<'a> Iterator for Tables<'a> {
    type Item = &'a Arc<TableInfo>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(table) = self.tables.as_mut().and_then(Iterator::next) {
                return Some(table);
            }
            self.tables = Some(self.runs.next()?.tables.iter());
        }
    }
}

/// Every table of `runs`, run after run.
#[must_use]
pub fn tables_of(runs: &[Run]) -> Tables<'_> {
    Tables { runs: runs.iter(), tables: None }
}

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

    /// What its tables hold.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.runs.iter().for_each(|run| totals += run.totals);
        totals
    }

    /// Bytes of all its runs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.totals().bytes()
    }
}

/// A table and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// The table.
    pub table: &'a Arc<TableInfo>,
    /// Its level and run.
    pub place: Destination,
}

/// A table and its run, in the order of the tables' ids.
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
            entries.extend(run.tables.iter().map(|t| Entry { table: t.clone(), run: run.id }));
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

    /// The levels, of which runs come and go but not their tables.
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
            tables.extend(run.tables.iter().map(|table| (level, id, table)));
        }
        tables.into_iter()
    }

    /// The table of this id, and where it stands.
    #[must_use]
    pub fn table(&self, id: TableId) -> Option<Placed<'_>> {
        let Entry { table, run: name } = self.index.get(self.entry(id).ok()?)?;
        for (level, l) in self.levels.iter().enumerate() {
            let mut runs = l.runs.iter();
            if runs.any(|run| run.id == *name && run.place_of(table).is_some()) {
                return Some(Placed { table, place: Destination { level, run: *name } });
            }
        }
        None
    }

    /// The tables of these names, newest position first; names that the shape does not hold are left
    /// out.
    #[must_use]
    pub fn find(&self, mut names: Vec<TableId>) -> Vec<Placed<'_>> {
        sort_by(&mut names, Ord::cmp);
        names.dedup();
        let mut found: Vec<_> = names.into_iter().filter_map(|id| self.table(id)).collect();
        sort_by(&mut found, |a, b| {
            let position = |p: &Placed| (p.place.level, Reverse(p.place.run));
            position(a).cmp(&position(b)).then_with(|| a.table.smallest.cmp(&b.table.smallest))
        });
        found
    }

    /// The places of the runs that hold a table of these names.
    #[must_use]
    pub(crate) fn runs_of(&self, names: impl Iterator<Item = TableId>) -> Vec<Destination> {
        let mut runs = Vec::new();
        for Placed { place, .. } in names.filter_map(|id| self.table(id)) {
            if !runs.contains(&place) {
                runs.push(place);
            }
        }
        runs
    }

    /// Where a table's entry stands, or would stand, in the index.
    fn entry(&self, id: TableId) -> Result<Place, Place> {
        let place = match self.index.last() {
            Some(last) if last.table.id < id => self.index.end(),
            _ => self.index.partition_point(|entry| entry.table.id < id),
        };
        let found = self.index.get(place).is_some_and(|entry| entry.table.id == id);
        if found { Ok(place) } else { Err(place) }
    }

    /// Names a table that is to enter this run; returns whether the name was free.
    pub(crate) fn name(&mut self, table: &Arc<TableInfo>, run: RunId) -> bool {
        let Err(place) = self.entry(table.id) else { return false };
        self.index.insert(place, Entry { table: table.clone(), run });
        true
    }

    /// Takes a table out; returns whether it was there.
    pub(crate) fn take(&mut self, id: TableId) -> bool {
        let Ok(place) = self.entry(id) else { return false };
        let Some(Entry { table, run: name }) = self.index.remove(place) else { return false };
        let mut runs = self.levels.iter_mut().flat_map(|level| &mut level.runs);
        runs.any(|run| run.id == name && run.take(&table))
    }

    /// Index of the deepest level that holds a table; 0 when there is none.
    #[must_use]
    pub fn deepest(&self) -> usize {
        self.levels.iter().rposition(|level| !level.runs.is_empty()).unwrap_or(0)
    }

    /// What all tables hold.
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
