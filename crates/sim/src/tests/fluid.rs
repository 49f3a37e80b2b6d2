//! Fluid trees: what merges write and how many runs there are, against the closed forms that tune them.

use super::*;
use terrane_policy::fluid::Fluid;
use terrane_policy::fluid::model::{Costs, Mix as Shares, Store, Tree, tune};

/// B, a little below a buffer, so that one with overwritten entries still counts as one.
const BASE: u64 = 6250;

fn tree(size_ratios: &[u64], runs: &[u64], largest_runs: u64) -> Tree {
    Tree { size_ratios: size_ratios.to_vec(), runs: runs.to_vec(), largest_runs }
}

/// Overwrites `buffers` of data uniformly, and waits for merges after each buffer.
fn measured(tree: Tree, buffers: u64) -> Costs {
    let fluid = Fluid { level_base_bytes: BASE, target_file_bytes: 1 << 20, ..Fluid::from(tree) };
    let clients = Clients { mix: Mix { update: 1.0, ..Mix::default() }, ..Clients::default() };
    let warm = Phase {
        name: "warm-up".to_owned(),
        operations: 64 * buffers,
        clients: vec![clients.clone()],
        ..Phase::default()
    };
    let measured =
        Phase { operations: 64 * 4 * buffers, clients: vec![clients], ..Phase::default() };
    let workload =
        Workload { load: 64 * buffers, phases: vec![warm, measured], ..Workload::default() };
    let report = run(small(fluid.into(), workload.at_rate(1e-3))).report();
    let found = phase(&report, "operations");
    assert_eq!(found.refused_plans, 0);
    let writes = found.merge_written_bytes as f64 / found.user_bytes as f64;
    Costs { writes, runs: found.runs_mean }
}

/// The greatest share by which one differs from the other.
fn difference(found: Costs, expected: Costs) -> f64 {
    let of = |a: f64, b: f64| (a / b - 1.0).abs();
    of(found.writes, expected.writes).max(of(found.runs, expected.runs))
}

#[test]
fn writes_and_runs_are_those_of_the_closed_forms() {
    for (name, tree, buffers) in [
        ("leveling", tree(&[4, 4, 10], &[1], 1), 140),
        ("lazy leveling", tree(&[4], &[4], 1), 50),
        ("lazy leveling, larger", tree(&[4], &[4], 1), 200),
        ("lazy leveling, T = 8", tree(&[8], &[8], 1), 400),
        ("two runs a level", tree(&[8, 8, 6], &[2], 1), 320),
        ("four runs a level", tree(&[8, 8, 6], &[4], 1), 320),
        ("four runs of the largest", tree(&[6, 12], &[3], 4), 66),
        ("bush", Tree::bush(2, 400), 380),
    ] {
        let (found, expected) = (measured(tree.clone(), buffers), tree.costs(buffers as f64));
        let difference = difference(found, expected);
        println!("{name}: {found:?} {expected:?} {difference:.3}");
        assert!(difference < 0.12, "{name}: found {found:?}, expected {expected:?}");
    }
}

#[test]
fn the_tuned_tree_costs_least_in_simulations_too() {
    let mix = |reads, missing_reads, scans, writes| Shares { reads, missing_reads, scans, writes };
    let buffers = 300;
    let store =
        Store { buffers: buffers as f64, entries_of_a_page: 4.0, filter_bits: 10.0, page: 1.0 };
    let fixed = [
        ("leveling", tree(&[4], &[1], 1)),
        ("leveling, T = 10", tree(&[10], &[1], 1)),
        ("lazy leveling", Tree::lazy_leveling(4)),
        ("bush", Tree::bush(2, buffers)),
    ];
    let fixed = fixed.map(|(name, tree)| (name, measured(tree, buffers)));
    for mix in [
        mix(0.0, 0.0, 0.01, 0.99),
        mix(0.3, 0.2, 0.05, 0.45),
        mix(0.0, 0.0, 0.5, 0.5),
        mix(0.0, 0.9, 0.05, 0.05),
    ] {
        let tuned = measured(tune(&mix, &store), buffers).blocks(&mix, &store);
        for (name, costs) in &fixed {
            let cost = costs.blocks(&mix, &store);
            println!("{mix:?}: {tuned:.3} {name} {cost:.3}");
            assert!(tuned <= 1.02 * cost, "{mix:?}: {tuned}, {name} {cost}");
        }
    }
}
