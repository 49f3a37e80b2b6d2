//! Queries of a shape, its levels, runs and tables, and of plans.

use super::{adding, shape, table};
use crate::*;
use std::sync::Arc;

/// Level 0 with runs 9 and 8; level 2, below an empty one, with run 1 of three tables.
fn tree() -> Shape {
    shape(&[
        (0, 8, &table(4, 0..=29)),
        (0, 9, &table(5, 5..=6)),
        (2, 1, &table(1, 0..=1)),
        (2, 1, &table(2, 10..=13)),
        (2, 1, &table(3, 20..=29)),
    ])
}

fn ids<'a>(tables: impl IntoIterator<Item = &'a Arc<TableInfo>>) -> Vec<u64> {
    tables.into_iter().map(|table| table.id.0).collect()
}

#[test]
fn bytes_are_those_of_the_tables_of_a_run_a_level_or_a_shape() {
    let tree = tree();
    let levels = tree.levels();
    assert_eq!(levels[2].runs[0].bytes(), 10 * (2 + 4 + 10));
    assert_eq!(levels[0].runs[1].bytes(), 10 * 30);
    assert_eq!(levels[0].bytes(), 10 * (30 + 2));
    assert_eq!(tree.bytes(), 10 * (30 + 2 + 2 + 4 + 10));
}

#[test]
fn the_deepest_level_is_the_last_with_a_table() {
    assert_eq!(tree().deepest(), 2);
    assert_eq!(shape(&[(1, 1, &table(1, 0..=1))]).deepest(), 1);
    assert_eq!(Shape::default().deepest(), 0);
    // An empty level may be at the end while a plan that adds it is installed.
    let levels = vec![tree().levels()[0].clone(), Level::default()];
    assert_eq!(Shape::from(levels).deepest(), 0);
}

#[test]
fn tables_between_two_levels_exclude_the_second() {
    let tree = tree();
    assert_eq!(ids(tree.between(0, 2)), [5, 4]);
    assert_eq!(ids(tree.between(1, 3)), [1, 2, 3]);
    assert_eq!(ids(tree.between(0, 9)), [5, 4, 1, 2, 3]);
    assert!(tree.between(1, 2).is_empty());
}

#[test]
fn tables_are_found_by_id_newest_first_and_unknown_ids_skipped() {
    let tree = tree();
    let wanted = [3, 1, 4, 99, 5, 3].map(TableId);
    let found = tree.find(wanted.to_vec());
    let places: Vec<_> =
        found.iter().map(|p| (p.place.level, p.place.run.0, p.table.id.0)).collect();
    assert_eq!(places, [(0, 9, 5), (0, 8, 4), (2, 1, 1), (2, 1, 3)]);
    let place = |level, run| Destination { level, run: RunId(run) };
    let runs = tree.runs_of(wanted.into_iter());
    assert_eq!(runs, [place(2, 1), place(0, 8), place(0, 9)]);
}

#[test]
fn tables_that_overlap_a_range_include_those_at_its_ends() {
    let tree = tree();
    let run = &tree.levels()[2].runs[0];
    let overlapping = |from: u8, to: u8| ids(run.overlapping(&[from], &[to]));
    assert_eq!(overlapping(1, 10), [1, 2]);
    assert_eq!(overlapping(13, 20), [2, 3]);
    assert_eq!(overlapping(0, 255), [1, 2, 3]);
    assert!(overlapping(2, 9).is_empty());
    assert!(overlapping(30, 40).is_empty());
    let first_from = |key: u8| run.tables().get(run.first_from(&[key])).map(|table| table.id.0);
    assert_eq!([0, 1, 2, 13, 14, 29].map(first_from), [1, 1, 2, 2, 3, 3].map(Some));
    assert_eq!(first_from(30), None);
}

#[test]
fn tables_of_runs_come_run_after_run() {
    let tree = tree();
    let runs: Vec<_> = tree.runs().into_iter().map(|(_, run)| run.clone()).collect();
    assert_eq!(ids(tables_of(&runs)), [5, 4, 1, 2, 3]);
    assert!(tables_of(&[]).next().is_none());
}

#[test]
fn a_table_spans_its_first_and_last_key_and_those_between() {
    let table = table(1, 10..=20);
    let spans = |key: u8| table.spans(&[key]);
    assert!(spans(10) && spans(15) && spans(20));
    assert!(!spans(9) && !spans(21));
    assert!(table.spans(&[10, 0]) && !table.spans(&[20, 0]));
}

#[test]
fn the_key_range_of_tables_spans_the_least_to_the_greatest_key() {
    let (a, b, c) = (table(1, 10..=12), table(2, 4..=30), table(3, 20..=21));
    for tables in [[&a, &b, &c], [&c, &b, &a], [&b, &a, &c]] {
        assert_eq!(key_range(&tables), (&[4][..], &[30][..]));
    }
    assert_eq!(key_range(&[&a, &c]), (&[10][..], &[21][..]));
    assert_eq!(key_range(&[]), (&[][..], &[][..]));
}

#[test]
fn shapes_with_other_tables_or_places_differ() {
    let one = shape(&[(1, 1, &table(1, 0..=1))]);
    assert_eq!(one, shape(&[(1, 1, &table(1, 0..=1))]));
    for other in [
        shape(&[(2, 1, &table(1, 0..=1))]),
        shape(&[(1, 2, &table(1, 0..=1))]),
        shape(&[(1, 1, &table(2, 0..=1))]),
        shape(&[(1, 1, &table(1, 0..=1)), (1, 1, &table(2, 3..=4))]),
        Shape::default(),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn of_two_tables_with_one_first_key_the_added_is_named_first() {
    let there = table(1, 7..=7);
    let added = table(2, 7..=9);
    let error = apply(&shape(&[(1, 1, &there)]), &adding(&[(1, 1, &added)])).unwrap_err();
    let run = Destination { level: 1, run: RunId(1) };
    assert_eq!(error, EditError::Overlap { run, first: added.id, second: there.id });
}

#[test]
fn a_place_is_above_deeper_levels_and_older_runs_of_its_own() {
    let place = |level, run| Destination { level, run: RunId(run) };
    let newest_first = [place(0, 9), place(0, 8), place(1, 12), place(1, 3), place(2, 7)];
    for (i, a) in newest_first.into_iter().enumerate() {
        for (j, b) in newest_first.into_iter().enumerate() {
            assert_eq!(a.is_above(b), i < j, "{a}; {b}");
        }
    }
}

#[test]
fn sequential_groups_start_when_all_started_are_installed() {
    assert!(Order::Sequential.lets_begin(3, 3));
    assert!(!Order::Sequential.lets_begin(2, 3));
    assert!(Order::Parallel.lets_begin(2, 3));
    assert!(Order::Parallel.lets_begin(3, 3));
}

#[test]
fn a_bounded_number_of_groups_runs_at_once() {
    for (waiting, begins) in [(5, true), (4, true), (3, true), (2, false), (0, false)] {
        assert_eq!(Order::AtMost(3).lets_begin(waiting, 5), begins, "{waiting} of 5 wait");
    }
}

#[test]
fn a_histogram_counts_bytes_through_a_key_once_points_are_known() {
    let point = |key: u8, bytes| HistogramPoint { key: vec![key], bytes };
    let points = || Histogram::from(vec![point(10, 100), point(20, 250), point(30, 400)]);
    let known = points();
    assert!(known.is_known());
    assert_eq!(known.len(), 3);
    let through = [9, 10, 19, 20, 30, 99].map(|key: u8| known.bytes_through(&[key]));
    assert_eq!(through, [0, 100, 100, 250, 400, 400]);

    let learns = Histogram::default();
    assert!(!learns.is_known() && learns.is_empty());
    assert_eq!(learns.bytes_through(&[99]), 0);
    learns.learn(points());
    assert_eq!(learns, known);
    learns.learn(Histogram::from(vec![point(1, 1)]));
    assert_eq!(learns, known, "what is known stays");
    let empty = Histogram::default();
    empty.learn(Histogram::default());
    assert!(empty.is_known() && empty.is_empty());
}

#[test]
fn the_depth_of_level_0_is_the_most_tables_over_one_key() {
    for random in 0..200u64 {
        let mut tables = Vec::new();
        for run in 1..=random % 7 {
            let begin = (random.wrapping_mul(run * 2_654_435_761) >> 7) as u8 % 40;
            let end = begin + (random.wrapping_mul(run * 40_503) >> 3) as u8 % 30;
            tables.push((0, run, table(run, begin..=end)));
        }
        tables.push((1, 100, table(100, 0..=99)));
        let tree = shape(&tables.iter().map(|(l, run, t)| (*l, *run, t)).collect::<Vec<_>>());
        let over = |key: u8| tables.iter().filter(|(l, _, t)| *l == 0 && t.spans(&[key])).count();
        assert_eq!(tree.level0_depth(), (0..=255).map(over).max().unwrap());
        assert_eq!(tree.level0_runs(), tables.len() - 1);
    }
    assert_eq!((Shape::default().level0_depth(), Shape::default().level0_runs()), (0, 0));
}
