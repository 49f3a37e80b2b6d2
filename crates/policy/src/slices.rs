//! Compaction of a range on demand, in slices of bounded size.
//!
//! The range is compact when its contents as of some moment are in the *bottom*, the last run of the
//! deepest level, without entries that can be dropped. Each step starts from the current shape:
//!
//! 1. The work left: tables of the range above the bottom with entries of that moment or earlier;
//!    tables of the bottom from before that moment with tombstones, or with entries that only snapshots
//!    kept, that range deletes hide, that have expired or that a filter may remove; and later tables of the
//!    bottom with entries kept for a snapshot that was released before that moment, but not yet when their
//!    merge started.
//! 2. A slice starts at the least key of these and ends where some table starts, so that it holds about
//!    the target size; a table that extends beyond it counts in proportion to the starts of other
//!    tables within it.
//! 3. The slice's tables and all that they overlap below are merged into the bottom: one group. Tables
//!    above them may stay there, as they are newer.
//! 4. If tables that extend beyond the end would bring in too much, they are cut first, at the end and
//!    at some starts after it, each in its place: so every table is cut only a few times. The next step
//!    is the slice up to that end.
//!
//! Each step moves entries to the bottom or cuts what blocks the next, so this terminates, whatever a
//! policy does at the same time.

use std::sync::Arc;
use terrane_types::{
    Action, Compaction, Destination, Group, Run, RunTables, Shape, TableId, TableInfo, VecSet,
    key_range, sort_by,
};

/// The most cuts of a table in one step.
const CUTS_MAX: usize = 15;
/// Tables are cut for a slice that exceeds the target size by this factor.
const EXCESS_MAX: u64 = 4;

/// A range to compact.
pub struct Slicing<'a> {
    /// Whether a table ends before the range starts.
    pub ends_before: &'a dyn Fn(&TableInfo) -> bool,
    /// Whether a table starts after the range ends.
    pub starts_behind: &'a dyn Fn(&TableInfo) -> bool,
    /// Entries up to this sequence number must reach the bottom.
    pub through: u64,
    /// Tables of the bottom with ids below this one must lose the entries that no reader needs.
    pub before: TableId,
    /// The oldest snapshot at that moment. Tables with greater ids must also lose what it does not need.
    pub oldest_snapshot: u64,
    /// Whether a merge drops entries of a table that its counts do not show: range deletes hide them from every reader,
    /// they have expired, or a filter may remove them.
    pub is_hidden: &'a dyn Fn(&TableInfo) -> bool,
    /// The end of the next slice, if tables were cut for it.
    pub end: Option<&'a [u8]>,
    /// The target size of a slice, in bytes.
    pub slice_bytes: u64,
    /// Size at which tables are closed, in bytes.
    pub target_file_bytes: u64,
}

impl Slicing<'_> {
    /// Whether a table of the bottom must be merged again.
    fn is_due(&self, table: &TableInfo) -> bool {
        let older = table.id < self.before;
        if older && (self.is_hidden)(table) {
            return true;
        }
        match table.kept {
            // Entries of one batch never supersede each other.
            None => older && (table.tombstones > 0 || table.first_seq < table.last_seq),
            Some(kept) => {
                older && (table.tombstones > 0 || kept.entries > 0)
                    || kept.entries > 0 && kept.until <= self.oldest_snapshot
            }
        }
    }

    /// The tables of a run that hold keys of the range.
    fn inside<'r>(&self, run: &'r Run) -> RunTables<'r> {
        let from = run.tables().partition_point(|t| (self.ends_before)(t));
        let to = run.tables().partition_point(|t| !(self.starts_behind)(t));
        run.tables().range(from, to)
    }
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slice {
    /// The range is compact.
    Done,
    /// Tables are cut for the slice that ends here.
    Cut(Compaction, Vec<u8>),
    /// A slice is merged into the bottom.
    Merge(Compaction),
}

type Table<'a> = &'a Arc<TableInfo>;

/// The next step.
#[must_use]
pub fn next_slice(shape: &Shape, slicing: &Slicing) -> Slice {
    let mut runs = shape.runs();
    let Some((bottom, bottom_run)) = runs.pop() else { return Slice::Done };
    let upper = runs.iter().flat_map(|(_, run)| slicing.inside(run));
    let mut seeds: Vec<Table> = upper.filter(|t| t.first_seq <= slicing.through).collect();
    let inside = slicing.inside(bottom_run);
    seeds.extend(inside.clone().filter(|t| slicing.is_due(t)));
    let Some(start) = seeds.iter().map(|t| t.smallest.as_slice()).min() else { return Slice::Done };

    let mut tables = seeds.clone();
    tables.extend(inside.filter(|t| !slicing.is_due(t)));
    tables.retain(|t| t.largest.as_slice() >= start);
    let starts = Starts::new(start, &mut tables);
    // Another compaction may have finished the slice that the tables were cut for.
    let given = slicing.end.filter(|end| *end > start);
    let at = match given {
        Some(end) => starts.0.partition_point(|s| *s < end),
        None => starts.end(&tables, slicing.slice_bytes),
    };
    let end = given.or_else(|| starts.0.get(at).copied());
    let is_before = |t: &Table| end.is_none_or(|end| t.smallest.as_slice() < end);
    seeds.retain(is_before);

    let inputs = closure(&runs, bottom_run, &seeds);
    let bytes = inputs.iter().map(|(_, t)| t.bytes).fold(0, u64::saturating_add);
    let beyond = |t: &TableInfo| end.is_some_and(|e| *t.smallest < *e && *e <= *t.largest);
    let in_the_way = inputs.iter().filter(|(_, t)| beyond(t));
    let mut cuts = Vec::new();
    if bytes > slicing.slice_bytes.saturating_mul(EXCESS_MAX) {
        cuts.extend(in_the_way.filter_map(|(place, t)| {
            let cuts = starts.cuts(t, at, end?);
            let target_file_bytes = slicing.target_file_bytes;
            let action = Action::Merge { cuts, target_file_bytes, filter_bits: None, split: None };
            // Those of the bottom stay whole.
            Some(Group::new(vec![t.id], (*place)?, action))
        }));
    }
    if let Some(end) = end.filter(|_| !cuts.is_empty()) {
        let reason = format!("{} tables are cut to compact a range in slices", cuts.len());
        return Slice::Cut(Compaction::parallel(cuts, reason), end.to_vec());
    }
    let merged = inputs.iter().map(|(_, t)| t.id).collect();
    let group = Group::new(merged, bottom, Action::merge(slicing.target_file_bytes));
    let reason = format!("a range is compacted: {} tables become part of one run", inputs.len());
    Slice::Merge(Compaction::parallel(vec![group], reason))
}

/// The tables, all that they overlap below, and the bottom's tables in the key range of all of these:
/// each with its place if it is above the bottom.
fn closure<'a>(
    runs: &[(Destination, &'a Run)],
    bottom: &'a Run,
    seeds: &[Table<'a>],
) -> Vec<(Option<Destination>, Table<'a>)> {
    let mut seeded = VecSet::default();
    seeded.extend(seeds.iter().map(|t| t.id));
    // The seeds and all tables taken so far: any other table taken overlaps one of these.
    let mut all = seeds.to_vec();
    let mut above: Vec<Table> = Vec::new();
    let mut inputs = Vec::new();
    for (place, run) in runs {
        let (smallest, largest) = key_range(&all);
        let spanned = run.overlapping(smallest, largest);
        let mut taken = VecSet::default();
        taken.extend(spanned.clone().map(|t| t.id).filter(|id| seeded.contains(id)));
        for table in &above {
            let below = run.overlapping(&table.smallest, &table.largest);
            taken.extend(below.map(|t| t.id));
        }
        let these: Vec<_> = spanned.filter(|t| taken.contains(&t.id)).collect();
        inputs.extend(these.iter().map(|t| (Some(*place), *t)));
        above.extend(&these);
        all.extend(these);
    }
    let (smallest, largest) = key_range(&all);
    inputs.extend(bottom.overlapping(smallest, largest).map(|t| (None, t)));
    inputs
}

/// The start keys of tables, after that of the slice.
struct Starts<'a>(Vec<&'a [u8]>);

impl<'a> Starts<'a> {
    fn new(start: &[u8], tables: &mut [Table<'a>]) -> Self {
        sort_by(tables, |a, b| a.smallest.cmp(&b.smallest));
        let mut starts: Vec<&[u8]> =
            tables.iter().copied().map(|t| t.smallest.as_slice()).filter(|s| *s > start).collect();
        starts.dedup();
        Starts(starts)
    }

    /// The number of starts up to a key.
    fn through(&self, key: &[u8]) -> usize {
        self.0.partition_point(|s| *s <= key)
    }

    /// The start that ends a slice of about this size; past the last if the rest is smaller.
    fn end(&self, tables: &[Table], bytes: u64) -> usize {
        let before = |at: usize| {
            let load = tables.iter().map(|t| {
                let (first, last) = (self.through(&t.smallest), self.through(&t.largest));
                let pieces = (last - first + 1) as u64;
                let within = (at + 1).saturating_sub(first).min(last - first + 1) as u64;
                (t.bytes / pieces).saturating_mul(within)
            });
            load.fold(0, u64::saturating_add)
        };
        let (mut low, mut high) = (0, self.0.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            if before(middle) <= bytes { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// Keys at which to cut a table: `end`, which is start number `at`, and some after it.
    fn cuts(&self, table: &TableInfo, at: usize, end: &[u8]) -> Vec<Vec<u8>> {
        let beyond = self.0.get(at..self.through(&table.largest)).unwrap_or_default();
        let step = beyond.len().div_ceil(CUTS_MAX).max(1);
        let mut cuts = vec![end.to_vec()];
        cuts.extend(beyond.iter().step_by(step).filter(|s| **s > end).map(|s| s.to_vec()));
        cuts
    }
}
