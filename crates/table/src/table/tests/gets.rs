//! Searches of gets, and their traces.

use super::*;
use crate::sync::Pin;
use crate::trace::{ReadCounts, ReadTracer, Step};

/// The even keys below 200 with versions 10 and 20, in some partitions.
fn versions(filter_bits: u32) -> Arc<Table> {
    let entry = |n: u32| {
        let tag = Tag::new(if n.is_multiple_of(2) { 20 } else { 10 }, Kind::Put);
        ((n / 2 * 2).to_be_bytes().to_vec(), tag, vec![7; 30])
    };
    let entries: Vec<Entry> = (0..200).map(entry).collect();
    let options = TableOptions {
        block_bytes: 300,
        partition_bytes: 100,
        filter_bits_per_key: FilterBits::whole(filter_bits),
        ..TableOptions::default()
    };
    table(&entries, 1, &options)
}

/// A get's steps but for blocks, and its counts.
fn get(table: &Table, key: u32, at: Seq) -> (Vec<Step>, ReadCounts) {
    let mut tracer = ReadTracer::tracing();
    let key = key.to_be_bytes();
    let mut lent = Vec::new();
    let lend = &mut |tag, value: &[u8]| lent.push((tag, value.len()));
    let found = table.find(&key, key_hash(&key), at, lend, &mut tracer).unwrap();
    assert_eq!(lent, found.into_iter().map(|tag| (tag, 30)).collect::<Vec<_>>());
    let counts = *tracer.counts();
    let mut steps = tracer.take_steps();
    let all = steps.len();
    steps.retain(|step| !matches!(step, Step::Block { .. }));
    assert_eq!((all - steps.len()) as u64, counts.blocks);
    (steps, counts)
}

const PASSED: Step = Step::Filter { may_contain: true };

fn value(sequence: Seq) -> Step {
    Step::Value { sequence, bytes: 30 }
}

fn absent(false_positive: bool) -> Step {
    Step::Absent { false_positive }
}

#[test]
fn a_get_traces_the_newest_version_that_it_may_see() {
    for (bits, filter) in [(10, vec![PASSED]), (0, vec![])] {
        let table = versions(bits);
        assert!(table.opened().unwrap().partitions.len() > 2);
        for key in [0, 50, 198] {
            for (at, last) in [
                (MAX_SEQ, value(20)),
                (20, value(20)),
                (19, value(10)),
                (10, value(10)),
                (9, Step::Newer),
            ] {
                let expected = [&filter[..], &[last]].concat();
                let (steps, counts) = get(&table, key, at);
                assert_eq!(steps, expected, "key {key} at {at}");
                assert_eq!((counts.filter_negatives, counts.filter_false_positives), (0, 0));
            }
        }
    }
}

#[test]
fn an_absent_key_costs_no_block_unless_its_filter_positives_it() {
    let table = versions(10);
    let (mut denied, mut passed) = (0, 0);
    for key in (1..198).step_by(2) {
        for at in [MAX_SEQ, 9] {
            let (steps, counts) = get(&table, key, at);
            let false_positive = counts.blocks > 0;
            if false_positive {
                passed += 1;
                assert_eq!(steps, [PASSED, absent(true)]);
            } else {
                denied += 1;
                assert_eq!(steps, [Step::Filter { may_contain: false }]);
            }
            let expected = (u64::from(!false_positive), u64::from(false_positive));
            assert_eq!((counts.filter_negatives, counts.filter_false_positives), expected);
        }
    }
    assert!(denied > 10 * passed, "{passed} of {denied} passed");
}

#[test]
fn without_a_filter_an_absent_key_is_no_false_positive() {
    let table = versions(0);
    // 200 is past the last separator.
    for key in [1, 99, 200] {
        for at in [MAX_SEQ, 9] {
            let (steps, counts) = get(&table, key, at);
            assert_eq!(steps, [absent(false)]);
            assert_eq!((counts.filter_negatives, counts.filter_false_positives), (0, 0));
        }
    }
}

#[test]
fn tables_have_filters_if_the_options_give_them_bits() {
    for (bits, filters) in [(10, true), (0, false)] {
        let opened = versions(bits).opened().unwrap();
        assert!(opened.partitions.iter().all(|p| (p.handle.filter_len > 0) == filters));
    }
}

#[test]
fn a_table_counts_watched_reads_that_its_filter_lets_pass() {
    for (bits, absent) in [(0, 1), (10, 0)] {
        let table = versions(bits);
        let key = |key: u32| key.to_be_bytes();
        let find = |wanted: u32, watching: bool| {
            let mut tracer = ReadTracer::default().watching(watching);
            let key = key(wanted);
            let lend = &mut |_, _: &[u8]| ();
            let (hash, mut pin) = (key_hash(&key), Pin::default());
            if table.find_peeked(&key, hash, MAX_SEQ, lend, watching, pin.pinned()).is_none() {
                drop(pin);
                table.find(&key, hash, MAX_SEQ, lend, &mut tracer).unwrap();
            }
            table.reads()
        };
        assert_eq!([find(50, false), find(50, true), find(0, true)], [0, 1, 2]);
        let denied = (1..198).step_by(2).find(|n| !get(&table, *n, MAX_SEQ).0.contains(&PASSED));
        assert_eq!(find(denied.unwrap(), true), 2 + absent);
        // 200 is past the last separator, where no filter is asked.
        assert_eq!(find(200, true), 3 + absent);
    }
}
