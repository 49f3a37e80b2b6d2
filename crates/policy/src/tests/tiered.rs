//! Tiering: what moves, what is rewritten, and when level 0 goes down. T is 3 and B is 12, so the capacities
//! of levels 0 to 2 are 36, 108 and 324.

use super::examples::{after, tree};
use super::policies::TIERED;
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
