//! Writes and contents of trees, against analytic counts.

use super::*;
use crate::entry::Entry;
use std::collections::BTreeMap;

/// Writes that wait until the tree is idle.
fn idle(policy_json: &str, flushes: u64) -> Figures {
    let workload = Workload { load: 64 * flushes, ..Workload::default() };
    run(Config { l0_stop_trigger: 64, ..small(policy(policy_json), workload) }).report().whole
}

#[test]
fn tiering_writes_an_entry_once_a_level() {
    for (ratio, levels) in [(2, 5), (3, 3), (4, 3)] {
        let json = format!(
            r#"{{"policy": "tiered", "size-ratio": {ratio}, "level-base-bytes": 6400,
                 "target-file-bytes": 1000000}}"#
        );
        let figures = idle(&json, u64::pow(ratio, levels));
        // With T^k flushes all entries have gone down k levels.
        assert_eq!(figures.write_amp, Some(1.0 + f64::from(levels)), "T = {ratio}");
    }
}

/// Loads 2000 buffers without a pause, where merges are this slow. Returns the write amplification, that
/// of an entry which is written once a level, and the most runs of a level below level 0.
fn pressed(policy_name: &str, ratio: u64, workers: usize, nanos: f64) -> (f64, f64, usize) {
    let json = format!(
        r#"{{"policy": "{policy_name}", "size-ratio": {ratio}, "level-base-bytes": 6000,
             "target-file-bytes": 6400}}"#
    );
    let buffers = 2000u64;
    let workload = Workload { load: 64 * buffers, ..Workload::default() };
    let mut config = Config { workers, ..small(policy(&json), workload) };
    (config.device.merge_nanos_per_byte, config.l0_stop_trigger) = (nanos, 16);
    let mut simulation = Simulation::new(config).unwrap();
    let mut most = 0;
    while simulation.advance(37).unwrap() {
        let levels = simulation.shape().levels().iter().skip(1);
        most = levels.map(|level| level.runs.len()).fold(most, usize::max);
    }
    let once_a_level = 1.0 + (buffers as f64).ln() / (ratio as f64).ln();
    (simulation.report().whole.write_amp.unwrap(), once_a_level, most)
}

#[test]
fn tiering_writes_an_entry_once_a_level_under_steady_load() {
    for (ratio, workers, nanos) in [(4, 1, 5.0), (4, 4, 100.0), (6, 1, 100.0), (6, 4, 5.0)] {
        let (wrote, model, runs) = pressed("tiered", ratio, workers, nanos);
        assert!(wrote <= model, "T = {ratio}, {workers} workers: {wrote} of {model}");
        // T that wait, one of a merge in place, and as many that are merged.
        let most = 2 * ratio as usize + 1;
        assert!(runs <= most, "T = {ratio}, {workers} workers: {runs} of {most}");
    }
}

#[test]
fn partial_tiering_writes_at_most_twice_that_under_steady_load() {
    for (ratio, workers, nanos) in [(4, 1, 5.0), (6, 1, 100.0), (6, 4, 5.0)] {
        let (wrote, model, _) = pressed("tiered-partial", ratio, workers, nanos);
        assert!(wrote <= 2.0 * model, "T = {ratio}, {workers} workers: {wrote} of {model}");
    }
}

/// Buffers that leveling with full, preemptive merges writes, counted level by level: capacities
/// are B * T^i; all down to the first level that can hold it, else the last, becomes its run; what
/// finds nothing to merge with moves; a last level that is full is the next one from then on.
fn full_merges(ratio: u64, flushes: u64) -> u64 {
    let capacity = |level: usize| ratio.pow(level as u32);
    let mut levels = vec![0, 0];
    let mut written = 0;
    for _ in 0..flushes {
        levels[0] = 1;
        let last = levels.len() - 1;
        let down_to = |q: usize| levels[..=q].iter().sum::<u64>();
        let q = (1..last).find(|q| down_to(*q) <= capacity(*q)).unwrap_or(last);
        let all = down_to(q);
        if levels[..=q].iter().filter(|l| **l > 0).count() > 1 {
            written += all;
        }
        levels[..q].fill(0);
        levels[q] = all;
        if levels[last] >= capacity(last) {
            levels.insert(last, 0);
        }
    }
    written
}

#[test]
fn full_leveling_writes_what_its_rule_counts() {
    for (ratio, flushes) in [(2, 40), (3, 60), (5, 120)] {
        let json = format!(
            r#"{{"policy": "leveled-full", "size-ratio": {ratio}, "level-base-bytes": 6400,
                 "dynamic-level-bytes": false, "target-file-bytes": 1000000}}"#
        );
        let figures = idle(&json, flushes);
        assert_eq!(figures.merge_written_bytes, 6400 * full_merges(ratio, flushes), "T = {ratio}");
        assert_eq!(figures.flushes, flushes);
    }
}

/// The newest version of every key in the tree, deletes included.
fn held(simulation: &Simulation) -> BTreeMap<u64, Entry> {
    let mut newest = BTreeMap::new();
    for (_, _, table) in simulation.shape().tables() {
        for entry in simulation.tree.table(table.id).unwrap().entries.iter() {
            newest.entry(entry.key()).or_insert(*entry);
        }
    }
    newest
}

#[test]
fn every_policy_keeps_the_newest_version_of_every_key() {
    let zipf = Choice::Zipf { exponent: 1.0, move_every: 500 };
    let ranges = Choice::ShiftingRanges { from: 2, to: 8, step: 2 };
    let ascending = |w| Workload { order: KeyOrder::Ascending, ..w };
    let workloads = [
        updates(2000, 4000, Choice::Uniform),
        updates(1000, 4000, zipf),
        ascending(updates(3000, 2000, Choice::Latest { exponent: 0.9 })),
        Workload { keys: 3000, ..ascending(updates(0, 5000, ranges)) },
    ];
    for (seed, workload) in (1..).zip(workloads) {
        let mut written = BTreeMap::new();
        let operations = || Operations::new(&workload, seed);
        for (seq, operation) in (1u64..).zip(operations()) {
            let (number, delete) = match operation {
                Operation::Put(number) => (number, false),
                Operation::Delete(number) => (number, true),
                other => panic!("{other:?}"),
            };
            written.insert(operations().key(number), (seq, delete));
        }
        for policy in all_small() {
            let name = policy.name();
            // A machine with much concurrency.
            let mut config = Config { seed, workers: 3, ..small(policy, workload.clone()) };
            config.device.merge_nanos_per_byte = 50.0;
            (config.subcompactions, config.subcompaction_bytes) = (3, 6400);
            config.workload.phases[0].clients[0].count = 2;
            let simulation = run(config);
            let held = held(&simulation);
            for (key, (seq, delete)) in &written {
                let found = held.get(key).map(|e| (e.seq(), e.is_delete()));
                assert!(found == Some((*seq, *delete)) || *delete && found.is_none(), "{name}");
            }
            assert!(held.keys().all(|key| written.contains_key(key)), "{name}");
            let figures = simulation.report().whole;
            let live = written.values().filter(|(_, delete)| !delete).count() as u64;
            assert_eq!(figures.logical_bytes, live * 100, "{name}");
            assert_eq!(figures.refused_plans, 0, "{name}");
            let of_levels: u64 = simulation.report().levels.iter().map(|l| l.bytes).sum();
            assert_eq!(simulation.store_bytes, of_levels, "{name}");
        }
    }
}

#[test]
fn a_seed_determines_the_report_and_the_trace() {
    let outcome = |seed| {
        let mut workload = updates(2000, 2000, Choice::Zipf { exponent: 0.99, move_every: 300 });
        workload.phases[0].clients[0].mix.read = 0.5;
        let mut config = Config { seed, timeline: true, ..small(all_small().remove(0), workload) };
        config.device = Device::default();
        let mut simulation = Simulation::new(config).unwrap();
        let events = std::rc::Rc::new(std::cell::RefCell::new(String::new()));
        let sink = events.clone();
        simulation.listen(Box::new(move |seconds, event| {
            *sink.borrow_mut() += &format!("{seconds} {}", serde_json::to_string(event).unwrap());
        }));
        while simulation.advance(1).unwrap() {}
        let trace = events.borrow().clone();
        (serde_json::to_string(&simulation.report()).unwrap(), trace)
    };
    let first = outcome(7);
    assert_eq!(first, outcome(7));
    assert_ne!(first, outcome(8));
    assert!(first.0.contains("\"timeline\""));
}
