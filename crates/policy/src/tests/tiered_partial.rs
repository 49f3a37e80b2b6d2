//! Tiered-partial: which run of the next level a set of tables goes into.

use super::*;

const POLICY: TieredPartial = TieredPartial {
    size_ratio: 2,
    level_base_bytes: 4,
    target_file_bytes: u64::MAX,
    filters: Filters::Uniform,
};

/// What a set of tables that goes down finds in the next level: a running group writes a new run there, from
/// two tables at these keys.
#[test]
fn a_set_joins_the_run_that_a_group_writes_unless_their_ranges_overlap() {
    for (left, right, joins) in [(0, 90, true), (200, 210, true), (0, 200, false)] {
        let mut model = Model::default();
        model.write(3, 1, 500..510);
        model.write(2, 2, 500..510);
        let mut ids = Vec::new();
        for (key, keys) in
            [(left, 2), (100, 20), (right, 2)].into_iter().collect::<BTreeMap<_, _>>()
        {
            ids.push((key, model.write(1, 3, key..key + keys)));
        }
        let set = ids.iter().find(|(key, _)| *key == 100).unwrap().1;
        let others: Vec<_> = ids.iter().map(|(_, id)| *id).filter(|id| *id != set).collect();
        let running = Running { compactions: vec![plan(vec![merge(&others, 2, 50)])] };
        let next = propose(&POLICY, &model.shape, &[], &running, RunId(60));
        let Some(Plan::Compact(next)) = next else { panic!("level 1 is full") };
        let [group] = next.groups.as_slice() else { panic!("{next:?}") };
        let run = RunId(if joins { 50 } else { 60 });
        assert_eq!(group.inputs, [set]);
        assert_eq!(group.destination, Destination { level: 2, run }, "{left} {right}");
    }
}

/// From which level the next plan takes, where level 0 has runs until writes are about to stall and level 1
/// so many of a table each.
fn next_from(runs: u64) -> usize {
    let mut model = Model::default();
    model.write(2, 1, 500..510);
    for run in 2..2 + runs {
        model.write(1, run, [run as u16 * 10]);
    }
    for run in 50..70 {
        model.write(0, run, 0..4);
    }
    let Some(Plan::Compact(next)) =
        propose(&POLICY, &model.shape, &[], &Running::default(), RunId(99))
    else {
        panic!("level 0 is full")
    };
    model.shape.table(next.groups[0].inputs[0]).unwrap().place.level
}

#[test]
fn level_0_waits_while_level_1_has_twice_too_many_runs() {
    assert_eq!(next_from(5), 0);
    assert_eq!(next_from(6), 1);
}
