//! Leveling: which tables go down, what stays where it is, and what waits. T is 3 and B is 12.

use super::policies::configured::{EVERY_LEVEL, LEVELED};
use super::policies::{invariants, load};
use super::*;

#[test]
fn keys_in_order_are_moved_and_never_rewritten_by_leveling() {
    let (model, written) = load(&LEVELED, 100, |f| (f * 6..f * 6 + 6).collect());
    assert_eq!(written, 0);
    assert!(model.shape.deepest() > 1);
    invariants::vertical(&model.shape, EVERY_LEVEL, true);
}

#[test]
fn leveling_sends_down_the_table_that_overlaps_least() {
    let mut model = Model::default();
    for key in (0..60).step_by(6) {
        model.write(2, 1, key..key + 6);
    }
    model.write(1, 2, (0..33).step_by(3));
    let narrow = model.write(1, 2, 33..39);
    model.write(1, 2, (40..60).step_by(3));
    let Some(Plan::Compact(plan)) =
        propose(&LEVELED, &model.shape, &[], &Running::default(), RunId(9))
    else {
        panic!("level 1 is not over its capacity");
    };
    assert_eq!(plan.groups[0].inputs[0], narrow);
    assert_eq!(plan.groups[0].inputs.len(), 3);
}

#[test]
fn a_tombstone_rich_table_is_rewritten_at_the_bottom() {
    let mut model = Model::default();
    for run in 1..=3 {
        model.write(0, run, [0, 50]);
    }
    let mut level0 = model.shape.levels()[0].clone();
    for run in &mut level0.runs {
        let id = run.id.0 as u8;
        let mut table = TableInfo::clone(run.tables().first().unwrap());
        (table.smallest, table.largest) = (vec![id], vec![id]);
        table.bytes = 6;
        table.tombstones = u64::from(id == 2);
        *run = Run::new(run.id, vec![Arc::new(table)]);
    }
    let shape = Shape::from(vec![level0]);
    let Some(Plan::Compact(plan)) = propose(&LEVELED, &shape, &[], &Running::default(), RunId(9))
    else {
        panic!("level 0 is not full");
    };
    let merged: Vec<_> =
        plan.groups.iter().filter(|g| g.action != Action::Move).map(|g| &g.inputs).collect();
    assert_eq!(merged, [&[TableId(2)]]);
}

#[test]
fn plans_into_an_empty_level_share_its_run() {
    let mut model = Model::default();
    for key in (0..54).step_by(6) {
        model.write(1, 1, key..key + 6);
    }
    model.write(3, 2, 200..206);
    let mut running = Running::default();
    for fresh in [8, 9] {
        let Some(Plan::Compact(plan)) =
            propose(&LEVELED, &model.shape, &[], &running, RunId(fresh))
        else {
            panic!("level 1 is not over its capacity");
        };
        assert_eq!(plan.groups[0].destination, Destination { level: 2, run: RunId(8) });
        running.compactions.push(plan);
    }
}

#[test]
fn what_a_waiting_level_needs_is_not_taken_meanwhile() {
    let mut model = Model::default();
    model.write(2, 1, 200..206);
    let going = model.write(1, 2, 0..6);
    for key in [10, 20, 30] {
        model.write(1, 2, key..key + 6);
    }
    let busy = Running { compactions: vec![plan(vec![move_to(&[going], 2, 1)])] };
    let next = |model: &Model| propose(&LEVELED, &model.shape, &[], &busy, model.fresh(&busy));
    assert!(next(&model).is_some(), "level 1 alone sends another table down");
    // No neighbours are of similar size, so level 0 merges none of them.
    for run in 3..9 {
        model.write(0, run, 3..if run % 2 == 0 { 4 } else { 9 });
    }
    assert_eq!(next(&model), None, "level 0 presses more, and waits for a table of level 1");
}
