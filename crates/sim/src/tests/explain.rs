//! Read paths against the entries themselves, and against what reads do.

use super::*;
use crate::entry::Entry;
use crate::reads::get;

/// A store in the midst of updates and deletes, with filters that often pass falsely.
fn midway(policy: PolicyOptions) -> Simulation {
    let clients =
        Clients { mix: Mix { update: 0.7, delete: 0.3, ..Mix::default() }, ..Clients::default() };
    let config =
        Config { filter_bits_per_key: 2.0, ..small(policy, Workload::then(2000, 3000, clients)) };
    let mut simulation = Simulation::new(config).unwrap();
    simulation.advance(4321).unwrap();
    simulation
}

/// All versions of all keys.
fn entries(simulation: &Simulation) -> Vec<Entry> {
    let memory = &simulation.memory;
    let tables = simulation.tree.shape().tables().map(|(_, _, table)| table.id);
    let tables = tables.flat_map(|id| simulation.tree.table(id).unwrap().entries.to_vec());
    let memtables = memory.sealed.iter().chain([&memory.active]);
    tables.chain(memtables.flat_map(|m| m.entries.clone())).collect()
}

#[test]
fn a_read_path_ends_at_the_newest_version() {
    let (mut tombstones, mut values, mut wrong) = (0, 0, 0);
    for policy in all_small() {
        let simulation = midway(policy);
        let entries = entries(&simulation);
        for key in entries.iter().step_by(29).map(|e| e.key()).chain([0, 1 << 63, u64::MAX]) {
            let newest = entries.iter().filter(|e| e.key() == key).max_by_key(|e| e.seq());
            let path = simulation.explain(key);
            match (path.steps.last().unwrap(), newest) {
                (ReadStep::Value { sequence, .. }, Some(newest)) => {
                    values += 1;
                    assert!(!newest.is_delete());
                    assert_eq!(*sequence, newest.seq());
                }
                (ReadStep::Tombstone { sequence }, Some(newest)) => {
                    tombstones += 1;
                    assert!(newest.is_delete());
                    assert_eq!(*sequence, newest.seq());
                }
                (ReadStep::Absent { .. } | ReadStep::Run { .. }, None) => {}
                other => panic!("{:?}: {:?}", other.0, newest.map(|e| e.seq())),
            }
            wrong += path
                .steps
                .iter()
                .filter(|s| **s == ReadStep::Absent { false_positive: true })
                .count();
        }
    }
    assert!(tombstones > 50 && values > 50 && wrong > 50, "{tombstones} {values} {wrong}");
}

#[test]
fn a_read_path_has_the_blocks_that_a_read_reads() {
    let mut blocks = 0;
    for policy in all_small() {
        let simulation = midway(policy);
        for key in entries(&simulation).iter().step_by(31).map(|e| e.key()) {
            if simulation
                .memory
                .sealed
                .iter()
                .chain([&simulation.memory.active])
                .any(|m| m.entries.iter().any(|e| e.key() == key))
            {
                continue;
            }
            let mut read = Vec::new();
            get(&simulation.tree, key, 4, |probe| read.extend(probe.block.map(|b| b.1 * 400)));
            let path = simulation.explain(key);
            let explained = path.steps.iter().filter_map(|step| match step {
                ReadStep::Block { offset, origin, .. } => Some((*offset, *origin)),
                _ => None,
            });
            assert_eq!(explained.clone().map(|(offset, _)| offset).collect::<Vec<_>>(), read);
            // There is no cache.
            assert!(explained.clone().all(|(_, origin)| origin == "vfs"));
            blocks += read.len();
        }
    }
    assert!(blocks > 100, "{blocks}");
}

#[test]
fn a_key_is_found_from_any_place_before_it() {
    let simulation = midway(policy(r#"{"policy": "tiered"}"#));
    let tables = simulation.tree.shape().tables().map(|(_, _, table)| table.id);
    let mut keys: Vec<u64> = tables
        .flat_map(|id| {
            simulation.tree.table(id).unwrap().entries.iter().map(|e| e.key()).collect::<Vec<_>>()
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for pair in keys.windows(2).step_by(17) {
        assert_eq!(simulation.key_from(pair[0]), Some(pair[0]));
        assert_eq!(simulation.key_from(pair[0] + 1), Some(pair[1]));
    }
    assert_eq!(simulation.key_from(0), keys.first().copied());
    assert_eq!(simulation.key_from(keys.last().unwrap() + 1), None);
}
