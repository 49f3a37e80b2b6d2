//! Edits of a shape.

use super::*;

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
    assert_eq!(moved.shape.levels.len(), 3);
    assert!(moved.shape.levels[1].runs.is_empty());
    let drop = ShapeEdit { added: vec![], dropped: vec![deep] };
    let shape = apply(&moved.shape, &drop).unwrap();
    assert_eq!(shape.levels.len(), 1);
    let drop = ShapeEdit { added: vec![], dropped: vec![top] };
    assert_eq!(apply(&shape, &drop), Ok(Shape::default()));
}

#[test]
fn an_edit_that_does_not_fit_is_refused() {
    let mut model = Model::default();
    let there = model.write(1, 1, 0..5);
    let run = Destination { level: 1, run: RunId(1) };
    let overlapping = model.table(BTreeMap::from([(4, BTreeSet::from([9]))]));
    let same = Arc::clone(&model.shape.levels[1].runs[0].tables[0]);
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
