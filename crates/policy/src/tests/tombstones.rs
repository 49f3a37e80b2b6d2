//! Tombstones that a merge may drop.

use super::*;

fn droppable(
    model: &Model,
    running: &Running,
    group: &Group,
    keys: std::ops::Range<u16>,
) -> Vec<u16> {
    let mut rule = TombstoneRule::new(&model.shape, running, group);
    keys.filter(|k| rule.may_drop(&k.to_be_bytes())).collect()
}

#[test]
fn a_tombstone_stays_if_a_table_left_below_spans_its_key() {
    let mut model = Model::default();
    model.write(2, 1, 2..4);
    model.write(2, 1, 6..8);
    let below = model.write(1, 2, 0..9);
    let above = model.write(0, 3, 0..9);
    let group = merge(&[above, below], 1, 2);
    assert_eq!(droppable(&model, &Running::default(), &group, 0..9), [0, 1, 4, 5, 8]);
}

#[test]
fn tables_above_and_inputs_keep_no_tombstone() {
    let mut model = Model::default();
    let below = model.write(1, 2, 0..9);
    let older = model.write(0, 3, 0..9);
    model.write(0, 4, 0..9);
    let group = merge(&[older, below], 1, 2);
    assert_eq!(droppable(&model, &Running::default(), &group, 0..9).len(), 9);
}

#[test]
fn a_running_groups_promised_output_below_keeps_tombstones() {
    let mut model = Model::default();
    let left = model.write(1, 1, 0..1);
    let right = model.write(1, 1, 8..9);
    let above = model.write(0, 3, 2..6);
    let running = Running { compactions: vec![plan(vec![merge(&[left, right], 2, 5)])] };
    let group = merge(&[above], 1, 6);
    assert_eq!(droppable(&model, &running, &group, 2..6), [] as [u16; 0]);
}

#[test]
fn planned_writes_below_of_two_groups_keep_tombstones() {
    let ranges: Vec<_> = (0..6).flat_map(|from| (from..6).map(move |to| (from, to))).collect();
    for a in &ranges {
        for b in &ranges {
            let mut model = Model::default();
            let inputs = [(a, 1), (b, 2)].map(|((from, to), run)| model.write(0, run, *from..=*to));
            let above = model.write(0, 3, 0..6);
            let groups = [merge(&inputs[..1], 2, 4), merge(&inputs[1..], 2, 5)].to_vec();
            let running = Running { compactions: vec![plan(groups)] };
            let group = merge(&[above], 1, 6);
            let spans = |k: u16, (from, to): &(u16, u16)| (*from..=*to).contains(&k);
            let free: Vec<_> = (0..6).filter(|k| !spans(*k, a) && !spans(*k, b)).collect();
            assert_eq!(droppable(&model, &running, &group, 0..6), free, "{a:?} {b:?}");
        }
    }
}

#[test]
fn the_order_of_questions_does_not_change_the_answers() {
    let mut model = Model::default();
    for key in [1, 4, 7, 11] {
        model.write(1, 1, key..key + 2);
    }
    let above = model.write(0, 3, 0..20);
    let group = merge(&[above], 0, 3);
    let forward = droppable(&model, &Running::default(), &group, 0..20);
    let mut rule = TombstoneRule::new(&model.shape, &Running::default(), &group);
    let mut backward: Vec<_> =
        (0..20u16).rev().filter(|k| rule.may_drop(&k.to_be_bytes())).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(forward.len(), 12);
}
