//! Tiering: what moves, what is rewritten, and when level 0 goes down. T is 3 and B is 12, so the capacities
//! of levels 0 to 2 are 36, 108 and 324.

use super::examples::{after, tree};
use super::policies::configured::TIERED;
use super::*;

/// Returns the next compaction of a tree with `tombstones` tombstones in each table.
fn next(sizes: &[&[u16]], tombstones: u64) -> Compaction {
    let shape = with_tombstones(&tree(sizes).shape, tombstones);
    let plan = propose(&TIERED, &shape, &[], &Running::default(), RunId(99));
    let Some(Plan::Compact(plan)) = plan else { panic!("{plan:?}") };
    plan
}

#[test]
fn an_only_level_0_goes_down_once_its_runs_hold_a_buffer() {
    assert_eq!(after(&TIERED, &tree(&[&[4, 4, 4]])), [vec![], vec![4]]);
    assert_eq!(after(&TIERED, &tree(&[&[4, 4, 3]])), [[4, 4, 3]]);
    assert_eq!(after(&TIERED, &tree(&[&[4, 4, 3], &[9]])), [vec![4, 4, 3], vec![9]]);
}

#[test]
fn a_lone_run_moves_unless_it_drops_tombstones_at_the_bottom() {
    // At most one in four entries of a table that moves to the bottom is a tombstone.
    for (sizes, entries, is_bottom) in [
        (&[&[36][..]][..], 36, true),
        (&[&[36], &[9]], 36, false),
        (&[&[], &[10, 108]], 108, true),
        (&[&[], &[108], &[9]], 108, false),
    ] {
        assert_eq!(next(sizes, entries / 4).groups[0].action, Action::Move, "{sizes:?}");
        let rich = next(sizes, entries / 4 + 1);
        assert_eq!(rich.groups[0].action != Action::Move, is_bottom, "{sizes:?}");
    }
}

#[test]
fn a_plan_of_tiering_says_what_is_full_and_what_becomes_of_it() {
    let said = |sizes: &[&[u16]], tombstones| {
        let Reason { text, terms } = next(sizes, tombstones).reason;
        let terms = terms.iter().map(|term| (term.left.name, term.left.value, term.right.value));
        (text, terms.collect::<Vec<_>>())
    };
    for (sizes, tombstones, text, terms) in [
        (
            &[&[12, 12, 12][..]][..],
            0,
            "level 0 has 3 of 3 runs: all become one run of level 1",
            vec![("runs", 3, 3), ("waiting-runs", 3, 3), ("waiting-bytes", 36, 12)],
        ),
        (
            &[&[30, 10]],
            0,
            "level 0 has 40 B in 2 runs against a capacity of 36 B: all become one run of level 1",
            vec![("bytes", 40, 36)],
        ),
        (
            &[&[40]],
            0,
            "level 0 has 40 B in 1 run against a capacity of 36 B: its run moves to level 1",
            vec![("bytes", 40, 36)],
        ),
        (
            &[&[40]],
            40,
            "level 0 has 40 B in 1 run against a capacity of 36 B: all become one run of level 1",
            vec![("bytes", 40, 36)],
        ),
        (
            &[&[], &[5, 5, 5]],
            0,
            "level 1 has 3 of 3 runs: all become one run in place",
            vec![("runs", 3, 3)],
        ),
        (
            &[&[], &[5, 110]],
            0,
            "the oldest run of level 1 has 110 B against a capacity of 108 B: it moves to level 2",
            vec![("oldest-run", 110, 108)],
        ),
        (
            &[&[], &[5, 110]],
            110,
            "the oldest run of level 1 has 110 B against a capacity of 108 B: it is rewritten into level 2",
            vec![("oldest-run", 110, 108)],
        ),
    ] {
        assert_eq!(said(sizes, tombstones), (text.to_owned(), terms));
    }
}

#[test]
fn the_deepest_tiered_level_waits_for_its_runs() {
    let mut model = Model::default();
    model.write(1, 1, 0..100);
    model.write(1, 2, 0..50);
    let at_rest = |model: &Model| {
        propose(&TIERED, &model.shape, &[], &Running::default(), RunId(9)).is_none()
    };
    assert!(at_rest(&model));
    model.write(1, 3, 0..10);
    assert!(!at_rest(&model));
}

/// Returns the sizes of runs, by level, after the plan for a tree of these levels.
fn tiered_after(model: &Model, running: &Running) -> Option<Vec<Vec<u64>>> {
    let plan = propose(&TIERED, &model.shape, &[], running, model.fresh(running))?;
    let levels = model.follow(&plan).shape.levels().to_vec();
    Some(levels.iter().map(|l| l.runs.iter().map(Run::bytes).collect()).collect())
}

#[test]
fn the_oldest_deepest_tiered_run_goes_down_alone_when_full() {
    let mut model = Model::default();
    model.write(1, 1, 0..108);
    model.write(1, 2, 0..50);
    model.write(1, 3, 0..10);
    let idle = Running::default();
    assert_eq!(tiered_after(&model, &idle), Some(vec![vec![], vec![10, 50], vec![108]]));
    let mut smaller = Model::default();
    smaller.write(1, 1, 0..107);
    smaller.write(1, 2, 0..50);
    smaller.write(1, 3, 0..10);
    assert_eq!(tiered_after(&smaller, &idle), Some(vec![vec![], vec![107]]));
}

#[test]
fn a_tiered_level_waits_while_the_next_has_all_its_runs() {
    let mut model = Model::default();
    for run in 1..=3 {
        model.write(2, run, 0..20);
    }
    let mut tables = Vec::new();
    for run in 4..=6 {
        tables.push(model.write(1, run, 0..12));
    }
    for run in 7..=9 {
        model.write(0, run, 0..12);
    }
    let merged = |levels: [&[u64]; 3]| Some(levels.map(<[u64]>::to_vec).to_vec());
    let idle = Running::default();
    let below = merged([&[12, 12, 12], &[12, 12, 12], &[20]]);
    assert_eq!(tiered_after(&model, &idle), below, "levels 0 and 1 wait for level 2");
    let inputs = model.shape.levels()[2].runs.iter().flat_map(Run::tables).map(|t| t.id);
    let merge =
        Group::new(inputs.collect(), Destination { level: 2, run: RunId(3) }, Action::merge(6));
    let busy = Running { compactions: vec![plan(vec![merge])] };
    let above = merged([&[12, 12, 12], &[], &[12, 20, 20, 20]]);
    assert_eq!(tiered_after(&model, &busy), above, "level 1 goes down beside that merge");
}
