//! Tables rewritten in place once snapshots are released.

use super::*;

/// A tree of three tables of 80 entries, the newest in run 3 of level 0.
fn tree() -> Model {
    let mut model = Model::default();
    for (level, run) in [(2, 1), (1, 2), (0, 3)] {
        model.write(level, run, 0..80);
    }
    model
}

/// Sets what only snapshots kept in a table.
fn keep(model: &mut Model, id: u64, entries: u64, bytes: u64, until: u64) {
    let shape = model.shape.clone();
    let placed = shape.table(TableId(id)).unwrap();
    let kept = Some(Kept { entries, bytes, until });
    let table = Arc::new(TableInfo { kept, ..TableInfo::clone(placed.table) });
    let Destination { level, run } = placed.place;
    let edit = ShapeEdit { added: vec![(level, run, table)], dropped: vec![TableId(id)] };
    model.shape = apply(&shape, &edit).unwrap();
}

/// The table that is rewritten.
fn rewritten(model: &Model, running: &Running, oldest: u64) -> Option<u64> {
    match crate::reclaim(&model.shape, running, oldest, &Hidden::default())? {
        Plan::Compact(plan) => {
            validate(&model.shape, running, &plan).unwrap();
            let [Group { inputs, destination, .. }] = &plan.groups[..] else { panic!("{plan:?}") };
            let place = model.shape.table(inputs[0]).unwrap().place;
            assert_eq!((inputs.len(), place), (1, *destination));
            Some(inputs[0].0)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_table_is_rewritten_once_every_snapshot_is_past_it() {
    let mut model = tree();
    keep(&mut model, 2, 40, 40, 7);
    let at = |oldest| rewritten(&model, &Running::default(), oldest);
    assert_eq!([0, 6, 7, 100].map(at), [None, None, Some(2), Some(2)]);
    let waits = |oldest| crate::reclaimable_at(&model.shape, oldest);
    assert_eq!([0, 6, 7].map(waits), [Some(7), Some(7), None]);
}

#[test]
fn an_eighth_of_the_entries_or_of_the_bytes_is_worth_it() {
    for (entries, bytes, is_worth_it) in
        [(0, 0, false), (9, 9, false), (10, 0, true), (1, 10, true), (80, 80, true)]
    {
        let mut model = tree();
        keep(&mut model, 1, entries, bytes, 7);
        let found = rewritten(&model, &Running::default(), 7);
        assert_eq!(found, is_worth_it.then_some(1), "{entries} entries, {bytes} bytes");
        let waits = crate::reclaimable_at(&model.shape, 6);
        assert_eq!(waits, is_worth_it.then_some(7), "{entries} entries, {bytes} bytes");
    }
}

#[test]
fn the_table_that_frees_most_is_rewritten_first() {
    let mut model = tree();
    keep(&mut model, 1, 40, 20, 5);
    keep(&mut model, 2, 40, 60, 9);
    keep(&mut model, 3, 40, 40, 7);
    let at = |oldest| rewritten(&model, &Running::default(), oldest);
    assert_eq!([5, 7, 9].map(at), [Some(1), Some(3), Some(2)]);
    assert_eq!(crate::reclaimable_at(&model.shape, 5), Some(7));
}

#[test]
fn nothing_is_rewritten_while_a_compaction_runs() {
    let mut model = tree();
    keep(&mut model, 1, 40, 40, 7);
    let running = Running { compactions: vec![plan(vec![merge(&[TableId(3)], 1, 9)])] };
    assert_eq!(rewritten(&model, &running, 7), None);
}

#[cfg(feature = "all")]
#[test]
fn a_rewritten_table_keeps_its_filters_and_prefixes() {
    let mut model = tree();
    let set = PrefixSet::new(PrefixRule::Length(1), vec![vec![0]]).unwrap();
    let table = TableInfo {
        filter_bits: FilterBits::whole(3),
        prefixes: Some(set).into(),
        kept: Some(Kept { entries: 40, bytes: 40, until: 1 }),
        ..TableInfo::clone(model.shape.table(TableId(1)).unwrap().table)
    };
    let added = vec![(2, RunId(1), Arc::new(table))];
    let edit = ShapeEdit { added, dropped: vec![TableId(1)] };
    model.shape = apply(&model.shape, &edit).unwrap();
    let Some(Plan::Compact(plan)) =
        crate::reclaim(&model.shape, &Running::default(), 1, &Hidden::default())
    else {
        panic!("the table is rewritten");
    };
    let Action::Merge { cuts, target_file_bytes, filter_bits, split } = &plan.groups[0].action
    else {
        panic!("{plan:?}")
    };
    assert_eq!((cuts.len(), *target_file_bytes), (0, u64::MAX));
    assert_eq!(*filter_bits, Some(FilterBits::whole(3)));
    assert_eq!(split.map(|split| split.rule), Some(PrefixRule::Length(1)));
}

#[test]
fn a_table_whose_kept_entries_are_unknown_is_left_alone() {
    let mut model = tree();
    let table = TableInfo::clone(model.shape.table(TableId(1)).unwrap().table);
    let added = vec![(2, RunId(1), Arc::new(TableInfo { kept: None, ..table }))];
    let edit = ShapeEdit { added, dropped: vec![TableId(1)] };
    model.shape = apply(&model.shape, &edit).unwrap();
    assert_eq!(rewritten(&model, &Running::default(), u64::MAX), None);
}
