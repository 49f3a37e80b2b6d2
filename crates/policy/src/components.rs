//! Connected components of tables under overlap of their key ranges.
//!
//! 1. Sort the tables by smallest key.
//! 2. A table that starts at or before the greatest key seen so far joins the component; any other
//!    starts the next.
//!
//! Components come in key order and their hulls are disjoint, so that groups made of them commit in
//! any order.

use std::sync::Arc;
use terrane_types::{TableInfo, sort_by};

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
