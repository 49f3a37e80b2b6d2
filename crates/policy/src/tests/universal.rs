//! The universal policy's rule, step by step, on small stacks.

use super::*;

const UNIVERSAL: Universal = Universal {
    run_trigger: 4,
    size_ratio_percent: 1,
    min_merge_width: 2,
    max_merge_width: 64,
    space_percent: 200,
    target_file_bytes: u64::MAX,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};

/// A stack of one table a run, newest first: the first `flushed` in level 0, the others in level 1.
/// Every table starts at key 0, so all overlap.
fn stack(sizes: &[u16], flushed: usize) -> (Model, Vec<TableId>) {
    let mut model = Model::default();
    let mut ids = Vec::new();
    for (at, size) in sizes.iter().enumerate().rev() {
        ids.push(model.write(usize::from(at >= flushed), 100 - at as u64, 0..*size));
    }
    ids.reverse();
    (model, ids)
}

fn next(model: &Model, running: &Running) -> Option<Compaction> {
    let fresh = model.fresh(running);
    let Plan::Compact(plan) = propose(&UNIVERSAL, &model.shape, &[], running, fresh)? else {
        panic!("no level is to change")
    };
    assert_eq!(validate(&model.shape, running, &plan), Ok(()));
    Some(plan)
}

/// Returns the merged tables, and their destination.
fn merged(model: &Model) -> Option<(Vec<TableId>, Destination)> {
    let plan = next(model, &Running::default())?;
    let [group] = plan.groups.as_slice() else { panic!("{plan:?}") };
    let mut inputs = group.inputs.clone();
    inputs.sort_by(|a, b| b.cmp(a));
    Some((inputs, group.destination))
}

#[test]
fn nothing_is_done_below_the_trigger() {
    assert_eq!(merged(&stack(&[9, 9, 1], 3).0), None);
}

#[test]
fn runs_twice_as_heavy_as_the_oldest_are_all_merged() {
    let (model, ids) = stack(&[5, 50, 65, 60], 1);
    assert_eq!(merged(&model), Some((ids, Destination { level: 1, run: RunId(97) })));
}

#[test]
fn universal_merges_neighbours_while_the_next_is_no_larger() {
    // 1 and 1 and 2 go together; 5 is more than their 4 and a hundredth.
    let (model, ids) = stack(&[1, 1, 2, 5, 200], 2);
    assert_eq!(merged(&model), Some((ids[..3].to_vec(), Destination { level: 1, run: RunId(98) })));
}

#[test]
fn the_ratio_lets_a_run_of_a_hundredth_more_in() {
    let (model, ids) = stack(&[10, 100, 101, 500], 1);
    assert_eq!(
        merged(&model),
        Some((ids[1..3].to_vec(), Destination { level: 1, run: RunId(98) }))
    );
    assert_eq!(merged(&stack(&[10, 100, 102, 500], 1).0), None);
}

#[test]
fn beyond_the_trigger_the_newest_are_merged_down_to_it() {
    let (model, ids) = stack(&[1, 2, 4, 8, 16, 100], 3);
    assert_eq!(
        merged(&model),
        Some((ids[..3].to_vec(), Destination { level: 1, run: RunId(101) }))
    );
}

#[test]
fn flushes_are_merged_in_level_0_while_older_ones_stay_there() {
    let (model, ids) = stack(&[1, 1, 5, 100], 3);
    assert_eq!(merged(&model), Some((ids[..2].to_vec(), Destination { level: 0, run: RunId(99) })));
}

#[test]
fn runs_that_a_plan_does_not_touch_are_planned_beside_it() {
    let (model, ids) = stack(&[2, 2, 4, 50, 50, 200], 3);
    let mut running = Running::default();
    running.compactions.extend(next(&model, &running));
    assert_eq!(running.held(), ids[..3].iter().copied().collect());
    let beside = next(&model, &running).unwrap();
    assert_eq!(beside.groups[0].inputs.iter().collect::<BTreeSet<_>>(), ids[3..5].iter().collect());
}

#[test]
fn tables_that_overlap_nothing_move_within_a_merge() {
    let mut model = Model::default();
    let old = model.write(1, 1, [0, 5]);
    let stays = model.write(1, 1, [50, 55]);
    let new = model.write(0, 2, [3, 7]);
    let between = model.write(0, 2, [20, 25]);
    for run in 3..=4 {
        model.write(0, run, [90, 95]);
    }
    let policy = Universal { target_file_bytes: 2, ..UNIVERSAL };
    let plan = propose(&policy, &model.shape, &[], &Running::default(), RunId(9));
    let Some(Plan::Compact(plan)) = plan else { panic!("four runs rest") };
    let inputs: Vec<_> = plan.groups.iter().map(|g| (g.inputs.clone(), &g.action)).collect();
    assert!(inputs.iter().any(|(i, a)| **a != Action::Move && i.len() == 2 && i.contains(&old)));
    assert!(inputs.iter().all(|(i, _)| !i.contains(&stays)), "{inputs:?}");
    assert!(inputs.contains(&(vec![between], &Action::Move)), "{inputs:?}");
    assert!(plan.groups.iter().flat_map(|g| &g.inputs).any(|id| *id == new));
    // Where nothing is below, a table that is half tombstones loses them instead.
    let rich = with_tombstones(&model.shape, 1);
    let plan = propose(&policy, &rich, &[], &Running::default(), RunId(9));
    let Some(Plan::Compact(plan)) = plan else { panic!("four runs rest") };
    assert!(plan.groups.iter().all(|group| group.action != Action::Move), "{plan:?}");
}

#[test]
fn the_trigger_and_the_bytes_above_the_oldest_run_are_options() {
    let (model, _) = stack(&[5, 50], 1);
    let fact = |name, value, unit| Fact::Number { name, of: Of::Tree, value, unit };
    let expected = [
        fact("run-trigger", 4, Unit::Runs),
        // Two hundred percent of 50.
        fact("space-percent-of-oldest", 100, Unit::Bytes),
    ];
    assert_eq!(UNIVERSAL.status(&model.shape, &[]).facts, expected);
}

#[test]
fn a_run_that_a_group_moves_into_is_left_alone_meanwhile() {
    let mut model = Model::default();
    model.write(1, 1, 400..501);
    let into = model.write(1, 2, 0..100);
    for (run, from, to) in [(3, 100, 134), (4, 200, 233), (5, 300, 333)] {
        model.write(0, run, from..to);
    }
    let policy = Universal { max_merge_width: 4, ..UNIVERSAL };
    let next = |running: &Running| propose(&policy, &model.shape, &[], running, RunId(9));
    let Some(Plan::Compact(moving)) = next(&Running::default()) else { panic!("four runs go") };
    assert!(moving.groups.iter().all(|g| g.destination.run == RunId(2)));
    assert!(moving.groups.iter().all(|g| !g.inputs.contains(&into)));
    assert_eq!(next(&Running { compactions: vec![moving] }), None);
}

#[test]
fn a_merge_by_size_reports_each_run_beside_all_newer_ones() {
    let (model, _) = stack(&[10, 100, 101, 150, 999], 1);
    let plan = next(&model, &Running::default()).unwrap();
    let terms: Vec<_> =
        plan.reason.terms.iter().map(|t| (t.left.of, t.left.value, t.right.value)).collect();
    // 101 is a hundredth more than 100, and 150 at most all newer ones; after that there are five runs.
    let expected = [(Of::Tree, 5, 4), (Of::Item(2), 101, 101), (Of::Item(3), 150, 203)];
    assert_eq!(terms, expected);
}

#[test]
fn a_single_run_beside_a_busy_one_is_not_merged_for_the_count() {
    let (model, ids) = stack(&[1, 2, 4, 8, 16, 32, 100], 1);
    let running = Running { compactions: vec![plan(vec![merge(&ids[1..2], 1, 99)])] };
    let next = next(&model, &running).unwrap();
    // Six runs are free, two more than may be: the newest three of those that are neighbours.
    assert_eq!(next.groups[0].inputs.iter().collect::<BTreeSet<_>>(), ids[2..5].iter().collect());
}
