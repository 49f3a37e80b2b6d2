//! Features of the simulator alone: guards, merges that pause, values in a log of their own.

use super::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use terrane_policy::event::Event;

const LEVELED: &str = r#"{"policy": "leveled", "size-ratio": 4, "level-base-bytes": 6000,
    "target-file-bytes": 3000}"#;

fn guarded(tables: usize, last_level: usize, workload: Workload) -> Config {
    let guards = Guards { keys: 2000, ratio: 4, tables, l0_compaction_trigger: 2, last_level };
    Config { guards: Some(guards), ..small(policy(LEVELED), workload) }
}

/// The newest versions in the tree by its order: whether each key was deleted.
fn newest(simulation: &Simulation) -> BTreeMap<u64, (u64, bool)> {
    let mut newest = BTreeMap::new();
    for (_, _, table) in simulation.tree.shape().tables() {
        for entry in simulation.tree.table(table.id).unwrap().entries.iter() {
            newest.entry(entry.key()).or_insert((entry.seq(), entry.is_delete()));
        }
    }
    newest
}

#[test]
fn guards_hold_the_newest_of_each_key_above_all_older_ones() {
    for (workers, last_level) in [(1, 2), (1, 6), (3, 4)] {
        let config = guarded(2, last_level, updates(4000, 6000, Choice::Uniform));
        let simulation = run(Config { workers, ..config });
        assert_eq!(simulation.report().whole.refused_plans, 0);
        let mut greatest = BTreeMap::new();
        for (_, _, table) in simulation.tree.shape().tables() {
            for entry in simulation.tree.table(table.id).unwrap().entries.iter() {
                let seq: &mut u64 = greatest.entry(entry.key()).or_default();
                *seq = entry.seq().max(*seq);
            }
        }
        let found = newest(&simulation);
        assert!(found.iter().all(|(key, (seq, _))| greatest[key] == *seq));
        let live = found.values().filter(|(_, delete)| !delete).count() as u64;
        assert_eq!(live, simulation.live.count());
    }
}

/// Returns the number of tables over each key that a table starts or ends with, by level.
fn depths(simulation: &Simulation) -> Vec<Vec<usize>> {
    let levels = simulation.shape().levels().iter().skip(1);
    let depths = levels.map(|level| {
        let ends: BTreeSet<_> = level.tables().flat_map(|t| [&t.smallest, &t.largest]).collect();
        let over = |key: &Vec<u8>| {
            level.tables().filter(|t| t.smallest <= *key && *key <= t.largest).count()
        };
        ends.into_iter().map(over).collect()
    });
    depths.collect()
}

#[test]
fn a_guard_has_at_most_its_tables_once_nothing_is_left_to_do() {
    for tables in [1, 2, 5] {
        let simulation = run(guarded(tables, 4, updates(6000, 4000, Choice::Uniform)));
        let depths = depths(&simulation);
        assert!(depths.iter().flatten().all(|depth| *depth <= tables), "{depths:?}");
        let reached = depths.iter().flatten().any(|depth| *depth == tables);
        assert!(reached && depths.len() >= 3, "{depths:?}");
        assert!(simulation.shape().level0_runs() < 2);
    }
}

#[test]
fn a_guard_with_many_tables_goes_before_level_0() {
    let mut config = guarded(2, 4, Workload { load: 12_000, ..Workload::default() });
    config.device.merge_nanos_per_byte = 1000.0;
    let mut simulation =
        Simulation::new(Config { workers: 1, l0_stop_trigger: 8, ..config }).unwrap();
    let mut most = 0;
    while simulation.advance(50).unwrap() {
        most = depths(&simulation).into_iter().flatten().fold(most, usize::max);
    }
    // Level 0 has at most four times the runs at which it is due, a guard about four times what it may have.
    assert!((3..=12).contains(&most), "{most}");
    assert!(simulation.report().whole.stall_seconds.level0 > 0.0);
}

#[test]
fn merges_between_guards_leave_the_next_level_as_it_is() {
    let groups = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&groups);
    let mut simulation =
        Simulation::new(guarded(2, 6, updates(6000, 4000, Choice::Uniform))).unwrap();
    simulation.listen(Box::new(move |_, event| {
        if let Event::GroupBegun { inputs, level, .. } = event {
            seen.borrow_mut().push((inputs.clone(), *level));
        }
    }));
    let mut places = BTreeMap::new();
    while simulation.advance(1).unwrap() {
        for (level, _, table) in simulation.shape().tables() {
            places.insert(table.id, level);
        }
    }
    let groups = groups.borrow();
    let mut to = BTreeSet::new();
    for (inputs, level) in groups.iter() {
        let from = inputs.iter().filter_map(|table| places.get(table));
        assert!(from.into_iter().all(|from| from + 1 == *level || *level == 6 && *from == 6));
        to.insert(*level);
    }
    assert!(to.len() >= 3, "{to:?}");
}

#[test]
fn guards_are_a_share_of_keys_and_guards_of_deeper_levels() {
    let simulation = run(guarded(2, 3, Workload { load: 20_000, ..Workload::default() }));
    // 20 000 keys, of which one in 2000, 500 and 125 is a guard: 10, 40 and 160, give or take four deviations.
    for (level, expected) in [(1, 10.0_f64), (2, 40.0), (3, 160.0)] {
        let cuts = simulation.scheduler.guards_of(level);
        assert!((cuts.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{level} {cuts:?}");
        let below = simulation.scheduler.guards_of(level + 1);
        assert!(cuts.iter().all(|cut| below.contains(cut)));
        assert!(cuts.is_sorted());
    }
}

/// A store whose one worker merges all the time, and whose clients wait for it.
fn bound(pause_deeper_merges: bool, workers: usize) -> Config {
    let mut config = small(policy(LEVELED), Workload { load: 12_000, ..Workload::default() });
    config.device.merge_nanos_per_byte = 1000.0;
    config.device.request_bytes = 500;
    Config { pause_deeper_merges, workers, l0_stop_trigger: 8, ..config }
}

#[test]
fn writes_wait_less_for_level_0_where_deeper_merges_pause() {
    let [without, with] =
        [false, true].map(|pauses| run(bound(pauses, 1)).report().phases[0].figures.clone());
    let waits = |figures: &Figures| figures.stall_seconds.level0 + figures.stall_seconds.memtables;
    assert!(waits(&with) < 0.9 * waits(&without), "{} {}", waits(&with), waits(&without));
}

#[test]
fn a_pausing_merge_finishes_and_occupies_its_worker_alone() {
    for workers in [1, 3] {
        let simulation = run(bound(true, workers));
        assert!(simulation.paused.is_empty() && simulation.jobs.is_empty());
        assert_eq!(newest(&simulation).len(), 12_000);
        let whole = simulation.report().whole;
        let busy = whole.worker_utilisation * whole.seconds * workers as f64;
        let merged = whole.merge_read_bytes as f64 * 1e-6;
        assert!((busy / merged - 1.0).abs() < 1e-3, "{busy} {merged}");
    }
}

#[test]
fn no_deeper_merge_takes_a_step_while_level_0_is_merged() {
    // Levels from which running merges take, by their first input, and the sequence of their steps.
    let steps = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&steps);
    let mut simulation = Simulation::new(bound(true, 2)).unwrap();
    simulation.listen(Box::new(move |_, event| match event {
        Event::GroupBegun { inputs, level, moved: false, .. } => {
            seen.borrow_mut().push((inputs[0], Some(*level), false));
        }
        Event::MergeProgress { group, .. } => seen.borrow_mut().push((*group, None, false)),
        Event::GroupInstalled { inputs, moved: false, .. } => {
            seen.borrow_mut().push((inputs[0], None, true));
        }
        _ => {}
    }));
    while simulation.advance(37).unwrap() {}
    let (mut levels, mut deeper_steps) = (BTreeMap::new(), 0);
    for (group, began, ends) in steps.borrow().iter() {
        if let Some(level) = began {
            levels.insert(*group, *level);
        } else if *ends {
            levels.remove(group);
        } else if levels[group] > 1 {
            deeper_steps += 1;
            assert!(levels.values().all(|level| *level > 1), "{levels:?}");
        }
    }
    assert!(deeper_steps > 100, "{deeper_steps}");
}

/// Keys of 10 bytes and values of 90, or pointers of 14 in their place.
fn separated(value_pointer_bytes: u64, workload: Workload) -> Config {
    Config { value_pointer_bytes, filter_bits_per_key: 64.0, ..small(policy(LEVELED), workload) }
}

#[test]
fn values_in_a_log_are_written_once_and_never_removed() {
    let report = run(separated(14, updates(3000, 3000, Choice::Uniform))).report();
    let whole = &report.whole;
    assert_eq!(whole.value_log_bytes, whole.user_bytes);
    let tables = whole.flushed_bytes + whole.merge_written_bytes;
    let amplification = 1.0 + tables as f64 / whole.user_bytes as f64;
    assert!((whole.write_amp.unwrap() - amplification).abs() < 1e-9);
    let bytes: u64 = report.levels.iter().map(|level| level.bytes).sum();
    assert!(whole.store_bytes_peak >= bytes + whole.value_log_bytes);
    // An entry takes 24 bytes of a memtable and of a table.
    let loaded = run(separated(14, Workload { load: 3000, ..Workload::default() })).report();
    assert_eq!(loaded.levels.iter().map(|level| level.bytes).sum::<u64>(), 3000 * 24);
    assert_eq!(loaded.whole.flushes, (3000_u64 * 24).div_ceil(6400));
    assert_eq!(loaded.whole.logical_bytes, 3000 * 100);
}

#[test]
fn a_value_in_a_log_costs_a_read_a_block_more() {
    let reads = |pointer, mix| {
        let clients = Clients { mix, scan_entries: 8, ..Clients::default() };
        let workload = Workload::then(6000, 3000, clients);
        phase(&run(separated(pointer, workload)).report(), "operations")
    };
    let gets = || Mix { read: 1.0, ..Mix::default() };
    let [within, beside] = [0, 14].map(|pointer| reads(pointer, gets()).read_ios_per_get);
    // The last keys of the load are still in memory.
    assert!((0.95..=1.0).contains(&within) && (1.85..=2.0).contains(&beside), "{within} {beside}");
    let missing = Mix { read_missing: 1.0, ..Mix::default() };
    assert_eq!(reads(14, missing).read_ios_per_get, 0.0);
    let scans = || Mix { scan: 1.0, ..Mix::default() };
    let [within, beside] = [0, 14].map(|pointer| reads(pointer, scans()).read_ios_per_scan);
    // Up to 8 entries, 4.5 on average, whose values lie in different blocks of the log.
    assert!(beside > within + 2.0, "{within} {beside}");
}
