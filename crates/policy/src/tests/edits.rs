//! Edits of a shape.

use super::*;
use crate::pick::Candidates;
use crate::shape::{Level, MAX_LEVELS};
use proptest::prelude::*;

#[test]
fn runs_stay_sorted_and_levels_newest_first() {
    let mut model = Model::default();
    let c = model.write(1, 5, 20..22);
    let a = model.write(1, 5, 0..2);
    let b = model.write(1, 5, 10..12);
    let new = model.write(1, 9, 0..30);
    let old = model.write(1, 2, 0..30);
    let order: Vec<_> = model.shape.tables().map(|(_, _, t)| t.id).collect();
    assert_eq!(order, [new, a, b, c, old]);
}

#[test]
fn empty_runs_and_trailing_empty_levels_vanish_but_a_gap_stays() {
    let mut model = Model::default();
    let deep = model.write(3, 1, 0..2);
    let top = model.write(0, 2, 0..2);
    let moved = model.commit(&move_to(&[deep], 2, 3), true).unwrap();
    assert_eq!(moved.shape.levels().len(), 3);
    assert!(moved.shape.levels()[1].runs.is_empty());
    let drop = ShapeEdit { added: vec![], dropped: vec![deep] };
    let shape = apply(&moved.shape, &drop).unwrap();
    assert_eq!(shape.levels().len(), 1);
    let drop = ShapeEdit { added: vec![], dropped: vec![top] };
    assert_eq!(apply(&shape, &drop), Ok(Shape::default()));
}

#[test]
fn a_level_comes_and_goes_and_no_run_changes_its_name_or_place_in_the_order() {
    let mut model = Model::default();
    let deep = model.write(2, 1, 0..2);
    let mid = model.write(1, 2, 0..2);
    let places =
        |model: &Model| model.shape.tables().map(|(l, r, t)| (l, r.0, t.id)).collect::<Vec<_>>();
    let added = model.reshape(LevelChange::Add(2));
    assert_eq!(places(&added), [(1, 2, mid), (3, 1, deep)]);
    assert_eq!(places(&added.reshape(LevelChange::Drop(2))), places(&model));
    for change in [
        LevelChange::Add(0),
        LevelChange::Add(3),
        LevelChange::Drop(0),
        LevelChange::Drop(1),
        LevelChange::Drop(usize::MAX),
    ] {
        let refused = EditError::NoSuchLevel { change, levels: 3 };
        assert_eq!(reshape(&model.shape, change), Err(refused));
    }
    model.write(MAX_LEVELS - 1, 9, 5..6);
    assert!(reshape(&model.shape, LevelChange::Add(1)).is_err());
}

#[test]
fn an_edit_that_does_not_fit_is_refused() {
    let mut model = Model::default();
    let there = model.write(1, 1, 0..5);
    let run = Destination { level: 1, run: RunId(1) };
    let overlapping = model.table(BTreeMap::from([(4, BTreeSet::from([9]))]));
    let same = Arc::clone(model.shape.levels()[1].runs[0].tables().first().unwrap());
    let inverted = TableInfo { smallest: vec![9], largest: vec![1], ..(*overlapping).clone() };
    let id = overlapping.id;
    let add = |level, table| ShapeEdit { added: vec![(level, RunId(1), table)], dropped: vec![] };
    let drop = |dropped| ShapeEdit { added: vec![], dropped };
    for (edit, error) in [
        (drop(vec![TableId(50)]), EditError::Missing(TableId(50))),
        (drop(vec![there, there]), EditError::Missing(there)),
        (add(2, same), EditError::Present(there)),
        (add(0, Arc::new(inverted)), EditError::Inverted(id)),
        (
            add(usize::MAX, Arc::clone(&overlapping)),
            EditError::TooDeep { table: id, level: usize::MAX },
        ),
        (add(1, overlapping), EditError::Overlap { run, first: there, second: id }),
    ] {
        assert_eq!(apply(&model.shape, &edit), Err(error));
    }
}

/// What [`apply`] answers, found the slow way: every table of the tree is looked at.
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

proptest! {
    #[test]
    fn an_edit_leaves_what_a_look_at_every_table_says_it_should(
        bytes in proptest::collection::vec(any::<u8>(), 120)
    ) {
        let mut dice = Dice(bytes.iter());
        let mut model = dice.tree(3, 2, 30, false);
        for _ in 0..4 {
            let all: Vec<_> = model.shape.tables().map(|(.., t)| t.id).collect();
            let dropped = all.iter().copied().filter(|_| dice.below(4) == 0).collect();
            let added = (0..dice.below(4)).map(|_| {
                let first = dice.below(30) as u16;
                let keys = first..first + 1 + dice.below(3) as u16;
                let table = model.table(keys.map(|k| (k, BTreeSet::from([9]))).collect());
                (dice.below(3), RunId(1 + dice.below(3) as u64), table)
            });
            let edit = ShapeEdit { added: added.collect(), dropped };
            let found = apply(&model.shape, &edit).ok();
            prop_assert_eq!(&found, &applied_slowly(&model.shape, &edit));
            model.shape = found.unwrap_or(model.shape);
            for (level, run, table) in model.shape.tables() {
                let placed = model.shape.table(table.id).unwrap();
                prop_assert_eq!((placed.table, placed.place), (table, Destination { level, run }));
            }
            let totals = model.shape.totals();
            let all: Vec<_> = model.shape.tables().map(|(.., table)| table).collect();
            let sum = |of: fn(&TableInfo) -> u64| all.iter().map(|t| of(t)).sum::<u64>();
            prop_assert_eq!(totals.tables, all.len());
            prop_assert_eq!(totals.bytes(), sum(|t| t.bytes));
            prop_assert_eq!(totals.entries(), sum(|t| t.entries));
            prop_assert_eq!(totals.tombstones(), sum(|t| t.tombstones));
        }
    }

    #[test]
    fn a_sweep_finds_the_overlaps_that_a_search_for_each_table_finds(
        bytes in proptest::collection::vec(any::<u8>(), 120)
    ) {
        let mut dice = Dice(bytes.iter());
        let shape = dice.tree(2, 1, 60, false).shape;
        let runs: Vec<&Run> = shape.levels().iter().flat_map(|level| &level.runs).collect();
        let held = dice.below(8) as u64;
        let is_held = |table: &TableInfo| table.id.0 % 8 == held;
        for (above, below) in runs.iter().flat_map(|a| runs.iter().map(move |b| (a, b))) {
            let mut searched = Vec::new();
            for table in above.tables().iter().filter(|t| !is_held(t)) {
                let overlaps = below.overlapping(&table.smallest, &table.largest);
                if !overlaps.clone().any(|t| is_held(t)) {
                    searched.push((table.id, overlaps.map(|t| t.bytes).sum::<u64>()));
                }
            }
            let swept = Candidates::new(above, Some(*below), &is_held);
            let swept: Vec<_> = swept.map(|c| (c.table.id, c.bytes)).collect();
            prop_assert_eq!(swept, searched);
        }
    }
}
