//! The tables of a run, with the heads of their first and last keys: a search compares numbers that are adjacent in
//! memory, where each table's key would be three pointers away.

use super::reader::Table;
use crate::entry::head;
use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;
use terrane_types::{Place, Sequence};

/// The most tables of a run that also lie in one array, which each new version of the tree copies.
#[cfg(not(target_arch = "wasm32"))]
const FEW_MAX: usize = if cfg!(test) { 3 } else { 64 };

/// Tables with disjoint key ranges, in key order. A clone is cheap.
#[derive(Clone, Default)]
pub struct RunTables(Arc<Parts>);

#[derive(Default)]
struct Parts {
    tables: Sequence<Arc<Table>>,
    heads: Sequence<Heads>,
    /// All tables with their heads, unless there are many. A get finds its table here by fewer steps of memory, each of
    /// which waits for the one before.
    #[cfg(not(target_arch = "wasm32"))]
    few: Vec<(Heads, Arc<Table>)>,
}

/// The [`head`]s of a table's first and last key.
#[derive(Clone, Copy)]
struct Heads {
    smallest: u64,
    largest: u64,
}

impl Heads {
    fn of(table: &Arc<Table>) -> Self {
        let info = table.info();
        Heads { smallest: head(&info.smallest), largest: head(&info.largest) }
    }

    /// Whether the table starts at or before `key`, which has the head `wanted`.
    #[inline]
    fn starts_at_or_before(self, table: &Table, key: &[u8], wanted: u64) -> bool {
        match self.smallest.cmp(&wanted) {
            Ordering::Less => true,
            Ordering::Equal => table.info().smallest.as_slice() <= key,
            Ordering::Greater => false,
        }
    }
}

impl RunTables {
    /// Returns the tables of a run. Parts that `before` has as well are shared with it.
    #[must_use]
    pub fn new(tables: Sequence<Arc<Table>>, before: Option<&Self>) -> Self {
        let before = before.map(|before| (&before.0.tables, &before.0.heads));
        let heads = Sequence::made_of(&tables, before, |table| Some(Heads::of(table)));
        RunTables(Arc::new(Parts {
            #[cfg(not(target_arch = "wasm32"))]
            few: match tables.len() {
                0..=FEW_MAX => {
                    tables.iter().map(|table| (Heads::of(table), table.clone())).collect()
                }
                _ => Vec::new(),
            },
            tables,
            heads,
        }))
    }

    /// Returns the place of the first table that does not end before `key`, and whether it starts after the key.
    #[inline]
    #[must_use]
    pub(super) fn place_for(&self, key: &[u8]) -> (Place, bool) {
        let wanted = head(key);
        let (place, heads) = self.search(key, wanted);
        let starts_before = |heads: Heads| {
            self.0.tables.get(place).is_some_and(|t| heads.starts_at_or_before(t, key, wanted))
        };
        (place, heads.is_some_and(|heads| heads.smallest >= wanted && !starts_before(heads)))
    }

    /// Returns the one table whose key range holds `key`, which has the [`head`] `wanted`.
    #[inline]
    #[must_use]
    pub fn covering(&self, key: &[u8], wanted: u64) -> Option<&Arc<Table>> {
        #[cfg(not(target_arch = "wasm32"))]
        {
            let few = &self.0.few;
            match few.get(few.partition_point(|(heads, _)| heads.largest < wanted)) {
                Some((heads, table)) if heads.smallest < wanted && wanted < heads.largest => {
                    return Some(table);
                }
                Some((heads, _)) if wanted < heads.smallest => return None,
                None if !few.is_empty() => return None,
                // A key with the head of a table's first or last key is compared whole.
                _ => {}
            }
        }
        self.covering_by_keys(key, wanted)
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(never))]
    fn covering_by_keys(&self, key: &[u8], wanted: u64) -> Option<&Arc<Table>> {
        let (place, heads) = self.search(key, wanted);
        let table = self.0.tables.get(place)?;
        heads?.starts_at_or_before(table, key, wanted).then_some(table)
    }

    #[inline]
    fn search(&self, key: &[u8], wanted: u64) -> (Place, Option<Heads>) {
        let Parts { tables, heads, .. } = &*self.0;
        let place = heads.partition_point(|heads| heads.largest < wanted);
        let found = heads.get(place).copied();
        if found.is_some_and(|heads| heads.largest == wanted) {
            let is_before = |table: &Arc<Table>| table.info().largest.as_slice() < key;
            let place = tables.partition_point(is_before);
            return (place, heads.get(place).copied());
        }
        (place, found)
    }
}

impl Deref for RunTables {
    type Target = Sequence<Arc<Table>>;

    fn deref(&self) -> &Self::Target {
        &self.0.tables
    }
}
