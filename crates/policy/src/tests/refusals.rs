//! Each refusal: the ways in which a plan could lose or resurrect data.

use super::*;

fn refusal(model: &Model, groups: Vec<Group>) -> Refusal {
    beside(model, vec![], groups).unwrap_err()
}

fn accepted(model: &Model, groups: Vec<Group>) {
    beside(model, vec![], groups).unwrap();
}

fn beside(model: &Model, running: Vec<Group>, groups: Vec<Group>) -> Result<(), Refusal> {
    let running = Running { compactions: vec![plan(running)] };
    validate(&model.shape, &running, &plan(groups))
}

/// Table 1, old, in level 2; table 2, newer, in level 1; table 3, newest, in level 0: all overlap.
fn three_levels() -> (Model, TableId, TableId, TableId) {
    let mut model = Model::default();
    let old = model.write(2, 1, 0..10);
    let mid = model.write(1, 2, 3..6);
    let new = model.write(0, 3, 5..8);
    (model, old, mid, new)
}

#[test]
fn a_table_may_not_sink_past_an_older_one() {
    let (model, old, mid, new) = three_levels();
    let refused = refusal(&model, vec![merge(&[new, old], 2, 1)]);
    assert!(
        matches!(refused, Refusal::Passes { input, table, .. } if input == new && table == mid)
    );
    assert_eq!(
        refused.to_string(),
        "table 3 would go from level 0, run 3 to level 2, run 1 past table 2 in level 1, run 2, \
         which overlaps it and is left out"
    );
    accepted(&model, vec![merge(&[new, mid, old], 2, 1)]);
}

#[test]
fn a_table_may_not_rise_past_a_newer_one() {
    let (model, old, _, new) = three_levels();
    let refused = refusal(&model, vec![merge(&[new, old], 0, 3)]);
    assert!(matches!(refused, Refusal::Passes { input, .. } if input == old));
}

#[test]
fn an_output_may_not_overlap_what_stays_in_its_run() {
    let (model, old, mid, _) = three_levels();
    let refused = refusal(&model, vec![move_to(&[mid], 2, 1)]);
    assert!(matches!(refused, Refusal::Lands { table, .. } if table == old));
}

#[test]
fn the_whole_key_range_of_a_merge_counts() {
    let mut model = Model::default();
    let between = model.write(1, 1, 5..6);
    let left = model.write(0, 2, 0..2);
    let right = model.write(0, 2, 8..9);
    let refused = refusal(&model, vec![merge(&[left, right], 1, 1)]);
    assert!(matches!(refused, Refusal::Lands { table, .. } if table == between));
    accepted(&model, vec![move_to(&[left, right], 1, 1)]);
}

#[test]
fn a_run_may_keep_tables_beside_the_output() {
    let mut model = Model::default();
    model.write(1, 1, 0..3);
    let below = model.write(1, 1, 4..7);
    let above = model.write(0, 2, 5..6);
    accepted(&model, vec![merge(&[above, below], 1, 1)]);
}

#[test]
fn two_groups_may_not_turn_the_order_of_their_inputs() {
    let mut model = Model::default();
    let old = model.write(0, 10, 0..3);
    let new = model.write(0, 40, 0..3);
    // The newer sinks and the older rises: either alone keeps the order.
    let (sink, rise) = (move_to(&[new], 0, 20), move_to(&[old], 0, 30));
    accepted(&model, vec![sink.clone()]);
    accepted(&model, vec![rise.clone()]);
    let both = refusal(&model, vec![sink.clone(), rise.clone()]);
    assert!(matches!(both, Refusal::Crosses { newer, older, .. } if newer == new && older == old));
    assert_eq!(beside(&model, vec![sink], vec![rise]), Err(both));
}

#[test]
fn the_newer_of_two_overlapping_tables_may_not_move_first() {
    let mut model = Model::default();
    let old = model.write(0, 1, 0..3);
    let new = model.write(0, 2, 0..3);
    let refused = refusal(&model, vec![move_to(&[old], 1, 3), move_to(&[new], 1, 4)]);
    assert!(
        matches!(refused, Refusal::Passes { input, table, .. } if input == new && table == old)
    );
}

#[test]
fn two_outputs_may_not_overlap_in_one_run() {
    let mut model = Model::default();
    let a = model.write(0, 1, 0..3);
    let b = model.write(0, 1, 6..9);
    let c = model.write(0, 2, 4..5);
    let d = model.write(0, 2, 10..12);
    let refused = refusal(&model, vec![merge(&[a, b], 1, 3), merge(&[c, d], 1, 3)]);
    assert!(matches!(refused, Refusal::Collides { .. }));
    accepted(&model, vec![merge(&[a, c], 1, 3), merge(&[b, d], 1, 3)]);
}

#[test]
fn a_move_may_not_put_overlapping_tables_into_one_run() {
    let (model, old, mid, new) = three_levels();
    let refused = refusal(&model, vec![move_to(&[old, mid, new], 3, 9)]);
    assert!(matches!(refused, Refusal::Collides { .. }));
}

#[test]
fn a_running_group_still_stands_where_its_inputs_are() {
    let (model, old, mid, new) = three_levels();
    let refused = beside(&model, vec![merge(&[mid, old], 2, 1)], vec![merge(&[new], 3, 9)]);
    assert!(matches!(refused, Err(Refusal::Passes { .. })));
}

#[test]
fn a_running_group_stands_already_where_it_will_write() {
    let mut model = Model::default();
    let left = model.write(0, 1, 0..2);
    let right = model.write(0, 1, 8..9);
    let between = model.write(0, 2, 4..5);
    let running = vec![merge(&[left, right], 1, 3)];
    let refused = beside(&model, running.clone(), vec![move_to(&[between], 1, 3)]);
    assert!(matches!(refused, Err(Refusal::Collides { .. })));
    beside(&model, running, vec![move_to(&[between], 1, 4)]).unwrap();
}

#[test]
fn a_level_into_which_a_group_writes_keeps_its_index() {
    let (model, old, mid, _) = three_levels();
    let running = Running { compactions: vec![plan(vec![merge(&[mid, old], 2, 1)])] };
    let shift = |level| validate_reshape(&model.shape, &running, LevelChange::Add(level));
    assert!(matches!(shift(1), Err(Refusal::Shifts { .. })));
    assert!(matches!(shift(2), Err(Refusal::Shifts { .. })));
    assert!(matches!(shift(3), Err(Refusal::Levels { .. })));
    let idle = Running::default();
    validate_reshape(&model.shape, &idle, LevelChange::Add(2)).unwrap();
    let above = Running { compactions: vec![plan(vec![merge(&[mid, old], 1, 2)])] };
    validate_reshape(&model.shape, &above, LevelChange::Add(2)).unwrap();
    assert!(model.reshape(LevelChange::Add(2)).all_sound(&above.compactions[0].groups));
}

#[test]
fn a_flush_whose_cuts_do_not_ascend_is_refused() {
    let flush = |cuts: &[&[u8]]| {
        let cuts = cuts.iter().map(|cut| cut.to_vec()).collect();
        validate_flush(&FlushPlan { cuts, ..FlushPlan::default() })
    };
    assert_eq!(flush(&[b"a", b"b"]), Ok(()));
    assert_eq!(flush(&[b"b", b"b"]), Err(Refusal::FlushCuts));
}

#[test]
fn an_input_has_one_consumer() {
    let (model, old, mid, new) = three_levels();
    let twice = refusal(&model, vec![merge(&[new, new], 0, 3)]);
    assert_eq!(twice, Refusal::Taken { group: 0, table: new });
    let shared = refusal(&model, vec![merge(&[new], 0, 3), merge(&[new], 0, 3)]);
    assert_eq!(shared, Refusal::Taken { group: 1, table: new });
    let held = beside(&model, vec![merge(&[mid, old], 2, 1)], vec![merge(&[new, mid], 1, 2)]);
    assert_eq!(held, Err(Refusal::Taken { group: 0, table: mid }));
}

#[test]
fn a_move_that_changes_no_run_is_refused() {
    let (model, old, ..) = three_levels();
    let destination = Destination { level: 2, run: RunId(1) };
    let stays = Refusal::Stays { group: 0, destination };
    assert_eq!(refusal(&model, vec![move_to(&[old], 2, 1)]), stays);
    accepted(&model, vec![merge(&[old], 2, 1)]);
    accepted(&model, vec![move_to(&[old], 2, 9)]);
}

#[test]
fn a_plan_must_be_well_formed() {
    let (model, old, _, _) = three_levels();
    assert_eq!(refusal(&model, vec![]), Refusal::NoGroups);
    assert_eq!(refusal(&model, vec![merge(&[], 1, 2)]), Refusal::NoInputs { group: 0 });
    let unknown = TableId(77);
    let missing = Refusal::Missing { group: 0, table: unknown };
    assert_eq!(refusal(&model, vec![merge(&[unknown], 1, 2)]), missing);
    let deep = Refusal::TooDeep { group: 0, level: MAX_LEVELS, limit: MAX_LEVELS - 1 };
    assert_eq!(refusal(&model, vec![merge(&[old], MAX_LEVELS, 9)]), deep);
    accepted(&model, vec![merge(&[old], 7, 9)]);
    let elsewhere = refusal(&model, vec![merge(&[old], 3, 2)]);
    assert!(matches!(elsewhere, Refusal::RunElsewhere { found: 1, .. }));
    for cuts in [vec![vec![2], vec![1]], vec![vec![1], vec![1]]] {
        let action = Action::Merge { cuts, target_file_bytes: 1, filter_bits: None, split: None };
        let group = Group { action, ..merge(&[old], 2, 1) };
        assert_eq!(refusal(&model, vec![group]), Refusal::Cuts { group: 0 });
    }
    let parts = |group, parts: [u8; 2]| Group { parts: parts.map(|key| vec![key]).into(), ..group };
    accepted(&model, vec![parts(merge(&[old], 2, 9), [1, 2])]);
    for group in [
        parts(merge(&[old], 2, 9), [2, 1]),
        parts(merge(&[old], 2, 9), [1, 1]),
        parts(move_to(&[old], 2, 9), [1, 2]),
    ] {
        assert_eq!(refusal(&model, vec![group]), Refusal::Parts { group: 0 });
    }
}

/// Two overlapping tables cannot both sink in one plan, unless the newer one waits for the older one.
#[test]
fn a_group_is_judged_after_the_groups_that_it_follows() {
    let mut model = Model::default();
    let old = model.write(0, 1, 0..4);
    let mid = model.write(0, 2, 2..6);
    let new = model.write(0, 3, 4..9);
    let down = |table, run, follows| Group { follows, ..move_to(&[table], 1, run) };
    let at_once = vec![down(old, 11, None), down(mid, 12, None)];
    assert!(matches!(refusal(&model, at_once), Refusal::Passes { input, .. } if input == mid));
    let in_turn = vec![down(old, 11, None), down(mid, 12, Some(old)), down(new, 13, Some(mid))];
    assert!(model.all_sound(&in_turn));
    accepted(&model, in_turn.clone());
    // It waits for the group before it, and is judged by all of these.
    let skips = vec![down(old, 11, None), down(mid, 12, None), down(new, 13, Some(old))];
    assert!(matches!(refusal(&model, skips), Refusal::Passes { input, .. } if input == mid));
    // What it follows does not excuse an order that would be reversed in the end.
    let crossed = vec![down(old, 12, None), down(mid, 11, Some(old))];
    assert!(!model.all_sound(&crossed));
    assert!(matches!(refusal(&model, crossed), Refusal::Crosses { newer, .. } if newer == mid));
    // A follower comes after what it follows.
    for (groups, table) in [
        (vec![down(mid, 12, Some(old)), down(old, 11, None)], old),
        (vec![down(old, 11, Some(old))], old),
        (vec![down(old, 11, Some(TableId(77)))], TableId(77)),
    ] {
        assert_eq!(refusal(&model, groups), Refusal::Follows { group: 0, table });
    }
}

#[test]
fn a_plan_may_write_into_any_level_below_the_last() {
    let mut model = Model::default();
    let first = model.write(0, 1, 0..4);
    for level in [2, MAX_LEVELS - 1] {
        for group in [merge(&[first], level, 9), move_to(&[first], level, 9)] {
            validate(&model.shape, &Running::default(), &plan(vec![group.clone()])).unwrap();
            let mut after = model.commit(&group, false).unwrap();
            assert_eq!(after.shape.deepest(), level);
            let second = after.write(0, 10, 2..6);
            assert!(after.is_sound());
            // What follows may go into a level between, but not past it.
            let between = plan(vec![move_to(&[second], level - 1, 11)]);
            validate(&after.shape, &Running::default(), &between).unwrap();
            // A level whose index a running group names may not shift.
            let running = Running { compactions: vec![between] };
            let shift = LevelChange::Drop(1);
            assert!(validate_reshape(&after.shape, &running, shift).is_err());
        }
    }
    let mut two = model.clone();
    let above = two.write(0, 2, 2..6);
    let past = plan(vec![move_to(&[above], 7, 9)]);
    let refused = validate(&two.shape, &Running::default(), &past);
    assert!(matches!(refused, Err(Refusal::Passes { .. })), "{refused:?}");
}

/// Tables of one level, each a run of its age, hold {a, b}, {b}, {a, c} and {a, d}. Merging all but
/// the second at the age of the fourth would let the first's b hide the second's.
#[test]
fn merging_around_a_table_may_not_lift_stale_keys_above_it() {
    let [a, b, c, d] = [0, 1, 2, 3];
    let mut model = Model::default();
    let t1 = model.write(1, 1, [a, b]);
    let t2 = model.write(1, 2, [b]);
    let t3 = model.write(1, 3, [a, c]);
    let t4 = model.write(1, 4, [a, d]);
    let groups = vec![merge(&[t1, t3, t4], 2, 14), move_to(&[t2], 2, 12)];
    assert!(!model.all_sound(&groups));
    assert!(matches!(refusal(&model, groups), Refusal::Passes { .. } | Refusal::Crosses { .. }));
    let in_place = vec![merge(&[t1, t3, t4], 1, 4)];
    assert!(!model.all_sound(&in_place));
    assert!(matches!(refusal(&model, in_place), Refusal::Passes { table, .. } if table == t2));
    accepted(&model, vec![merge(&[t1, t2, t3, t4], 2, 14)]);
}

/// T[1-5] of age 5, U1[4-9] of age 9, U2[5-8] of age 3 and V[7-8] of age 6: merging T, U1 and U2
/// would lift U2's 7 above V's.
#[test]
fn a_merge_in_a_level_may_not_lift_a_stale_key_past_a_table() {
    let mut model = Model::default();
    let u2 = model.write(1, 3, 5..=8);
    let t = model.write(1, 5, 1..=5);
    let v = model.write(1, 6, 7..=8);
    let u1 = model.write(1, 9, 4..=9);
    let groups = vec![merge(&[t, u1, u2], 1, 9)];
    assert!(!model.all_sound(&groups));
    assert!(matches!(refusal(&model, groups), Refusal::Passes { input, table, .. }
        if input == u2 && table == v));
    accepted(&model, vec![merge(&[t, u1, u2, v], 1, 9)]);
}
