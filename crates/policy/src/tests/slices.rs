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
                is_hidden: &|_| false,
                ends_before: &|t| t.largest.as_slice() < &from[..],
                starts_behind: &|t| &to[..] <= t.smallest.as_slice(),
                through,
                before,
                oldest_snapshot: 0,
                end: end.as_deref(),
                slice_bytes: 80,
                target_file_bytes: 10,
            },
        );
        let (compaction, read) = match next {
            Slice::Done => return (model, merged, cut),
            Slice::Cut(compaction, at) => {
                assert!(compaction.groups.iter().all(|group| is_cut_inside(&model, group, &at)));
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

/// Whether a group cuts one table that extends beyond `end`, there first and elsewhere after it.
fn is_cut_inside(model: &Model, group: &Group, end: &[u8]) -> bool {
    let Action::Merge { cuts, .. } = &group.action else { return false };
    let [table] = &group.inputs[..] else { return false };
    let table = model.shape.table(*table).unwrap().table;
    let inside = |cut: &Vec<u8>| table.smallest < *cut && *cut <= table.largest;
    cuts[0] == end && cuts.is_sorted_by(|a, b| a < b) && cuts.iter().all(inside)
}

/// The next step for all keys, everything being of the moment that counts; tables below `before` must
/// lose their tombstones.
fn next(model: &Model, before: u64, end: Option<u16>, slice_bytes: u64) -> Slice {
    next_after(model, 0, before, end, slice_bytes)
}

/// The same, with this oldest snapshot.
fn next_after(
    model: &Model,
    oldest_snapshot: u64,
    before: u64,
    end: Option<u16>,
    slice_bytes: u64,
) -> Slice {
    next_slice(
        &model.shape,
        &Slicing {
            is_hidden: &|_| false,
            ends_before: &|_| false,
            starts_behind: &|_| false,
            through: model.last_seq,
            before: TableId(before),
            oldest_snapshot,
            end: end.map(Key::bytes).as_deref(),
            slice_bytes,
            target_file_bytes: 10,
        },
    )
}

/// The tables that the next step merges.
fn merges(slice: &Slice) -> Vec<u64> {
    let Slice::Merge(Compaction { groups, .. }) = slice else { panic!("{slice:?}") };
    groups.iter().flat_map(|group| &group.inputs).map(|id| id.0).collect()
}

/// Gives each table that is in the tree a tombstone.
fn add_tombstones(model: &mut Model) {
    for (level, run, table) in model.shape.clone().tables() {
        let with = TableInfo { tombstones: 1, ..TableInfo::clone(table) };
        let edit = ShapeEdit { added: vec![(level, run, Arc::new(with))], dropped: vec![table.id] };
        model.shape = apply(&model.shape, &edit).unwrap();
    }
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
    let average = merged.iter().sum::<u64>() / merged.len() as u64;
    assert!((40..=160).contains(&average), "{average}: {merged:?}");
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

#[test]
fn a_bottom_table_written_since_the_start_keeps_tombstones() {
    let mut model = Model::default();
    let tables = [0, 10, 20].map(|first| model.write(1, 1, first..first + 10).0);
    add_tombstones(&mut model);
    assert_eq!(next(&model, tables[0], None, 1000), Slice::Done);
    assert_eq!(merges(&next(&model, tables[1], None, 1000)), tables[..1]);
    assert_eq!(merges(&next(&model, tables[2] + 1, None, 1000)), tables);
}

/// Sets what the tables of the tree kept for snapshots alone.
fn keep(model: &mut Model, kept: Option<Kept>) {
    for (level, run, table) in model.shape.clone().tables() {
        let with = TableInfo { kept, ..TableInfo::clone(table) };
        let edit = ShapeEdit { added: vec![(level, run, Arc::new(with))], dropped: vec![table.id] };
        model.shape = apply(&model.shape, &edit).unwrap();
    }
}

#[test]
fn tables_of_a_lone_run_lose_what_only_snapshots_kept() {
    let mut model = Model::default();
    let [first, last] = [0, 10].map(|first| model.write(1, 1, first..first + 10).0);
    let due = |model: &Model, oldest, before| match next_after(model, oldest, before, None, 1000) {
        Slice::Done => Vec::new(),
        slice => merges(&slice),
    };
    assert!(due(&model, 100, last + 1).is_empty());
    keep(&mut model, Some(Kept { entries: 1, bytes: 1, until: 50 }));
    // A snapshot may still need some of them: a merge that starts now drops the others.
    assert_eq!(due(&model, 49, last), [first]);
    assert_eq!(due(&model, 49, last + 1), [first, last]);
    assert!(due(&model, 49, first).is_empty());
    // A merge that started before the last snapshot was released wrote both.
    assert_eq!(due(&model, 50, first), [first, last]);
}

#[test]
fn tables_of_a_lone_run_that_did_not_count_are_merged_once() {
    let mut model = Model::default();
    let versions = |seqs: [u64; 2]| BTreeMap::from([(1, BTreeSet::from(seqs))]);
    for (run, seqs) in [(1, [1, 2]), (2, [3, 3])] {
        let table = model.table(versions(seqs));
        let added = vec![(1, RunId(run), table)];
        model.shape = apply(&Shape::default(), &ShapeEdit { added, dropped: vec![] }).unwrap();
        keep(&mut model, None);
        model.last_seq = 3;
        let found = next(&model, 100, None, 1000);
        assert_eq!(found != Slice::Done, seqs[0] < seqs[1], "one batch supersedes nothing");
        assert_eq!(next(&model, 0, None, 1000), Slice::Done);
    }
}

#[test]
fn tables_that_line_up_are_merged_in_slices_of_the_target_size() {
    let mut model = Model::default();
    for first in (0..200).step_by(10) {
        model.write(2, 1, first..first + 10);
    }
    for first in (0..200).step_by(10) {
        model.write(1, 2, first..first + 10);
    }
    let (model, merged, cut) = compact(model, 0, KEYS);
    assert_eq!((merged, cut), (vec![80; 5], vec![]));
    assert_eq!(model.shape.bytes(), 200);
}

#[test]
fn bottom_tables_count_with_or_without_tombstones() {
    for has_tombstones in [false, true] {
        let mut model = Model::default();
        for first in (0..200).step_by(10) {
            model.write(2, 1, first..first + 10);
        }
        if has_tombstones {
            add_tombstones(&mut model);
        }
        for first in (0..200).step_by(10) {
            model.write(1, 2, first..first + 10);
        }
        for before in [0, 1000] {
            let first = merges(&next(&model, before, None, 80));
            assert_eq!(first, [21, 22, 23, 24, 1, 2, 3, 4], "{has_tombstones} {before}");
        }
    }
}

#[test]
fn a_slice_ends_where_its_tables_were_cut_unless_that_is_past() {
    let mut model = Model::default();
    let bottom = [5, 15, 25].map(|first| model.write(2, 1, first..first + 10).0);
    let above = [5, 15, 25].map(|first| model.write(1, 2, first..first + 10).0);
    let all = [above, bottom].concat();
    for (end, taken) in [(15, 1), (25, 2), (26, 3), (5, 3), (4, 3)] {
        let expected = [&above[..taken], &bottom[..taken]].concat();
        assert_eq!(merges(&next(&model, 0, Some(end), 1000)), expected, "{end}");
    }
    assert_eq!(merges(&next(&model, 0, None, 1000)), all);
}

#[test]
fn tables_are_cut_if_a_slice_has_more_than_four_times_its_size() {
    let mut model = Model::default();
    let bottom = model.write(2, 1, 0..30).0;
    let above = model.write(1, 2, 0..10).0;
    assert_eq!(merges(&next(&model, 0, Some(5), 10)), [above, bottom]);
    let Slice::Cut(compaction, end) = next(&model, 0, Some(5), 9) else { panic!() };
    assert_eq!((end, compaction.groups.len()), (5u16.bytes(), 1));
    assert!(is_cut_inside(&model, &compaction.groups[0], &5u16.bytes()));
}

/// A table above twenty narrow ones counts in each slice with its share.
#[test]
fn a_table_that_extends_beyond_a_slice_counts_in_proportion() {
    let mut model = Model::default();
    for first in (0..200).step_by(10) {
        model.write(2, 1, first..first + 10);
    }
    model.write(1, 2, (0..200).step_by(10));
    // Each place has ten bytes below and one of the twenty above: three make 33 of 40.
    let Slice::Cut(_, end) = next(&model, 0, None, 40) else { panic!("too much to merge at once") };
    assert_eq!(end, 30u16.bytes());
}

#[test]
fn a_table_is_cut_at_the_end_of_the_slice_and_evenly_behind_it() {
    let mut model = Model::default();
    for first in (0..900).step_by(10) {
        model.write(2, 1, first..first + 10);
    }
    let above = model.write(1, 2, (0..900).step_by(9)).0;
    for end in [700u16, 740] {
        let Slice::Cut(compaction, _) = next(&model, 0, Some(end), 9) else { panic!("too much") };
        let [group] = compaction.groups.as_slice() else { panic!("{compaction:?}") };
        assert_eq!(group.inputs, [TableId(above)]);
        assert!(is_cut_inside(&model, group, &end.bytes()));
        // 19 or 15 tables start behind the end, and there are at most 15 cuts: at every second one.
        let mut bounds = group.action.cuts().to_vec();
        assert!(bounds.len() <= 15, "{bounds:?}");
        bounds.push(900u16.bytes());
        for pair in bounds.windows(2) {
            let between = |start: &u16| pair[0] < start.bytes() && start.bytes() < pair[1];
            let starts = (0..900).step_by(10).filter(between).count();
            assert!(starts <= 1, "{starts} in {pair:?}");
        }
    }
}

#[test]
fn a_slice_has_the_first_of_its_tables_however_large_they_are() {
    let mut model = Model::default();
    let bottom = [0, 10].map(|first| model.write(2, 1, first..first + 10).0);
    let above = [0, 10].map(|first| model.write(1, 2, first..first + 10).0);
    assert_eq!(merges(&next(&model, 0, None, 1)), [above[0], bottom[0]]);
}
