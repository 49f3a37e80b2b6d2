//! Tables of which all has expired.
//!
//! Such a table acts as tombstones. It is dropped unread once no snapshot is older than it and no other table has older
//! entries in its key range, expired or not: after a reopening with an earlier clock these would show again. So they go
//! one after another, the oldest first.

use super::Tree;
use crate::entry::{Millis, Seq};
use terrane_policy::{Shape, TableId, TableInfo};
use terrane_table::read::Reader;

/// The tables of a tree of which all has expired.
#[derive(Debug, Default)]
pub(crate) struct Expired {
    /// Those that can go unread.
    pub tables: Vec<TableId>,
    /// The sequence number that the oldest snapshot must reach before more can.
    pub awaits: Option<Seq>,
    /// Whether a table has expired for the present alone, while a snapshot has the same sequence number.
    pub awaits_present: bool,
    /// The time at which all of the next table has expired.
    pub next: Option<Millis>,
}

/// Whether a table shows no value to any reader, and no reader is older than it.
pub(crate) fn has_expired(info: &TableInfo, readers: &[Reader]) -> bool {
    readers.first().is_some_and(|oldest| is_past(info, oldest))
}

/// Whether all of a table has expired for a reader who is not older than any of it.
fn is_past(info: &TableInfo, reader: &Reader) -> bool {
    info.expires_by > 0 && info.expires_by <= reader.now && info.last_seq <= reader.at
}

/// Returns the tables of which all has expired for the readers, which ascend.
pub(crate) fn expired(tree: &Tree, readers: &[Reader]) -> Expired {
    let mut expired = Expired::default();
    let Some(present) = readers.last().filter(|present| present.now > 0) else { return expired };
    let shape = tree.shape();
    let mut past: Vec<&TableInfo> = Vec::new();
    for (.., info) in shape.tables().filter(|(.., info)| info.expires_by > 0) {
        if has_expired(info, readers) {
            past.push(info);
        } else if let Some(first) = readers.iter().position(|reader| is_past(info, reader)) {
            let at = |index: usize| readers.get(index).map(|reader| reader.at);
            if first.checked_sub(1).and_then(at) == at(first) {
                expired.awaits_present = true;
            } else {
                expired.awaits = expired.awaits.into_iter().chain(at(first)).min();
            }
        } else if info.expires_by > present.now {
            expired.next = expired.next.into_iter().chain([info.expires_by]).min();
        }
    }
    let unread = past.into_iter().filter(|info| !covers(shape, info));
    expired.tables = unread.map(|info| info.id).collect();
    expired
}

/// Whether a table may hide anything older of another.
fn covers(shape: &Shape, info: &TableInfo) -> bool {
    shape.runs().into_iter().any(|(_, run)| {
        let tables = run.tables();
        let first = tables.partition_point(|t| t.largest < info.smallest);
        let end = tables.partition_point(|t| t.smallest <= info.largest);
        tables.range(first, end).any(|t| t.first_seq < info.last_seq && t.id != info.id)
    })
}
