//! Results of reads, and the blocks that they touch.
//!
//! **Point read.** Memtables, then runs, newest first. In a run at most one table can hold the key.
//! If it does, one block is read and the search ends. If it does not, the filter passes the key with
//! its false-positive probability, drawn from the key and the table, so that the same key always has
//! the same result; then one block is read for nothing.
//!
//! **Range read.** Runs are merged from the start key until enough live keys were found. Each run
//! costs the blocks from its first entry to its position when the read ends: at least one, unless reads are lazy,
//! as the engine's. Then a table costs nothing before the read comes to its first key.
//!
//! **Values in a log** are read after that, each with its block of the log, one after another.
//!
//! Simplifications: entries in memtables do not shorten a range read; indexes and filters are in
//! memory; a block holds as many entries as fit into it by size.

use crate::entry::Entry;
use crate::tree::{Table, Tree};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use terrane_policy::{Run, RunTables, TableId};
use terrane_workload::mix;

/// A block of a table.
pub(crate) type Block = (TableId, u64);

/// The log of values, by the number of a table that there never is.
const VALUE_LOG: TableId = TableId(u64::MAX);

/// Returns the block of the log of values that has an entry's: it has `per_block` entries, in the order of
/// writes.
pub(crate) fn value_block(entry: Entry, per_block: u64) -> Block {
    (VALUE_LOG, entry.seq() / per_block)
}

/// The number of entries in a block.
pub(crate) fn entries_per_block(block_bytes: u64, entry_bytes: u64) -> u64 {
    (block_bytes / entry_bytes.max(1)).max(1)
}

/// A table whose filter a point read asks.
pub(crate) struct Probe {
    pub(crate) level: usize,
    pub(crate) table: TableId,
    /// The block that is read, if the filter passes the key.
    pub(crate) block: Option<Block>,
    /// The newest version of the key in the table.
    pub(crate) found: Option<Entry>,
}

/// The filters that a point read asks, and the blocks that it needs, in order.
pub(crate) fn get(tree: &Tree, key: u64, per_block: u64, mut each: impl FnMut(Probe)) {
    for (level, run) in runs(tree) {
        let Some(probe) = probe(tree, level, run, key, per_block) else { continue };
        let found = probe.found.is_some();
        each(probe);
        if found {
            return;
        }
    }
}

/// The runs of a tree with their levels, newest first.
pub(crate) fn runs(tree: &Tree) -> impl Iterator<Item = (usize, &Run)> {
    let levels = tree.shape().levels().iter().enumerate();
    levels.flat_map(|(at, level)| level.runs.iter().map(move |run| (at, run)))
}

/// Probes a run in a point read, if one of its tables covers the key.
pub(crate) fn probe(
    tree: &Tree,
    level: usize,
    run: &Run,
    key: u64,
    per_block: u64,
) -> Option<Probe> {
    let bytes = key.to_be_bytes();
    let table = tree.table(run.overlapping(&bytes, &bytes).next()?.id)?;
    let at = table.entries.partition_point(|e| e.key() < key);
    let found = table.entries.get(at).copied().filter(|e| e.key() == key);
    let block = (table.info.id, at as u64 / per_block);
    let passed = found.is_some() || passes(table, key);
    Some(Probe { level, table: table.info.id, block: passed.then_some(block), found })
}

/// Whether a table's filter has a false positive for this key.
fn passes(table: &Table, key: u64) -> bool {
    let drawn = mix(key ^ mix(table.info.id.0)) as f64 / u64::MAX as f64;
    drawn < table.false_positives
}

/// A cursor over one run, for a range read.
struct Cursor<'a> {
    tree: &'a Tree,
    rest: RunTables<'a>,
    table: Option<&'a Table>,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(tree: &'a Tree, run: &'a Run, from: u64) -> Self {
        let bytes = from.to_be_bytes();
        let rest = run.tables().range(run.first_from(&bytes), run.tables().end());
        let mut cursor = Cursor { tree, rest, table: None, at: 0 };
        cursor.open();
        if let Some(table) = cursor.table {
            cursor.at = table.entries.partition_point(|e| e.key() < from);
        }
        cursor
    }

    /// Advances to the next table.
    fn open(&mut self) {
        self.table = self.rest.next().and_then(|next| self.tree.table(next.id));
        self.at = 0;
    }

    fn entry(&self) -> Option<Entry> {
        self.table?.entries.get(self.at).copied()
    }

    fn block(&self, per_block: u64) -> Option<Block> {
        Some((self.table?.info.id, self.at as u64 / per_block))
    }

    fn next(&mut self) {
        self.at += 1;
        if self.entry().is_none() {
            self.open();
        }
    }
}

/// The blocks that a range read needs, which may be lazy; returns what it found.
pub(crate) fn scan(
    tree: &Tree,
    from: u64,
    entries: u64,
    (per_block, lazy): (u64, bool),
    mut block: impl FnMut(Block),
) -> Vec<Entry> {
    let runs = tree.shape().levels().iter().flat_map(|level| &level.runs);
    let mut cursors: Vec<_> = runs.map(|run| Cursor::new(tree, run, from)).collect();
    // Whether the block at which a cursor is, its table's first, is read only when its first entry is taken.
    let waits = |cursor: &Cursor| lazy && cursor.at == 0;
    let mut heads = BinaryHeap::new();
    for (number, cursor) in cursors.iter().enumerate() {
        if let Some(entry) = cursor.entry() {
            heads.push(Reverse((entry, number)));
            let now = cursor.block(per_block).filter(|_| !waits(cursor));
            now.into_iter().for_each(&mut block);
        }
    }
    let (mut found, mut last) = (Vec::new(), None);
    while (found.len() as u64) < entries {
        let Some(Reverse((entry, number))) = heads.pop() else { break };
        if last != Some(entry.key()) {
            last = Some(entry.key());
            found.extend(Some(entry).filter(|entry| entry.is_value()));
        }
        let Some(cursor) = cursors.get_mut(number) else { break };
        let before = cursor.block(per_block);
        before.filter(|_| waits(cursor)).into_iter().for_each(&mut block);
        cursor.next();
        if let Some(next) = cursor.entry() {
            heads.push(Reverse((next, number)));
            let after = cursor.block(per_block).filter(|_| !waits(cursor));
            after.filter(|_| after != before).into_iter().for_each(&mut block);
        }
    }
    found
}
