//! Measurements of a tree, and designs that the cost model derives from them.

use super::tuning::{Design, Rehearsal, Tuned, Workload};
use super::*;
use crate::toolkit::observations::{BITS, Observations};
use std::sync::Arc;
use terrane_types::{
    FilterBits, Histogram, Kept, Prefixes, RunId, ShapeEdit, TableId, TableInfo, apply,
};

/// A shape with one table, in level 1.
fn level1(bytes: u64, entries: u64, filter_bytes: u64) -> Shape {
    let table = TableInfo {
        id: TableId(1),
        bytes,
        entries,
        tombstones: 0,
        smallest: vec![0],
        largest: vec![1],
        first_seq: 1,
        last_seq: 1,
        filter_bits: FilterBits::whole(10),
        filter_bytes,
        kept: Some(Kept::default()),
        cleared: 0,
        expires_by: 0,
        salt: 0,
        histogram: Histogram::default(),
        prefixes: Prefixes::default(),
    };
    let added = vec![(1, RunId(1), Arc::new(table))];
    apply(&Shape::default(), &ShapeEdit { added, dropped: Vec::new() }).unwrap()
}

/// Returns the memory after j admissions into level 1.
fn memory(merge: MergePolicy, admissions: u64, repeated: u64) -> Memory {
    let counters = Counters { merge, counts: vec![admissions, 0], slack: 0 };
    Memory::new(12, 3, true, counters, Learned { repeated, ..Learned::default() })
}

#[test]
fn repetition_is_measured_at_level_1_and_weighs_a_quarter() {
    const B: u64 = 4000;
    let policy = Vertiorizon { level_base_bytes: B, ..Vertiorizon::default() };
    let measured = |merge, admissions, bytes, known| {
        let mut memory = memory(merge, admissions, known);
        policy.measure(&mut memory, &level1(bytes, 10, 0));
        memory.learned.repeated
    };
    for admissions in 2..6 {
        for quarters in 0..=4 {
            for known in [0, 400, 1000] {
                // Each buffer but the first has only what it does not repeat.
                let bytes = admissions * B - (admissions - 1) * (B / 4 * quarters);
                let expected = (3 * known + 250 * quarters) / 4;
                let found = measured(MergePolicy::Leveling, admissions, bytes, known);
                assert_eq!(found, expected, "{admissions} {quarters} {known}");
            }
        }
    }
    assert_eq!(measured(MergePolicy::Leveling, 3, 9 * B, 400), 300, "more than was admitted");
    assert_eq!(measured(MergePolicy::Leveling, 1, B / 2, 400), 400, "nothing to compare with");
    assert_eq!(measured(MergePolicy::Tiering, 3, B, 400), 400, "its runs repeat one another");
}

#[test]
fn the_cost_model_knows_the_entries_of_a_page_and_the_filters() {
    let policy = Vertiorizon::default();
    let learned =
        Learned { repeated: 250, seen: Observations { window: vec![[1, 2, 3]], costs: [0; 2] } };
    let workload = |shape: &Shape| policy.workload(shape, &learned, 12);
    for (bytes, entries, filter_bytes, of_a_page, bits) in [
        (4096, 64, 0, 64.0, BITS),
        (8192, 64, 40, 32.0, 5.0),
        (4096, 64, 160, 64.0, 20.0),
        (1 << 20, 2, 0, 1.0, BITS),
    ] {
        let found = workload(&level1(bytes, entries, filter_bytes));
        assert_eq!((found.entries_of_a_page, found.repeated), (of_a_page, 0.0));
        // The optimum of a Bloom filter: 2 to the power of -bits * ln 2.
        let expected = 2f64.powf(-bits * 2f64.ln());
        assert!((found.false_positives / expected - 1.0).abs() < 1e-9, "{bits}");
    }
    assert_eq!(workload(&Shape::default()).entries_of_a_page, 1.0);
    let skewed = Vertiorizon { skew: true, ..policy };
    assert_eq!(skewed.workload(&Shape::default(), &learned, 12).repeated, 0.25);
    assert_eq!(skewed.workload(&Shape::default(), &learned, 12).page, None);
    for (costs, page) in [([0, 5], None), ([5, 0], None), ([80_000, 20_000], Some(0.25))] {
        let learned =
            Learned { seen: Observations { costs, ..Observations::default() }, repeated: 0 };
        assert_eq!(skewed.workload(&Shape::default(), &learned, 12).page, page);
    }
}

const WORKLOAD: Workload = Workload {
    operations: [1, 2, 5],
    buffers: 36,
    entries_of_a_page: 4.0,
    false_positives: 0.1,
    repeated: 0.0,
    page: None,
    size_ratio: 6.0,
};

#[test]
fn a_design_costs_its_reads_and_writes_by_their_shares() {
    assert_eq!(WORKLOAD.shares(), [0.125, 0.25, 0.625]);
    assert_eq!(Workload { operations: [0; 3], ..WORKLOAD }.shares(), [0.5, 0.5, 0.0]);
    let Rehearsal { written, runs, .. } =
        tuning::rehearse(36, Counters::new(MergePolicy::Leveling, 2, 36), WORKLOAD.repeated);
    let expected = 0.125 * written / (36.0 * 4.0) + (0.25 * 0.1 + 0.625) * runs;
    let merge = MergePolicy::Leveling;
    let cost = WORKLOAD.cost(Design { levels: 2, merge, below: merge, slack: 0, cost: 0.0 });
    assert!((cost / expected - 1.0).abs() < 1e-9, "{cost} {expected}");
}

#[test]
fn what_a_rehearsed_round_writes_is_less_what_buffers_repeat() {
    // A level that all merge with: j buffers, half of each in the next, are 0.5 + j / 2 together. The
    // first is moved, the last drains the part.
    let rehearsed = tuning::rehearse(4, Counters::new(MergePolicy::Leveling, 1, 4), 0.5);
    let expected = Rehearsal { written: 1.5 + 2.0, level_by_level: 1.0 + 1.5 + 2.0, runs: 0.75 };
    assert_eq!(rehearsed, expected);
    // In two levels the first and the third go through level 1, the third with the second: 3 / 2 there,
    // and 2 with what the first left.
    let rehearsed = tuning::rehearse(4, Counters::new(MergePolicy::Leveling, 2, 4), 0.5);
    let level_by_level = (1.0 + 1.0) + 1.0 + (1.5 + 2.0);
    assert_eq!(rehearsed, Rehearsal { written: 2.0, level_by_level, runs: 1.0 });
}

#[test]
fn costs_are_reported_in_pages_for_a_thousand_operations() {
    let (merge, below) = (MergePolicy::Tiering, MergePolicy::Leveling);
    let design = |levels, cost| Design { levels, merge, below, slack: 0, cost };
    let (chosen, other) = (design(2, 0.5), design(3, 0.75));
    let tuned = Tuned { designs: vec![chosen, other], chosen, buffers: 12 };
    let [term] = &tuned.decision([1, 1, 1]).reason.terms[..] else { panic!("one other") };
    // Terms are in thousandths.
    assert_eq!((term.left.value, term.right.value), (500_000, 750_000));
}

#[test]
fn slack_grows_as_long_as_less_is_written_level_by_level() {
    for buffers in [2, 3, 6, 12, 36] {
        for levels in 2..4 {
            for repeated in [0.05, 0.3, 0.6, 0.9, 1.0] {
                let workload = Workload { buffers, repeated, ..WORKLOAD };
                let designs = workload.designs(Some(levels), Some(MergePolicy::Leveling), None);
                let written =
                    |slack| workload.round(levels, MergePolicy::Leveling, slack).1.level_by_level;
                let falls = |slack: &u64| written(slack + 1) < written(*slack);
                let expected = (0..buffers).take_while(falls).count() as u64;
                assert_eq!(designs[0].slack, expected, "{buffers} {levels} {repeated}");
            }
        }
    }
    let none = |repeated, levels, merge| {
        let workload = Workload { repeated, ..WORKLOAD };
        workload.designs(Some(levels), Some(merge), None)[0].slack
    };
    assert!(none(0.6, 2, MergePolicy::Leveling) > 0);
    assert_eq!(none(0.04, 2, MergePolicy::Leveling), 0);
    assert_eq!(none(0.6, 1, MergePolicy::Leveling), 0);
    assert_eq!(none(0.6, 2, MergePolicy::Tiering), 0);
}

#[test]
fn a_memory_is_read_from_its_state_and_impossible_ones_are_none() {
    for merge in [MergePolicy::Leveling, MergePolicy::Tiering] {
        for vertical in [1, 3, 63] {
            for counted in [false, true] {
                let memory = Memory { vertical, counted, ..memory(merge, 5, 250) };
                let again = Memory::read(&memory.state()).unwrap();
                assert_eq!(again.state(), memory.state());
                assert_eq!((again.vertical, again.counted), (vertical, counted));
            }
        }
    }
    let sound = memory(MergePolicy::Leveling, 5, 250);
    let no_levels = Counters { counts: Vec::new(), ..sound.counters.clone() };
    for none in [
        Memory { buffers: 0, ..sound.clone() },
        Memory { vertical: 0, ..sound.clone() },
        Memory { vertical: 64, ..sound.clone() },
        Memory { counters: no_levels, ..sound.clone() },
    ] {
        assert_eq!(Memory::read(&none.state()), None);
    }
    // The flags, a byte behind the numbers before them: merge policies and whether it counted.
    for (at, flag) in [(3, 4), (4, 2)] {
        let mut state = sound.state();
        state[1 + 8 * at] = flag;
        assert_eq!(Memory::read(&state), None);
    }
    // Without costs it is a state of an earlier release, without one of them none.
    let known = Learned {
        seen: Observations { costs: [7, 9], ..sound.learned.seen.clone() },
        repeated: 250,
    };
    let known = Memory { learned: known, below: MergePolicy::Tiering, ..sound };
    let state = known.state();
    assert_eq!(
        Memory::read(&state),
        Some(Memory { counts: Memory::read(&state).unwrap().counts, ..known.clone() })
    );
    let earlier = Memory::read(&state[..state.len() - 16]).unwrap();
    assert_eq!((earlier.below, earlier.learned.seen.costs), (MergePolicy::Tiering, [0, 0]));
    assert_eq!(Memory::read(&state[..state.len() - 8]), None);
}

/// Costs of a device on which a block takes as long as four merged pages.
const MEASURED: Workload = Workload { page: Some(0.25), false_positives: 0.09, ..WORKLOAD };

fn tuned(operations: [u64; 3], below: MergePolicy) -> Design {
    let workload = Workload { operations, ..MEASURED };
    tuning::cheapest(&workload.designs(None, None, None), below).unwrap()
}

#[test]
fn by_the_devices_costs_reads_are_leveled_and_writes_are_tiered() {
    use MergePolicy::{Leveling, Tiering};
    let chosen = |updates, points, ranges| {
        let Design { merge, below, .. } = tuned([updates, points, ranges], Leveling);
        (merge, below)
    };
    assert_eq!(chosen(10, 90, 0), (Leveling, Leveling));
    assert_eq!(chosen(50, 50, 0), (Leveling, Leveling));
    assert_eq!(chosen(75, 0, 25), (Leveling, Leveling));
    assert_eq!(chosen(90, 10, 0), (Tiering, Tiering));
    // A page that is written like a block that is read: half updates are tiered as well.
    let alike = Workload { operations: [50, 50, 0], page: None, ..MEASURED };
    let designs = alike.designs(None, None, None);
    assert_eq!(tuning::cheapest(&designs, Leveling).unwrap().merge, Tiering);
    assert!(
        designs.iter().all(|design| design.below == Leveling),
        "unknown costs tune nothing there"
    );
}

#[test]
fn another_merge_policy_below_has_to_save_a_tenth() {
    use MergePolicy::{Leveling, Tiering};
    let design = |below, cost| Design { levels: 1, merge: Leveling, below, slack: 0, cost };
    for (cost, chosen) in [(0.95, Leveling), (0.91, Leveling), (0.89, Tiering)] {
        let designs = [design(Leveling, 1.0), design(Tiering, cost)];
        assert_eq!(tuning::cheapest(&designs, Leveling).unwrap().below, chosen, "{cost}");
        assert_eq!(tuning::cheapest(&designs, Tiering).unwrap().below, Tiering, "it is there");
    }
}
