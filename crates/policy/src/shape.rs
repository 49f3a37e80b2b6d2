//! The shape of a tree: levels of runs of tables, newest first.
//!
//! A *level* is a list of runs, newest first. A *run* is a list of tables with disjoint key ranges,
//! in key order. Level 0 is the staging area where flushes land, one run each.

use crate::histogram::Histogram;
use crate::names::Names;
use crate::nested::Nested;
use crate::plan::Destination;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

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
    /// How its bytes spread over its keys. Not part of any stored form: the table's own properties
    /// hold it.
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

/// A sorted run: tables with disjoint key ranges, in key order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The run's name; a greater id within a level is newer.
    pub id: RunId,
    /// Its tables, in key order.
    pub tables: Vec<Arc<TableInfo>>,
}

impl Run {
    /// Bytes of all its tables.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|t| t.bytes).fold(0, u64::saturating_add)
    }

    /// The tables that share a user key range with `smallest..=largest`, found by binary search.
    #[must_use]
    pub fn overlapping(&self, smallest: &[u8], largest: &[u8]) -> &[Arc<TableInfo>] {
        let from = self.tables.partition_point(|t| t.largest.as_slice() < smallest);
        let rest = self.tables.get(from..).unwrap_or_default();
        let count = rest.partition_point(|t| t.smallest.as_slice() <= largest);
        rest.get(..count).unwrap_or_default()
    }
}

/// For each of some tables in key order, those of `below`, in key order too, that share a user key
/// range with it: as [`Run::overlapping`], but in one sweep.
pub(crate) fn overlapping_each<'a>(
    tables: &[Arc<TableInfo>],
    below: &'a [Arc<TableInfo>],
) -> Vec<&'a [Arc<TableInfo>]> {
    let mut rest = below;
    let mut each = Vec::with_capacity(tables.len());
    for table in tables {
        let behind = rest.iter().take_while(|t| t.largest < table.smallest).count();
        rest = rest.get(behind..).unwrap_or_default();
        let count = rest.iter().take_while(|t| t.smallest <= table.largest).count();
        each.push(rest.get(..count).unwrap_or_default());
    }
    each
}

/// The tables of runs.
pub type Tables<'a> = Nested<'a, Run, Arc<TableInfo>>;

/// Every table of `runs`, run after run.
#[must_use]
pub fn tables_of(runs: &[Run]) -> Tables<'_> {
    Nested::new(runs, |run| &run.tables)
}

/// A level: runs, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The runs, newest (greatest id) first.
    pub runs: Vec<Run>,
}

impl Level {
    /// Every table, newest run first.
    pub fn tables(&self) -> Tables<'_> {
        tables_of(&self.runs)
    }

    /// Bytes of all its runs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(Run::bytes).fold(0, u64::saturating_add)
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

/// One keyspace's tree: levels from the staging area (0) downward; deeper is older.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The levels; index 0 is the staging area. Deeper levels hold older data.
    pub levels: Vec<Level>,
}

impl Shape {
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

    /// The tables of these names, newest position first; names that the shape does not hold are left
    /// out. It is one pass over the tables that looks at nothing but their names: no key is compared,
    /// and nothing is kept of a table that is not asked for.
    #[must_use]
    pub fn find(&self, names: Vec<TableId>) -> Vec<Placed<'_>> {
        let names = Names::from(names);
        let mut found = Vec::new();
        for (place, run) in self.runs() {
            for table in &run.tables {
                if names.contains(table.id) {
                    found.push(Placed { table, place });
                }
            }
        }
        found
    }

    /// Index of the deepest level that holds a table; 0 when there is none.
    #[must_use]
    pub fn deepest(&self) -> usize {
        self.levels.iter().rposition(|level| !level.runs.is_empty()).unwrap_or(0)
    }

    /// Bytes of all tables.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(Level::bytes).fold(0, u64::saturating_add)
    }
}
