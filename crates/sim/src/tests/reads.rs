//! The blocks that reads touch.

use super::*;
use crate::reads::{get, scan};
use std::collections::BTreeMap;

fn mixed(read: Mix, bits: f64, cache_bytes: u64) -> Figures {
    let workload = Workload::then(6000, 3000, Clients { mix: read, ..Clients::default() });
    let tiered = r#"{"policy": "tiered", "level-base-bytes": 6000, "target-file-bytes": 3000}"#;
    let config = small(policy(tiered), workload);
    let report = run(Config { filter_bits_per_key: bits, cache_bytes, ..config }).report();
    phase(&report, "operations")
}

#[test]
fn a_point_read_costs_one_block_with_filters_one_per_run_else() {
    let found = Mix { read: 1.0, ..Mix::default() };
    let missing = Mix { read_missing: 1.0, ..Mix::default() };
    let perfect = mixed(found.clone(), 64.0, 0);
    // The last keys of the load are still in memory.
    assert!((0.97..=1.0).contains(&perfect.read_ios_per_get), "{perfect:?}");
    assert_eq!(mixed(missing.clone(), 64.0, 0).read_ios_per_get, 0.0);
    let none = mixed(missing.clone(), 0.0, 0);
    assert!((none.read_ios_per_get / none.runs_mean - 1.0).abs() < 0.1, "{none:?}");
    // A Bloom filter of 5 bits per entry has 9 % false positives.
    let some = mixed(missing, 5.0, 0);
    let share = some.read_ios_per_get / none.read_ios_per_get;
    assert!((0.07..0.11).contains(&share), "{share}");
    // Level by level the same: all that passed is what was read, and falsely so.
    let sum = |of: fn(&LevelFigures) -> u64| some.by_level.iter().map(of).sum::<u64>();
    let read = (some.read_ios_per_get * some.gets as f64).round() as u64;
    assert_eq!((sum(|l| l.filter_positives), sum(|l| l.false_positives)), (read, read));
    let levels = some.by_level.iter().filter(|level| level.lookups > 1000);
    for level in levels.clone() {
        let share = level.false_positives as f64 / level.lookups as f64;
        assert!((0.06..0.12).contains(&share), "{level:?}");
    }
    assert!(levels.count() >= 2, "{some:?}");
    assert!(perfect.by_level.iter().all(|level| level.false_positives == 0));
    assert!(mixed(found.clone(), 64.0, 200_000).read_ios_per_get < 0.9);
    assert!(mixed(found, 64.0, 200_000).cache_hit_rate > 0.1);
}

#[test]
fn reads_find_every_key_and_touch_only_its_blocks() {
    let mut eager_beyond = false;
    for policy in all_small() {
        let simulation = run(small(policy, updates(1500, 3000, Choice::Uniform)));
        let tree = &simulation.tree;
        let mut newest = BTreeMap::new();
        for (_, _, table) in tree.shape().tables() {
            for entry in tree.table(table.id).unwrap().entries.iter() {
                newest.entry(entry.key()).or_insert(entry.is_delete());
            }
        }
        for from in newest.keys().copied().step_by(97).chain([0, u64::MAX]) {
            let live = newest.range(from..).filter(|(_, delete)| !**delete).count() as u64;
            for (entries, lazy) in [1, 10, 10_000].into_iter().flat_map(|n| [(n, false), (n, true)])
            {
                let mut blocks = Vec::new();
                let found = scan(tree, from, entries, (4, lazy), |block| blocks.push(block));
                assert_eq!(found.len() as u64, live.min(entries));
                assert!(blocks.len() >= found.len().div_ceil(4));
                let count = blocks.len();
                blocks.sort();
                blocks.dedup();
                assert_eq!(blocks.len(), count, "a block is asked for once");
                let Some(last) = found.last().filter(|_| live >= entries) else { continue };
                let mut tables = blocks.iter().map(|(table, _)| tree.table(*table).unwrap());
                let beyond = tables.any(|table| table.entries[0].key() > last.key());
                assert!(!lazy || !beyond, "a lazy read comes to no table beyond its end");
                eager_beyond |= beyond && !lazy;
            }
            let mut last = None;
            get(tree, from, 4, |probe| last = probe.block.or(last));
            if newest.contains_key(&from) {
                let (table, block) = last.unwrap();
                let entries = &tree.table(table).unwrap().entries;
                let block = &entries[block as usize * 4..entries.len().min(block as usize * 4 + 4)];
                assert!(block.iter().any(|e| e.key() == from));
            }
        }
    }
    assert!(eager_beyond, "others read a block of each run");
}

#[test]
fn a_range_read_of_one_entry_needs_a_table_of_each_run() {
    let mix = Mix { scan: 1.0, ..Mix::default() };
    let clients = Clients { mix, scan_entries: 1, ..Clients::default() };
    let tiered = r#"{"policy": "tiered", "level-base-bytes": 6000, "target-file-bytes": 600000}"#;
    let config = small(policy(tiered), Workload::then(6000, 3000, clients));
    let found = phase(&run(config).report(), "operations");
    assert!((found.tables_per_scan / found.runs_mean - 1.0).abs() < 0.1, "{found:?}");
}
