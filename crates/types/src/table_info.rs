//! Knowledge of planners about a table.

use crate::filter_bits::FilterBits;
use crate::histogram::Histogram;
use crate::ids::{Millis, TableId};
use crate::prefix::Prefixes;
use crate::sort::sort_by;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Entries of a table that only snapshots kept when it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The number of these entries: superseded versions, and tombstones with nothing below them.
    pub entries: u64,
    /// Bytes that they take of the table's data blocks; an estimate.
    pub bytes: u64,
    /// The sequence number that every snapshot must have reached before all of them can be dropped.
    pub until: u64,
}

impl Kept {
    /// Counts one more entry, which can be dropped once every snapshot has reached `until`.
    pub fn add(&mut self, bytes: u64, until: u64) {
        self.entries += 1;
        self.bytes += bytes;
        self.until = self.until.max(until);
    }
}

/// Knowledge of a planner about a table (SST).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// Its id.
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
    /// Filter bits of each key with which it was written.
    pub filter_bits: FilterBits,
    /// Memory that all its filters take, in bytes; 0 without filters.
    pub filter_bytes: u64,
    /// Entries that only snapshots kept when it was written; `None` in tables of releases that did not
    /// count them.
    #[serde(default, skip_serializing_if = "keeps_nothing")]
    pub kept: Option<Kept>,
    /// Range deletes through this sequence number were applied when it was written: it has nothing that they hide.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cleared: u64,
    /// The time by which all its values have expired; 0 if one never expires, or if it has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expires_by: Millis,
    /// The salt of the store that wrote it, which seeds its checksums; planners have no use for it.
    #[serde(skip)]
    pub salt: u64,
    /// Spread of its bytes over its keys, for policies that declare that they read it. Not part of any
    /// stored form: the table's own properties hold it.
    #[serde(skip)]
    pub histogram: Histogram,
    /// Prefixes of its keys, for policies that declare that they read them; like the histogram no part of
    /// any stored form.
    #[serde(skip)]
    pub prefixes: Prefixes,
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

fn keeps_nothing(kept: &Option<Kept>) -> bool {
    kept.is_none_or(|kept| kept.entries == 0)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The greatest number of the tables over any one key.
#[must_use]
pub fn depth(tables: &[&Arc<TableInfo>]) -> usize {
    let (mut starts, mut ends) = (tables.to_vec(), tables.to_vec());
    sort_by(&mut starts, |a, b| a.smallest.cmp(&b.smallest));
    sort_by(&mut ends, |a, b| a.largest.cmp(&b.largest));
    let mut ends = ends.into_iter().peekable();
    let (mut open, mut most) = (0usize, 0);
    for table in starts {
        while ends.next_if(|ended| ended.largest < table.smallest).is_some() {
            open = open.saturating_sub(1);
        }
        open += 1;
        most = most.max(open);
    }
    most
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
