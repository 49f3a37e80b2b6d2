//! Ranges compacted in slices: these are bounded and legal, and come to an end.

use super::*;

const KEYS: u16 = 4000;

/// A bottom of 400 tables, 20 above them, each as wide as 20 of those, and two runs of level 0 as
/// wide as everything.
fn wide_above_narrow() -> Model {
    let mut model = Model::default();
    for first in (0..KEYS).step_by(10) {
        model.write(2, 1, first..first + 10);
    }
    for first in (0..KEYS).step_by(200) {
        model.write(1, 2, (first..first + 200).step_by(11));
    }
    for run in [3, 4] {
        model.write(0, run, (run as u16..KEYS).step_by(41));
    }
    model
}

/// Makes keys `from` to below `to` compact; returns the tree, and the bytes that each merge and each
/// cut read.
fn compact(mut model: Model, from: u16, to: u16) -> (Model, Vec<u64>, Vec<u64>) {
    let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
    let (mut merged, mut cut, mut end) = (Vec::new(), Vec::new(), None);
    let (through, before) = (model.last_seq, TableId(model.last_table + 1));
    for _ in 0..2000 {
        let next = next_slice(
            &model.shape,
            &Slicing {
                ends_before: &|t| t.largest.as_slice() < &from[..],
                starts_behind: &|t| &to[..] <= t.smallest.as_slice(),
                through,
                before,
                end: end.as_deref(),
                slice_bytes: 80,
                target_file_bytes: 10,
            },
        );
        let (compaction, read) = match next {
            Slice::Done => return (model, merged, cut),
            Slice::Cut(compaction, at) => {
                end = Some(at);
                (compaction, &mut cut)
            }
            Slice::Merge(compaction) => {
                end = None;
                (compaction, &mut merged)
            }
        };
        validate(&model.shape, &Running::default(), &compaction).unwrap();
        for group in &compaction.groups {
            let inputs = model.shape.find(group.inputs.clone());
            read.push(inputs.iter().map(|placed| placed.table.bytes).sum());
        }
        model = model.follow(&Plan::Compact(compaction));
    }
    panic!("no end: {} merges, {} cuts", merged.len(), cut.len());
}

#[test]
fn everything_becomes_one_run_in_slices_of_bounded_size() {
    let model = wide_above_narrow();
    let bytes = model.shape.bytes();
    let (model, merged, cut) = compact(model, 0, KEYS);
    assert_eq!(model.shape.runs().len(), 1);
    assert_eq!(model.shape.bytes(), u64::from(KEYS));
    assert!(model.is_sound());
    assert!(merged.iter().all(|slice| *slice <= 4 * 80), "{merged:?}");
    // Everything is read about once, and tables that block a slice a few times.
    let above = bytes - u64::from(KEYS);
    assert!(merged.iter().sum::<u64>() < bytes * 3 / 2, "{merged:?}");
    assert!(cut.iter().sum::<u64>() < above * 6, "{cut:?}");
}

#[test]
fn a_part_becomes_compact_and_the_rest_stays() {
    let model = wide_above_narrow();
    let (from, to) = (1000u16.to_be_bytes(), 1100u16.to_be_bytes());
    let inside =
        |t: &TableInfo| t.smallest.as_slice() < &to[..] && &from[..] <= t.largest.as_slice();
    let (model, merged, _) = compact(model, 1000, 1100);
    assert!(model.is_sound());
    assert!(merged.len() < 20, "{merged:?}");
    let above = |(level, _, t): (usize, RunId, &Arc<TableInfo>)| level < 2 && inside(t);
    assert!(!model.shape.tables().any(above));
    assert!(model.shape.levels()[1].bytes() > 0);
}

#[test]
fn tombstones_of_the_bottom_are_rewritten_once() {
    let mut model = Model::default();
    for first in (0..100).step_by(10) {
        model.last_seq += 1;
        let versions = (first..first + 10).map(|k| (k, BTreeSet::from([model.last_seq]))).collect();
        let mut table = TableInfo::clone(&model.table(versions));
        table.tombstones = if first == 40 { 3 } else { 0 };
        let added = vec![(1, RunId(1), Arc::new(table))];
        model.shape = apply(&model.shape, &ShapeEdit { added, dropped: vec![] }).unwrap();
    }
    let (_, merged, cut) = compact(model, 0, KEYS);
    assert_eq!((merged, cut), (vec![10], vec![]));
}
