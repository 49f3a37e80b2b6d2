//! The operations that clients draw.

use crate::{Choice, Clients, Operation, Operations, Workload};
use std::collections::{BTreeMap, BTreeSet};

fn operations(workload: &Workload) -> Vec<Operation> {
    Operations::new(workload, 3).collect()
}

/// Returns the number of puts of each number after the load.
fn puts(workload: &Workload) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for operation in operations(workload).into_iter().skip(workload.load as usize) {
        if let Operation::Put(number) = operation {
            *counts.entry(number).or_default() += 1;
        }
    }
    counts
}

#[test]
fn a_load_writes_every_key_once_anywhere_or_in_order() {
    for (name, ascends) in [("unique-random", false), ("sequential", true)] {
        let workload = Workload::preset(name, 5000, 5000).unwrap();
        let drawn = Operations::new(&workload, 3);
        let keys: Vec<_> = (0..5000).map(|number| drawn.key(number)).collect();
        assert_eq!(keys.is_sorted(), ascends, "{name}");
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 5000);
        // The whole key space is used.
        assert!(*keys.iter().max().unwrap() > u64::MAX / 4, "{name}");
        let expected: Vec<_> = (0..5000).map(Operation::Put).collect();
        assert_eq!(operations(&workload), expected);
    }
}

#[test]
fn zipf_draws_and_moves_its_hottest_key_as_specified() {
    let zipf = |move_every| {
        let choice = Choice::Zipf { exponent: 1.0, move_every };
        Workload::then(1000, 40_000, Clients { choice, ..Clients::default() })
    };
    let harmonic: f64 = (1..=1000).map(|rank| 1.0 / f64::from(rank)).sum();
    let hottest = |counts: &BTreeMap<u64, u64>| *counts.values().max().unwrap() as f64 / 40_000.0;
    let share = hottest(&puts(&zipf(0)));
    assert!((share * harmonic - 1.0).abs() < 0.05, "{share}");
    let moved = hottest(&puts(&zipf(4000)));
    assert!(moved < share / 4.0, "{moved} {share}");
}

#[test]
fn ycsb_d_mostly_reads_the_latest_keys() {
    let reads = operations(&Workload::preset("ycsb-d", 1000, 20_000).unwrap());
    let mut last = 0;
    let mut near = 0;
    let mut gets = 0;
    for operation in reads {
        match operation {
            Operation::Put(number) => last = number,
            Operation::Get(number) => {
                gets += 1;
                near += u64::from(last - number < 50);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!((18_800..=19_200).contains(&gets), "{gets}");
    assert!(near * 2 > gets, "{near} of {gets}");
}

#[test]
fn ranges_shift_and_one_of_them_is_hot_at_a_time() {
    let workload = Workload::preset("mixgraph1", 50_000, 50_000).unwrap();
    let puts: Vec<_> = operations(&workload)
        .into_iter()
        .map(|operation| match operation {
            Operation::Put(number) => number,
            other => panic!("{other:?}"),
        })
        .collect();
    let hottest = |stage: usize| {
        let ranges = 10 * (stage as u64 + 1);
        let mut counts = BTreeMap::new();
        for number in &puts[stage * 10_000..(stage + 1) * 10_000] {
            *counts.entry(number / (50_000 / ranges)).or_insert(0u64) += 1;
        }
        let (range, count) = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
        assert!(count > 7000, "stage {stage}: {count}");
        range * 50_000 / ranges
    };
    let places: BTreeSet<_> = (0..5).map(hottest).collect();
    assert!(places.len() >= 3, "{places:?}");
}
