//! Fluid trees: their designs, what they refuse, and the model that tunes them.

use super::*;
use crate::policies::fluid::model::{Costs, Mix, Store, Tree, tune};
use crate::policies::fluid::{Design, Fluid};

fn tree(size_ratios: &[u64], runs: &[u64], largest_runs: u64) -> Tree {
    Tree { size_ratios: size_ratios.to_vec(), runs: runs.to_vec(), largest_runs }
}

const STORE: Store =
    Store { buffers: 1000.0, entries_of_a_page: 4.0, filter_bits: 10.0, page: 1.0 };

const WRITES: Mix = Mix { reads: 0.0, missing_reads: 0.0, scans: 0.0, writes: 1.0 };

#[test]
fn a_bush_squares_its_ratios_from_the_largest_level_up() {
    let bush = |ratio, buffers| Tree::bush(ratio, buffers).size_ratios;
    assert_eq!(bush(2, 2), [2]);
    assert_eq!(bush(2, 4), [2, 2]);
    assert_eq!(bush(2, 16), [4, 2, 2]);
    assert_eq!(bush(2, 65_536), [256, 16, 4, 2, 2]);
    // The smallest level is cut to the data.
    assert_eq!(bush(2, 100), [7, 4, 2, 2]);
    assert_eq!(bush(3, 1000), [13, 9, 3, 3]);
    let Tree { size_ratios, runs, largest_runs } = Tree::bush(3, 1000);
    assert_eq!((runs, largest_runs), (size_ratios, 1));
}

#[test]
fn costs_are_those_of_the_published_designs() {
    let close = |found: Costs, writes: f64, runs: f64| {
        assert!((found.writes - writes).abs() < 1e-9, "{found:?}, {writes}");
        assert!((found.runs - runs).abs() < 1e-9, "{found:?}, {runs}");
    };
    // Leveling, T = 4: 2.5 writes a level, less the arrival that is moved; 48 of 64 buffers are held.
    let leveling = 2.5 - 0.25;
    close(tree(&[4], &[1], 1).costs(48.0), 2.0 * leveling + 3.0, 2.0 * 0.75 + 1.0);
    // Tiering writes once a level; nothing of level 1, which takes single runs.
    close(tree(&[4], &[4], 1).costs(48.0), 1.0 + 3.0, 2.0 * 1.5 + 1.0);
    // A largest level of four runs: three gather beside the one that holds the data.
    close(tree(&[4], &[4], 4).costs(48.0), 1.0 + 1.0 + 1.0, 2.0 * 1.5 + 2.0);
}

/// Trees of up to four levels whose capacity is about that of the store.
fn others(buffers: f64) -> Vec<Tree> {
    let mut all = Vec::new();
    let numbers = [1, 2, 3, 4, 6, 8, 12];
    for largest_runs in [1, 2, 4] {
        for (first, k1) in numbers.iter().flat_map(|r| numbers.iter().map(move |k| (r * k, *k))) {
            for (second, k2) in
                numbers.iter().flat_map(|r| numbers.iter().map(move |k| (r * k, *k)))
            {
                for last in
                    [first * second, first * second * second].map(|held| buffers / held as f64)
                {
                    let last = (last + 0.5).ceil() as u64;
                    if first > 1 && second > 1 && (2..=256).contains(&last) {
                        let third = buffers as u64 / (first * second * last) > 1;
                        let middle =
                            if third { vec![first, second, second] } else { vec![first, second] };
                        let runs = if third { vec![k1, k2, k2, 1] } else { vec![k1, k2, 1] };
                        let ratios = [&middle[..], &[last]].concat();
                        all.push(tree(&ratios, &runs, largest_runs));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn the_tuned_tree_costs_least_of_many() {
    let mixes = [
        WRITES,
        Mix { reads: 0.5, writes: 0.5, ..WRITES },
        Mix { scans: 0.1, writes: 0.9, ..WRITES },
        Mix { scans: 0.5, writes: 0.5, ..WRITES },
        Mix { missing_reads: 0.9, writes: 0.1, ..WRITES },
        Mix { reads: 0.3, missing_reads: 0.2, scans: 0.02, writes: 0.48 },
    ];
    for mix in mixes {
        for buffers in [3.0, 40.0, 1000.0, 20_000.0] {
            let store = Store { buffers, ..STORE };
            let tuned = tune(&mix, &store);
            let cost = |tree: &Tree| tree.costs(buffers).blocks(&mix, &store);
            let all = others(buffers);
            assert!(buffers < 40.0 || !all.is_empty());
            let published = [Tree::lazy_leveling(4), Tree::lazy_leveling(10), tree(&[4], &[1], 1)];
            let bush = Tree::bush(2, buffers as u64);
            for other in all.iter().chain(&published).chain([&bush]) {
                // Ratios of unlike levels may be a little better where equal ones do not fit the data.
                assert!(cost(&tuned) <= 1.05 * cost(other), "{mix:?}: {tuned:?}, {other:?}");
            }
        }
    }
}

#[test]
fn more_scans_make_fewer_runs_and_more_writing() {
    let mut before = None::<Costs>;
    for scans in [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0] {
        let costs = tune(&Mix { scans, ..WRITES }, &STORE).costs(STORE.buffers);
        if let Some(before) = before {
            assert!(costs.runs <= before.runs && costs.writes >= before.writes, "{scans}");
        }
        before = Some(costs);
    }
    // A ratio is 256 at most.
    let store = Store { buffers: 200.0, ..STORE };
    assert_eq!(tune(&Mix { scans: 1e6, ..WRITES }, &store), tree(&[201], &[1], 1));
}

#[test]
fn each_design_is_built_from_its_options() {
    let tree_of = |options: &str| {
        let text = format!(r#"{{"policy": "fluid", "level-base-bytes": 1024, {options}}}"#);
        let PolicyOptions::Fluid(fluid) = text.parse().unwrap() else { panic!("{text}") };
        assert!(PolicyOptions::from(fluid.clone()).build().is_ok(), "{text}");
        fluid.tree()
    };
    assert_eq!(tree_of(r#""size-ratios": "16 4", "runs": "16 2""#), tree(&[16, 4], &[16, 2], 1));
    assert_eq!(tree_of(r#""design": "lazy-leveling", "design-ratio": 7"#), tree(&[7], &[7], 1));
    let bush = tree_of(r#""design": "bush", "design-ratio": 2, "data-bytes": 102400"#);
    assert_eq!(bush, Tree::bush(2, 100));
    let tuned =
        r#""design": "tuned", "data-bytes": 1024000, "scans": 10, "writes": 90, "reads": 0"#;
    let mix = Mix { scans: 10.0, writes: 90.0, ..WRITES };
    assert_eq!(tree_of(tuned), tune(&mix, &STORE));
    let explicit = Fluid::from(tune(&mix, &STORE));
    assert_eq!((explicit.design, explicit.tree()), (Design::Given, tune(&mix, &STORE)));
}

#[test]
fn tuned_trees_are_accepted_as_given_ones() {
    for scans in [0.0, 0.02, 0.2, 2.0] {
        for buffers in [1.0, 2.0, 3.0, 10.0, 50.0, 300.0, 1e4, 1e6, 1e9] {
            let store = Store { buffers, ..STORE };
            let tuned = tune(&Mix { scans, ..WRITES }, &store);
            assert!(PolicyOptions::from(Fluid::from(tuned.clone())).build().is_ok(), "{tuned:?}");
        }
    }
}

#[test]
fn lists_and_designs_that_do_not_fit_are_refused_by_name() {
    let parsed = |text: &str| text.parse::<PolicyOptions>().unwrap_err().to_string();
    let list = "expected 1 to 16 whole numbers from 2 to 256, with spaces between";
    for wrong in ["", "4 1", "4,4", "4  4", "257", "x", "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2"] {
        let refused = parsed(&format!(r#"{{"policy": "fluid", "size-ratios": "{wrong}"}}"#));
        let expected = format!("fluid: `size-ratios` is \"{wrong}\", {list}");
        let commas = wrong.contains(',');
        assert!(commas && refused.contains("no JSON object") || refused == expected, "{refused}");
    }
    let built = |options: Fluid| PolicyOptions::from(options).build().err().unwrap().to_string();
    let empty = Fluid { size_ratios: Vec::new(), ..Fluid::default() };
    assert_eq!(built(empty), format!("fluid: `size-ratios` is , {list}"));
    let crowded = Fluid { size_ratios: vec![8, 4], runs: vec![5], ..Fluid::default() };
    let expected = "fluid: `runs` is 5, expected at most `size-ratios` of each level: 8 4";
    assert_eq!(built(crowded), expected);
    let unknown = Fluid { design: Design::Bush, level_base_bytes: 4096, ..Fluid::default() };
    let expected =
        "fluid: `data-bytes` is 0, expected `level-base-bytes` at least for this `design`: 4096";
    assert_eq!(built(unknown), expected);
}

#[test]
fn stored_lists_that_do_not_fit_become_the_default() {
    let (options, problems) =
        PolicyOptions::stored(r#"{"policy": "fluid", "size-ratios": "8 2", "runs": "3"}"#);
    let expected = Fluid { size_ratios: vec![8, 2], ..Fluid::default() };
    assert_eq!((options, problems.len()), (expected.into(), 1), "{problems:?}");
}
