//! Runs: tables with disjoint key ranges, in key order.

use crate::ids::{RunId, TableId};
use crate::sequence::{self, Place, Sequence};
use crate::table_info::TableInfo;
use crate::totals::Totals;
use serde::Serialize;
use std::slice;
use std::sync::Arc;

/// A sorted run: tables with disjoint key ranges, in key order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its id; within a level a greater id is newer.
    pub id: RunId,
    tables: Sequence<Arc<TableInfo>>,
    #[serde(skip)]
    totals: Totals,
}

impl Run {
    /// A run of tables, given in key order, whose key ranges are disjoint.
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

    /// Returns the totals of its tables.
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

    /// The place of the table with this id and smallest key.
    pub(crate) fn place_of(&self, table: &TableInfo) -> Option<Place> {
        let place = self.tables.partition_point(|t| t.smallest < table.smallest);
        self.tables.get(place).filter(|found| found.id == table.id).map(|_| place)
    }

    fn insert(&mut self, place: Place, table: Arc<TableInfo>) {
        self.totals += Totals::of(&table);
        self.tables.insert(place, table);
    }

    /// Inserts a table by its keys; if it would overlap a neighbour, returns the two ids in key order.
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

    /// Removes a table; returns whether it was there.
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
