//! Edits of a shape.

mod collections;
mod queries;

use crate::*;
use proptest::prelude::*;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A table of one entry a key, from the first to the last of `keys`.
fn table(id: u64, keys: RangeInclusive<u8>) -> Arc<TableInfo> {
    let (first, last) = keys.into_inner();
    let entries = u64::from(last - first) + 1;
    Arc::new(TableInfo {
        id: TableId(id),
        bytes: 10 * entries,
        entries,
        tombstones: entries / 2,
        smallest: vec![first],
        largest: vec![last],
        first_seq: 1,
        last_seq: 1,
        filter_bits: FilterBits::whole(10),
        filter_bytes: 64,
        kept: Some(Kept::default()),
        cleared: 0,
        expires_by: 0,
        salt: 0,
        histogram: Histogram::default(),
        prefixes: Prefixes::default(),
    })
}

#[test]
fn filter_bits_are_decimal_numbers_exact_to_a_thousandth() {
    for (bits, text) in [(0.0, "0"), (10.0, "10"), (9.5, "9.5"), (0.012, "0.012"), (64.0, "64")] {
        let filter_bits = FilterBits::new(bits).unwrap();
        assert_eq!(serde_json::to_string(&filter_bits).unwrap(), text);
        assert_eq!(serde_json::from_str::<FilterBits>(text).unwrap(), filter_bits);
        assert!((filter_bits.bits() - bits).abs() < 1e-9);
    }
    assert_eq!(FilterBits::new(4.9996), Some(FilterBits::whole(5)));
    for bits in [-0.1, 64.001, f64::NAN, f64::INFINITY] {
        assert_eq!(FilterBits::new(bits), None);
    }
    assert!(serde_json::from_str::<FilterBits>("65").is_err());
}

fn adding(tables: &[(usize, u64, &Arc<TableInfo>)]) -> ShapeEdit {
    let added = tables.iter().map(|(level, run, table)| (*level, RunId(*run), Arc::clone(table)));
    ShapeEdit { added: added.collect(), dropped: vec![] }
}

fn dropping(dropped: &[u64]) -> ShapeEdit {
    ShapeEdit { added: vec![], dropped: dropped.iter().copied().map(TableId).collect() }
}

fn shape(tables: &[(usize, u64, &Arc<TableInfo>)]) -> Shape {
    apply(&Shape::default(), &adding(tables)).unwrap()
}

fn places(shape: &Shape) -> Vec<(usize, u64, u64)> {
    shape.tables().map(|(level, run, table)| (level, run.0, table.id.0)).collect()
}

#[test]
fn runs_stay_sorted_and_levels_newest_first() {
    let (c, a, b) = (table(1, 20..=21), table(2, 0..=1), table(3, 10..=11));
    let (new, old) = (table(4, 0..=29), table(5, 0..=29));
    let mut shape = Shape::default();
    for (run, table) in [(5, c), (5, a), (5, b), (9, new), (2, old)] {
        shape = apply(&shape, &adding(&[(1, run, &table)])).unwrap();
    }
    assert_eq!(places(&shape), [(1, 9, 4), (1, 5, 2), (1, 5, 3), (1, 5, 1), (1, 2, 5)]);
}

#[test]
fn empty_runs_and_trailing_levels_vanish_but_a_gap_stays() {
    let (deep, top) = (table(1, 0..=1), table(2, 0..=1));
    let tree = shape(&[(3, 1, &deep), (0, 2, &top)]);
    let mut edit = adding(&[(2, 3, &deep)]);
    edit.dropped.push(deep.id);
    let moved = apply(&tree, &edit).unwrap();
    assert_eq!(places(&moved), [(0, 2, 2), (2, 3, 1)]);
    assert_eq!(moved.levels().len(), 3);
    assert!(moved.levels()[1].runs.is_empty());
    let staged = apply(&moved, &dropping(&[1])).unwrap();
    assert_eq!(staged.levels().len(), 1);
    assert_eq!(apply(&staged, &dropping(&[2])), Ok(Shape::default()));
}

#[test]
fn a_level_is_added_and_dropped_without_renaming_runs() {
    let tree = shape(&[(2, 1, &table(1, 0..=1)), (1, 2, &table(2, 0..=1))]);
    let added = reshape(&tree, LevelChange::Add(2)).unwrap();
    assert_eq!(places(&added), [(1, 2, 2), (3, 1, 1)]);
    assert_eq!(reshape(&added, LevelChange::Drop(2)), Ok(tree.clone()));
    for change in [
        LevelChange::Add(0),
        LevelChange::Add(3),
        LevelChange::Drop(0),
        LevelChange::Drop(1),
        LevelChange::Drop(usize::MAX),
    ] {
        let error = EditError::NoSuchLevel { change, levels: 3 };
        assert_eq!(reshape(&tree, change), Err(error));
    }
    let deepest = adding(&[(MAX_LEVELS - 1, 9, &table(3, 5..=5))]);
    let full = apply(&tree, &deepest).unwrap();
    assert!(reshape(&full, LevelChange::Add(1)).is_err());
}

#[test]
fn an_edit_that_does_not_fit_is_refused() {
    let there = table(1, 0..=4);
    let tree = shape(&[(1, 1, &there)]);
    let overlapping = table(2, 4..=4);
    let (id, run) = (overlapping.id, Destination { level: 1, run: RunId(1) });
    let inverted =
        Arc::new(TableInfo { smallest: vec![9], largest: vec![1], ..(*overlapping).clone() });
    for (edit, error) in [
        (dropping(&[50]), EditError::Missing(TableId(50))),
        (dropping(&[1, 1]), EditError::Missing(TableId(1))),
        (adding(&[(2, 1, &there)]), EditError::Present(TableId(1))),
        (adding(&[(0, 1, &inverted)]), EditError::Inverted(id)),
        (
            adding(&[(usize::MAX, 1, &overlapping)]),
            EditError::TooDeep { table: id, level: usize::MAX },
        ),
        (
            adding(&[(1, 1, &overlapping)]),
            EditError::Overlap { run, first: TableId(1), second: id },
        ),
    ] {
        assert_eq!(apply(&tree, &edit), Err(error));
    }
}

/// Applies an edit like [`apply`], but slowly: by looking at every table of the tree.
fn applied_slowly(shape: &Shape, edit: &ShapeEdit) -> Option<Shape> {
    let mut tables: Vec<_> = shape.tables().map(|(l, r, t)| (l, r, Arc::clone(t))).collect();
    for id in &edit.dropped {
        let at = tables.iter().position(|(_, _, t)| t.id == *id)?;
        tables.remove(at);
    }
    for (level, run, table) in &edit.added {
        let taken = tables.iter().any(|(_, _, t)| t.id == table.id);
        let in_run = |(l, r, _): &&(usize, RunId, _)| (l, r) == (level, run);
        if taken || tables.iter().filter(in_run).any(|(_, _, t)| t.overlaps(table)) {
            return None;
        }
        tables.push((*level, *run, Arc::clone(table)));
    }
    tables.sort_by_key(|(l, r, t)| (*l, std::cmp::Reverse(*r), t.smallest.clone()));
    let mut levels: Vec<Level> = Vec::new();
    for tables in tables.chunk_by(|(l, r, _), (m, s, _)| (l, r) == (m, s)) {
        let (level, id) = (tables[0].0, tables[0].1);
        levels.resize_with(levels.len().max(level + 1), Level::default);
        let tables = tables.iter().map(|(_, _, table)| table.clone()).collect();
        levels[level].runs.push(Run::new(id, tables));
    }
    Some(Shape::from(levels))
}

/// Tables to add: level, run, first key, and how many keys follow.
fn tables(count: usize) -> impl Strategy<Value = Vec<(usize, u64, u8, u8)>> {
    prop::collection::vec((0..3usize, 1..4u64, 0..200u8, 0..3u8), count)
}

proptest! {
    #[test]
    fn an_edit_does_what_a_pass_over_all_tables_would(
        first in tables(150),
        edits in prop::collection::vec((tables(3), prop::collection::vec(0..1000usize, 0..4)), 8),
    ) {
        let mut tree = Shape::default();
        let mut ids = 1..;
        let mut table = |first: u8, more: u8| table(ids.next().unwrap(), first..=first + more);
        for (level, run, first, more) in first {
            tree = apply(&tree, &adding(&[(level, run, &table(first, more))])).unwrap_or(tree);
        }
        for (added, dropped) in edits {
            let all: Vec<_> = tree.tables().map(|(.., t)| t.id).collect();
            let added = added.into_iter().map(|(l, r, first, more)| (l, RunId(r), table(first, more)));
            let dropped = dropped.into_iter().map(|n| all[n % all.len()]);
            let edit = ShapeEdit { added: added.collect(), dropped: dropped.collect() };
            let found = apply(&tree, &edit).ok();
            prop_assert_eq!(&found, &applied_slowly(&tree, &edit));
            tree = found.unwrap_or(tree);
            for (level, run, table) in tree.tables() {
                let placed = tree.table(table.id).unwrap();
                prop_assert_eq!((placed.table, placed.place), (table, Destination { level, run }));
            }
            let totals = tree.totals();
            let all: Vec<_> = tree.tables().map(|(.., table)| table).collect();
            let sum = |of: fn(&TableInfo) -> u64| all.iter().map(|t| of(t)).sum::<u64>();
            prop_assert_eq!(totals.tables, all.len());
            prop_assert_eq!(totals.bytes(), sum(|t| t.bytes));
            prop_assert_eq!(totals.entries(), sum(|t| t.entries));
            prop_assert_eq!(totals.tombstones(), sum(|t| t.tombstones));
        }
    }
}
