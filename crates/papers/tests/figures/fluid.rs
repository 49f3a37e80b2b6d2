//! Fluid trees at the small scale, and as published.

use super::numbers::Numbers;
use serde_json::Value;
use std::path::Path;
use terrane_papers::fluid::mixes::{self, MIXES, TUNED, TUNED_BY_COST};
use terrane_papers::fluid::{
    BLOCKS, BUSH, LAZY_4, LAZY_10, LEVELING_4, LEVELING_10, THROUGHPUT, TIERING, forms,
};
use terrane_papers::{Row, Scale, on_all_cores};

const FIXED: [&str; 6] = [LEVELING_4, LEVELING_10, LAZY_4, LAZY_10, TIERING, BUSH];

/// Ours over the equation's.
fn ratio(row: &Row) -> f64 {
    row.ratio.unwrap()
}

#[test]
fn simulated_writes_and_runs_are_near_the_closed_forms() {
    let figure = on_all_cores(forms::figure, Scale::Ci, &|_| ()).unwrap();
    assert!(figure.rows.len() >= 2 * (2 * forms::COUNTS.len() + FIXED.len() + MIXES.len()));
    for row in &figure.rows {
        let near = (0.85..=1.15).contains(&ratio(row));
        assert!(near, "{}: {} {} of {:?}", row.case, row.measure, row.ours, row.paper);
    }
}

#[test]
fn published_writes_and_runs_are_near_the_closed_forms() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers/fluid/report.json");
    let Ok(report) = std::fs::read_to_string(docs) else { return };
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["figures"][0]["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let ratio = row["ratio"].as_f64().unwrap();
        assert!((0.85..=1.15).contains(&ratio), "{row}");
    }
}

#[test]
fn the_tuned_tree_costs_least_under_each_mix() {
    for figure in Numbers::both("fluid", mixes::figure) {
        for (mix, _) in MIXES {
            let at_rest = |design| figure.of(&mixes::case("at rest", mix, design), BLOCKS);
            for fixed in FIXED {
                let (tuned, other) = (at_rest(TUNED), at_rest(fixed));
                assert!(tuned <= 1.03 * other, "{}, {mix}: {tuned}, {fixed} {other}", figure.scale);
            }
        }
    }
}

#[test]
fn under_load_each_fixed_tree_is_worse_somewhere() {
    for figure in Numbers::both("fluid", mixes::figure) {
        // The least share of the fastest tree's throughput, over all mixes.
        let least = |design| {
            let share = |(mix, _)| {
                let of = |design| figure.of(&mixes::case("under load", mix, design), THROUGHPUT);
                of(design) / FIXED.map(of).into_iter().fold(of(design), f64::max)
            };
            MIXES.map(share).into_iter().fold(1.0, f64::min)
        };
        let tuned = least(TUNED_BY_COST);
        for fixed in FIXED {
            assert!(least(fixed) < tuned, "{}: {tuned}, {fixed} {}", figure.scale, least(fixed));
        }
    }
}
