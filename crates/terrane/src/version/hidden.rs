//! Tables of which range deletes hide something, and the range deletes that are still needed.

use super::{KeyspaceRecord, LiveTable, Tree, expired};
use crate::entry::Seq;
use crate::error::Result;
use crate::vec_map::VecSet;
use terrane_policy::{Hidden, TableId, TableInfo};
use terrane_table::read::Reader;
use terrane_types::range_deletes::{End, Fragment, RangeDeletes};

/// Bytes that a keyspace's range deletes may take, those of memtables apart.
pub(crate) const DELETES_BYTES_MAX: usize = 4 << 20;

/// A part of a table is worth a rewrite if it is one in this many of its bytes.
const WORTHWHILE: u64 = 8;

/// Whether a reader looks at `from` or later, but before `to`. `readers` ascend.
fn is_read_between(readers: &[Reader], from: Seq, to: Seq) -> bool {
    let first = readers.partition_point(|reader| reader.at < from);
    readers.get(first).is_some_and(|reader| reader.at < to)
}

/// Whether no reader sees anything of a table.
fn is_hidden(list: &RangeDeletes, info: &TableInfo, readers: &[Reader]) -> bool {
    if list.newest() <= info.last_seq {
        return false;
    }
    let mut uncovered: Option<&[u8]> = Some(&info.smallest);
    for fragment in list.between(&info.smallest, &info.largest) {
        let is_over = uncovered.is_some_and(|key| *fragment.from <= *key);
        let hides = |deleted| !is_read_between(readers, info.first_seq, deleted);
        if !is_over || !fragment.first_after(info.last_seq).is_some_and(hides) {
            return false;
        }
        uncovered = fragment.to.key();
    }
    uncovered.is_none_or(|key| *key > *info.largest)
}

/// Returns the range deletes over a table that hide entries of it and are not applied to it: the newest of each
/// fragment.
fn over<'a>(
    tree: &'a Tree,
    info: &TableInfo,
) -> impl Iterator<Item = (&'a Fragment, Seq)> + use<'a> {
    let after = info.first_seq.max(info.cleared);
    let fragments = tree.range_deletes().between(&info.smallest, &info.largest).iter();
    fragments.filter(move |over| over.newest() > after).map(|over| (over, over.newest()))
}

/// Whether range deletes hide entries of a table from every reader.
pub(crate) fn hides_any(tree: &Tree, info: &TableInfo, readers: &[Reader]) -> bool {
    over(tree, info).any(|(_, deleted)| !is_read_between(readers, info.first_seq, deleted))
}

/// Returns those of the tables of which no reader sees anything: range deletes hide it, or it has expired.
pub(crate) fn hidden_tables(
    tree: &Tree,
    tables: &[TableId],
    readers: &[Reader],
) -> VecSet<TableId> {
    let list = tree.range_deletes();
    let expired = expired(tree, readers).tables.into_iter();
    let mut hidden: VecSet<TableId> = expired.filter(|id| tables.contains(id)).collect();
    if !list.is_empty() {
        let infos = tables.iter().filter_map(|id| tree.table(*id)).map(|live| live.table().info());
        hidden.extend(infos.filter(|info| is_hidden(list, info, readers)).map(|info| info.id));
    }
    hidden
}

/// Returns the parts of a tree's tables that range deletes hide. With `all`, includes tables hidden in any part, so
/// that range deletes can be forgotten.
///
/// # Errors
/// Damage, or an I/O error: tables of which a part is hidden are asked how their bytes spread.
pub(crate) fn hidden(tree: &Tree, readers: &[Reader], all: bool) -> Result<Hidden> {
    let list = tree.range_deletes();
    let mut hidden = Hidden::default();
    if list.is_empty() {
        return Ok(hidden);
    }
    for live in tree.tables() {
        let info = live.table().info();
        if is_hidden(list, info, readers) {
            hidden.whole.push(info.id);
            continue;
        }
        let mut bytes = 0;
        let mut is_partly = false;
        for (fragment, deleted) in over(tree, info) {
            if is_read_between(readers, info.first_seq, deleted) {
                hidden.awaits =
                    Some(hidden.awaits.map_or(deleted, |least: Seq| least.min(deleted)));
            } else {
                is_partly = true;
                bytes += bytes_within(live, fragment, deleted)?;
            }
        }
        if is_partly && (all || bytes.saturating_mul(WORTHWHILE) >= info.bytes) {
            hidden.parts.push((info.id, bytes));
        }
    }
    Ok(hidden)
}

/// About how many bytes of a table a range delete hides within a fragment.
fn bytes_within(live: &LiveTable, fragment: &Fragment, deleted: Seq) -> Result<u64> {
    let info = live.table().info();
    let spans = |key: &[u8]| info.smallest.as_slice() < key && key <= info.largest.as_slice();
    let through = |key: Option<&[u8]>, outside: u64| -> Result<u64> {
        match key.filter(|key| spans(key)) {
            Some(key) => Ok(live.table().properties()?.bytes_through(key).min(info.bytes)),
            None => Ok(outside),
        }
    };
    let bytes =
        through(fragment.to.key(), info.bytes)?.saturating_sub(through(Some(&fragment.from), 0)?);
    // As if its entries were written evenly over time.
    let (older, all) = (deleted - info.first_seq, (info.last_seq - info.first_seq).max(1));
    Ok((bytes as f64 * (older as f64 / all as f64).min(1.0)) as u64)
}

/// The state of a keyspace after an edit, by which the range deletes that it still needs are chosen.
pub(crate) struct Needs<'a> {
    pub record: &'a KeyspaceRecord,
    /// Everything through this number is in tables.
    pub flushed: Seq,
    /// Tables that leave and enter.
    pub dropped: &'a [TableId],
    pub added: &'a [TableInfo],
    /// The moments at which readers look, ascending.
    pub readers: Vec<Reader>,
}

impl Needs<'_> {
    /// Returns the part of a list that is needed within a range.
    pub fn of(&self, list: &RangeDeletes, from: &[u8], to: &End) -> RangeDeletes {
        list.slice(from, to).retain(|fragment, seq| self.is_needed(fragment, seq))
    }

    /// Returns the range of the record's fragments over the dropped tables, and what is needed of these, if that
    /// differs.
    pub fn after_drop(&self) -> Option<(Vec<u8>, End, RangeDeletes)> {
        let list = &self.record.range_deletes;
        if list.is_empty() {
            return None;
        }
        let dropped = || self.dropped.iter().filter_map(|id| self.record.shape.table(*id));
        let smallest = dropped().map(|placed| &placed.table.smallest).min()?;
        let largest = dropped().map(|placed| &placed.table.largest).max()?;
        let over = list.between(smallest, largest);
        let (from, to) = (over.first()?.from.to_vec(), over.last()?.to.clone());
        let needed = self.of(list, &from, &to);
        (needed != list.slice(&from, &to)).then_some((from, to, needed))
    }

    /// Whether a range delete hides anything of a table, from some reader for whom no newer one does.
    fn is_needed(&self, fragment: &Fragment, seq: Seq) -> bool {
        if seq > self.flushed {
            // Older entries may wait in memtables for their flush.
            return true;
        }
        let newer = fragment.first_after(seq);
        if newer.is_some_and(|newer| !is_read_between(&self.readers, seq, newer)) {
            return false;
        }
        let applies = |info: &TableInfo| {
            info.first_seq < seq
                && info.cleared < seq
                && *info.largest >= *fragment.from
                && !fragment.to.is_at_most(&info.smallest)
        };
        let stays = self.record.shape.runs().into_iter().any(|(_, run)| {
            let tables = run.tables();
            let first = tables.partition_point(|t| *t.largest < *fragment.from);
            let end = tables.partition_point(|t| !fragment.to.is_at_most(&t.smallest));
            tables.range(first, end).any(|t| applies(t) && !self.dropped.contains(&t.id))
        });
        stays || self.added.iter().any(applies)
    }
}
