//! The blocks that reads touch.

use super::*;
use crate::reads::{get, scan};
use std::collections::BTreeMap;

fn mixed(read: Mix, bits: f64, cache_bytes: u64) -> Figures {
    let workload = Workload { load: 6000, operations: 3000, mix: read, ..Workload::default() };
    let tiered = r#"{"policy": "tiered", "level-base-bytes": 6000, "target-file-bytes": 3000}"#;
    let config = small(policy(tiered), workload);
    let report = run(Config { filter_bits_per_key: bits, cache_bytes, ..config }).report();
    report.phases.into_iter().find(|phase| phase.name == "operations").unwrap().figures
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
    let some = mixed(missing, 5.0, 0).read_ios_per_get / none.read_ios_per_get;
    assert!((0.07..0.11).contains(&some), "{some}");
    assert!(mixed(found.clone(), 64.0, 200_000).read_ios_per_get < 0.9);
    assert!(mixed(found, 64.0, 200_000).cache_hit_rate > 0.1);
}

#[test]
fn reads_find_every_key_and_touch_only_its_blocks() {
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
            for entries in [1, 10, 10_000] {
                let mut blocks = Vec::new();
                let found = scan(tree, from, entries, 4, |block| blocks.push(block));
                assert_eq!(found, live.min(entries));
                assert!(blocks.len() as u64 * 4 >= found);
                let count = blocks.len();
                blocks.sort();
                blocks.dedup();
                assert_eq!(blocks.len(), count, "a block is asked for once");
            }
            let mut last = None;
            get(tree, from, 4, |block| last = Some(block));
            if newest.contains_key(&from) {
                let (table, block) = last.unwrap();
                let entries = &tree.table(table).unwrap().entries;
                let block = &entries[block as usize * 4..entries.len().min(block as usize * 4 + 4)];
                assert!(block.iter().any(|e| e.key() == from));
            }
        }
    }
}
