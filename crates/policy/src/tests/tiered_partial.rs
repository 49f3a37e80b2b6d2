//! Tiered-partial: which run of the next level a set of tables goes into.

use super::examples::{after, tree};
use super::*;

/// The capacities of levels 0 to 2 are 8, 16 and 32.
const POLICY: TieredPartial = TieredPartial {
    size_ratio: 2,
    level_base_bytes: 4,
    target_file_bytes: u64::MAX,
    filters: Filters::Uniform,
};

#[test]
fn each_level_may_have_t_times_the_bytes_above_in_t_runs() {
    let told = POLICY.status(&tree(&[&[], &[4], &[4]]).shape, &[]).capacities;
    assert_eq!(told, [8, 16, 32].map(|bytes| Capacity { bytes: Some(bytes), runs: Some(2) }));
}

/// A set of tables goes down while a running group writes a new run into the next level, from two tables at
/// these keys.
#[test]
fn a_set_joins_the_run_a_group_writes_unless_they_overlap() {
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

/// Returns the level that the next plan takes from, if level 0 has runs until writes are about to stall and
/// level 1 has `runs` of a table each.
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

#[test]
fn level_0_goes_down_as_a_whole_into_a_new_run() {
    let mut model = Model::default();
    model.write(1, 1, 300..302);
    let level0: Vec<_> = [(2, 0), (2, 100), (3, 0), (3, 200)]
        .map(|(run, key)| model.write(0, run, [key]))
        .into_iter()
        .collect();
    let next = propose(&POLICY, &model.shape, &[], &Running::default(), RunId(9));
    let Some(Plan::Compact(next)) = next else { panic!("level 0 has T runs of B bytes") };
    let inputs: BTreeSet<_> = next.groups.iter().flat_map(|group| &group.inputs).collect();
    assert_eq!(inputs, level0.iter().collect());
    let new = Destination { level: 1, run: RunId(9) };
    assert!(next.groups.iter().all(|group| group.destination == new));
}

#[test]
fn a_level_sends_tables_down_and_the_deepest_deepens_when_full() {
    let empty = Vec::new;
    // Below the limits: T runs, or a byte less than the capacity.
    for rests in [&[&[][..], &[15]][..], &[&[], &[7, 8]], &[&[], &[2, 2], &[20]]] {
        let sizes: Vec<Vec<_>> =
            rests.iter().map(|runs| runs.iter().map(|size| u64::from(*size)).collect()).collect();
        assert_eq!(after(&POLICY, &tree(rests)), sizes);
    }
    // More than T runs, which become one of the next level, or of the deepest itself.
    assert_eq!(after(&POLICY, &tree(&[&[], &[2, 2, 2], &[20]])), [empty(), empty(), vec![2, 20]]);
    assert_eq!(after(&POLICY, &tree(&[&[], &[2, 2, 2]])), [empty(), vec![2]]);
    // At the capacity, in more than T runs or fewer.
    assert_eq!(after(&POLICY, &tree(&[&[], &[5, 5, 6]])), [empty(), empty(), vec![6]]);
    assert_eq!(after(&POLICY, &tree(&[&[], &[8, 8]])), [empty(), empty(), vec![8]]);
    assert_eq!(after(&POLICY, &tree(&[&[], &[16], &[20]])), [empty(), empty(), vec![16, 20]]);
    // A single run becomes the next level without a plan of groups.
    let whole = tree(&[&[], &[16]]);
    let next = propose(&POLICY, &whole.shape, &[], &Running::default(), RunId(9));
    let Some(Plan::Reshape(next)) = next else { panic!("{next:?}") };
    assert_eq!(next.change, LevelChange::Add(1));
    let bytes = &next.reason.terms[0];
    assert_eq!((bytes.left.value, bytes.right.value), (16, 16));
}

#[test]
fn the_deepest_level_deepens_once_nothing_goes_into_it() {
    let mut model = tree(&[&[], &[16]]);
    let arriving = model.write(0, 9, 50..52);
    let running = Running { compactions: vec![plan(vec![move_to(&[arriving], 1, 9)])] };
    assert_eq!(propose(&POLICY, &model.shape, &[], &running, RunId(20)), None);
}

#[test]
fn a_partial_tiering_plan_says_how_far_a_level_is_over_limits() {
    for sizes in [&[&[][..], &[5, 5, 6]][..], &[&[], &[2, 2, 2]]] {
        let model = tree(sizes);
        let next = propose(&POLICY, &model.shape, &[], &Running::default(), RunId(9));
        let Some(Plan::Compact(next)) = next else { panic!("{next:?}") };
        let told = next.reason.terms.iter().map(|term| (term.left, term.right));
        let level = &model.shape.levels()[1];
        let full = (Quantity::level("bytes", 1, level.bytes()), Quantity::level("capacity", 1, 16));
        let crowded = [(
            Quantity::level("runs", 1, level.runs.len() as u64),
            Quantity::new("size-ratio", POLICY.size_ratio),
        )];
        let full = (level.bytes() >= 16).then_some(full);
        let expected: Vec<_> = full.into_iter().chain(crowded).collect();
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_set_joins_the_newest_run_below_unless_they_overlap() {
    for (newest, joins) in [(300, true), (110, false)] {
        let mut model = Model::default();
        model.write(3, 1, 500..510);
        model.write(2, 2, 95..105);
        model.write(2, 3, newest..newest + 5);
        let set = model.write(1, 4, 100..120);
        let next = propose(&POLICY, &model.shape, &[], &Running::default(), RunId(60));
        let Some(Plan::Compact(next)) = next else { panic!("level 1 is full") };
        assert_eq!(next.groups[0].inputs, [set]);
        let run = RunId(if joins { 3 } else { 60 });
        assert_eq!(next.groups[0].destination, Destination { level: 2, run }, "{newest}");
    }
}

/// A level 1 with 64 tables, the keys four apart, over a level 2 with a table from each of these keys to the
/// other, in a run; which of the tables goes down, and whether into that run.
fn sent_down(first_id: u64, below: &[[u16; 2]]) -> (usize, bool) {
    let mut model = Model { last_table: first_id, ..Model::default() };
    model.write(3, 1, 1000..1010);
    let tables: Vec<_> = (0..64).map(|n| model.write(1, 4, [4 * n])).collect();
    for range in below {
        model.write(2, 2, *range);
    }
    let Some(Plan::Compact(next)) =
        propose(&POLICY, &model.shape, &[], &Running::default(), RunId(60))
    else {
        panic!("level 1 is full")
    };
    let [group] = next.groups.as_slice() else { panic!("{next:?}") };
    let sent = tables.iter().position(|id| group.inputs == [*id]).unwrap();
    (sent, group.destination == Destination { level: 2, run: RunId(2) })
}

#[test]
fn the_sets_that_are_tried_are_spread_over_the_run() {
    // A quarter of the run fits: a few neighbours would not be in every quarter.
    for quarter in 0..4u16 {
        let (from, to) = (64 * quarter, 64 * (quarter + 1));
        let below = [[0, from], [to, 256]].into_iter().filter(|[from, to]| from < to);
        let below: Vec<_> = below.map(|[from, to]| [from, to - 4]).collect();
        let (sent, joins) = sent_down(0, &below);
        assert!(joins && sent / 16 == usize::from(quarter), "{sent} of quarter {quarter}");
    }
}

#[test]
fn the_table_that_goes_down_is_drawn_by_the_tables_of_the_run() {
    let drawn: BTreeSet<_> = (0..32).map(|first_id| sent_down(first_id, &[]).0).collect();
    // 25 of 64 are expected.
    assert!(drawn.len() > 16, "{drawn:?}");
}
