//! Counts of vertical policies while groups run, and contents of the bottom. T is 3 and B is 12.

use super::policies::configured::LEVELED;
use super::*;

/// The next plan of leveling with fixed capacities: 36 bytes in level 1, 108 in level 2.
fn next(shape: &Shape, running: &Running) -> Option<Compaction> {
    let fixed = Leveled { dynamic_level_bytes: false, ..LEVELED };
    match propose(&fixed, shape, &[], running, RunId(99))? {
        Plan::Compact(plan) => Some(plan),
        Plan::Reshape(plan) => panic!("{plan:?}"),
    }
}

#[test]
fn data_taken_down_has_left_its_level_and_rewritten_data_not() {
    let mut model = Model::default();
    model.write(2, 1, 200..206);
    let tables: Vec<_> = (0..42).step_by(6).map(|key| model.write(1, 2, key..key + 6)).collect();
    let beside = |level, run| {
        let running = Running { compactions: vec![plan(vec![merge(&tables[..1], level, run)])] };
        next(&model.shape, &running)
    };
    // 42 bytes, of which a table of 6 goes down: the rest fits.
    assert_eq!(beside(2, 1), None);
    let plan = beside(1, 2).expect("all 42 are still there");
    assert_eq!(plan.groups[0].destination.level, 2);
    let Term { left, right, .. } = plan.reason.terms[0];
    assert_eq!(left, Quantity::level("bytes", 1, 42));
    assert_eq!(right, Quantity::level("capacity", 1, 36));
}

#[test]
fn a_tombstone_rich_table_is_rewritten_above_the_bottom() {
    for (deepest, is_rewritten) in [(1, true), (2, true), (3, false)] {
        let mut model = Model::default();
        model.write(deepest, 1, 300..310);
        for key in (0..42).step_by(6) {
            model.write(1, 1, key..key + 6);
        }
        let rich = next(&with_tombstones(&model.shape, 6), &Running::default()).unwrap();
        assert_eq!(rich.groups[0].destination.level, 2);
        assert_eq!(rich.groups[0].action != Action::Move, is_rewritten, "{deepest}");
        let poor = next(&model.shape, &Running::default()).unwrap();
        assert_eq!(poor.groups[0].action, Action::Move);
    }
}

/// B is 4, and the capacity of level 1 less than 40.
fn leveled_full() -> LeveledFull {
    LeveledFull {
        size_ratio: 2,
        level_base_bytes: 4,
        l0_compaction_trigger: 2,
        dynamic_level_bytes: false,
        ..LeveledFull::default()
    }
}

#[test]
fn level_0_merges_within_once_at_a_time_while_it_waits() {
    let fixed = Leveled { dynamic_level_bytes: false, ..LEVELED };
    // Writes stall at 8 runs.
    for (count, within, merges) in [(6, false, true), (5, false, false), (8, true, false)] {
        let mut model = Model::default();
        let goes = model.write(1, 1, 0..4);
        let level0: Vec<_> = (2..2 + count).map(|run| model.write(0, run, 2..6)).collect();
        let beside = if within { merge(&level0[..2], 0, 3) } else { merge(&[goes], 2, 90) };
        let running = Running { compactions: vec![plan(vec![beside])] };
        for policy in [&leveled_full() as &dyn Policy, &fixed] {
            let level =
                propose(policy, &model.shape, &[], &running, RunId(99)).map(|next| match next {
                    Plan::Compact(next) => next.groups[0].destination.level,
                    Plan::Reshape(next) => panic!("{next:?}"),
                });
            assert_eq!(level, merges.then_some(0), "{} of {count}", policy.name());
        }
    }
}

#[test]
fn the_reason_of_a_merge_is_that_of_the_deepest_level_with_one() {
    let mut model = Model::default();
    model.write(4, 1, 0..4);
    model.write(3, 2, 0..4);
    model.write(3, 3, 0..4);
    let told = |model: &Model| {
        let next = propose(&leveled_full(), &model.shape, &[], &Running::default(), RunId(99));
        let Some(Plan::Compact(next)) = next else { panic!("{next:?}") };
        next.reason.terms[0].left
    };
    assert_eq!(told(&model), Quantity::level("runs", 3, 2));
    model.write(1, 4, 0..40);
    assert_eq!(told(&model), Quantity::level("runs", 3, 2), "level 1 is over its capacity, too");
}
