//! The tables of a run, with the heads of their first and last keys: a search compares numbers that are adjacent in
//! memory, where each table's key would be three pointers away.

use super::reader::Table;
use crate::entry::head;
use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;
use terrane_types::{Place, Sequence};

/// Tables with disjoint key ranges, in key order. A clone is cheap.
#[derive(Clone, Default)]
pub struct RunTables {
    tables: Sequence<Arc<Table>>,
    heads: Sequence<Heads>,
}

/// The [`head`]s of a table's first and last key.
#[derive(Clone, Copy)]
struct Heads {
    smallest: u64,
    largest: u64,
}

impl RunTables {
    /// Returns the tables of a run. Parts that `before` has as well are shared with it.
    #[must_use]
    pub fn new(tables: Sequence<Arc<Table>>, before: Option<&Self>) -> Self {
        let before = before.map(|before| (&before.tables, &before.heads));
        let heads = |table: &Arc<Table>| {
            let info = table.info();
            Some(Heads { smallest: head(&info.smallest), largest: head(&info.largest) })
        };
        let heads = Sequence::made_of(&tables, before, heads);
        RunTables { tables, heads }
    }

    /// Returns the place of the first table that does not end before `key`.
    #[inline]
    #[must_use]
    pub fn place_for(&self, key: &[u8]) -> Place {
        self.search(key, head(key)).0
    }

    /// Returns the one table whose key range holds `key`.
    #[inline]
    #[must_use]
    pub fn covering(&self, key: &[u8]) -> Option<&Arc<Table>> {
        let wanted = head(key);
        let (place, heads) = self.search(key, wanted);
        let table = self.tables.get(place)?;
        let is_within = match heads?.smallest.cmp(&wanted) {
            Ordering::Less => true,
            Ordering::Equal => table.info().smallest.as_slice() <= key,
            Ordering::Greater => false,
        };
        is_within.then_some(table)
    }

    #[inline]
    fn search(&self, key: &[u8], wanted: u64) -> (Place, Option<Heads>) {
        let place = self.heads.partition_point(|heads| heads.largest < wanted);
        let found = self.heads.get(place).copied();
        if found.is_some_and(|heads| heads.largest == wanted) {
            let is_before = |table: &Arc<Table>| table.info().largest.as_slice() < key;
            let place = self.tables.partition_point(is_before);
            return (place, self.heads.get(place).copied());
        }
        (place, found)
    }
}

impl Deref for RunTables {
    type Target = Sequence<Arc<Table>>;

    fn deref(&self) -> &Self::Target {
        &self.tables
    }
}
