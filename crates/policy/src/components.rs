//! Connected components of tables under overlap of their key ranges.
//!
//! 1. Sort the tables by smallest key.
//! 2. A table that starts at or before the greatest key seen so far joins the component; any other
//!    starts the next.
//!
//! Components come in key order and their hulls are disjoint, so that groups made of them commit in
//! any order.

use crate::shape::TableInfo;
use crate::sort::sort_by;
use std::sync::Arc;

/// The components of `tables`, in key order.
#[must_use]
pub fn components(mut tables: Vec<&Arc<TableInfo>>) -> Vec<Vec<&Arc<TableInfo>>> {
    sort_by(&mut tables, |a, b| a.smallest.cmp(&b.smallest));
    let mut all: Vec<Vec<&Arc<TableInfo>>> = Vec::new();
    let mut end: &[u8] = &[];
    for table in tables {
        match all.last_mut() {
            Some(last) if table.smallest.as_slice() <= end => last.push(table),
            _ => all.push(vec![table]),
        }
        end = end.max(&table.largest);
    }
    all
}

/// The least and the greatest key of the tables; both empty if there is none.
#[must_use]
pub fn key_range<'a>(tables: &[&'a Arc<TableInfo>]) -> (&'a [u8], &'a [u8]) {
    let Some((first, rest)) = tables.split_first() else { return Default::default() };
    let (mut smallest, mut largest) = (&first.smallest, &first.largest);
    for table in rest {
        smallest = smallest.min(&table.smallest);
        largest = largest.max(&table.largest);
    }
    (smallest, largest)
}
