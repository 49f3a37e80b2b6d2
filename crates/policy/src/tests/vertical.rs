//! What vertical policies count while groups run, and what goes into the bottom. T is 3 and B is 12.

use super::policies::LEVELED;
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
fn what_running_groups_take_down_has_left_its_level_and_what_they_rewrite_there_has_not() {
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
fn a_table_rich_in_tombstones_is_rewritten_where_nothing_is_below_its_next_level() {
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
