//! The figures of the Vertiorizon paper at the small scale: orders, no values.

use super::number;
use std::sync::OnceLock;
use terrane_papers::vertiorizon::designs::*;
use terrane_papers::vertiorizon::experiments::{self, ADMITS, SAME, SLOW, TIERED};
use terrane_papers::vertiorizon::mixes::{
    self, BALANCED, MIXES, RANGES, READ_HEAVY, UNIFORM, WRITE_HEAVY,
};
use terrane_papers::vertiorizon::{SPACE, STALLED, THROUGHPUT, WORST, WRITES};
use terrane_papers::{Figure, Scale};

/// Figure 7.
fn mixes() -> &'static Figure {
    static FIGURE: OnceLock<Figure> = OnceLock::new();
    FIGURE.get_or_init(|| mixes::figure(Scale::Ci, &mut |_| ()).unwrap())
}

fn of(mix: &str, design: &str, what: &str) -> f64 {
    number(mixes(), &mixes::case(UNIFORM, mix, design), what)
}

/// Figure 7 with one thing changed.
fn changed(change: &str, mix: &str, design: &str, what: &str) -> f64 {
    static FIGURE: OnceLock<Figure> = OnceLock::new();
    let figure = FIGURE.get_or_init(|| experiments::figure(Scale::Ci, &mut |_| ()).unwrap());
    number(figure, &experiments::case(change, mix, design), what)
}

#[test]
fn in_the_slowest_window_partial_leveling_is_above_full_leveling_in_every_mix() {
    for mix in MIXES {
        let worst = |design| of(mix, design, WORST);
        assert!(worst(VERTICAL_LEVELING_PARTIAL) > worst(VERTICAL_LEVELING_FULL), "{mix}");
    }
    // By far where there are many updates: full merges hold them up.
    let stalled = |design| of(BALANCED, design, STALLED);
    assert!(stalled(VERTICAL_LEVELING_FULL) > 0.05 && stalled(VERTICAL_LEVELING_PARTIAL) < 0.01);
    for mix in [BALANCED, WRITE_HEAVY] {
        let worst = |design| of(mix, design, WORST);
        assert!(worst(VERTICAL_LEVELING_PARTIAL) > 2.0 * worst(VERTICAL_LEVELING_FULL), "{mix}");
    }
}

#[test]
fn in_the_slowest_window_partial_tiering_is_above_full_tiering_where_merges_hold_up_updates() {
    let worst = |mix, design| of(mix, design, WORST);
    let (partial, full) = (VERTICAL_TIERING_PARTIAL, VERTICAL_TIERING_FULL);
    for mix in [BALANCED, WRITE_HEAVY] {
        assert!(worst(mix, partial) > 1.2 * worst(mix, full), "{mix}");
    }
    // The paper's exception, and one of ours: nothing waits for merges, and partial ones leave more runs.
    for mix in [READ_HEAVY, RANGES] {
        assert!(worst(mix, partial) < worst(mix, full), "{mix}");
        assert!(of(mix, full, STALLED) < 0.01, "{mix}");
    }
    // Slower merges hold updates up between ranges, too.
    let slow = |design| changed(SLOW, RANGES, design, WORST);
    assert!(slow(partial) > 1.2 * slow(full));
    assert!(changed(SLOW, RANGES, full, STALLED) > 0.01);
}

#[test]
fn horizontal_growth_is_faster_than_vertical_growth_with_full_merges_policy_by_policy() {
    let mean = |mix, design| of(mix, design, THROUGHPUT);
    for mix in [READ_HEAVY, BALANCED, RANGES] {
        let (horizontal, vertical) = (HORIZONTAL_LEVELING, VERTICAL_LEVELING_FULL);
        assert!(mean(mix, horizontal) > mean(mix, vertical), "leveling, {mix}");
    }
    for mix in [READ_HEAVY, BALANCED, WRITE_HEAVY] {
        let (horizontal, vertical) = (HORIZONTAL_TIERING, VERTICAL_TIERING_FULL);
        assert!(mean(mix, horizontal) > mean(mix, vertical), "tiering, {mix}");
    }
    // Under updates alone vertical leveling merges several buffers at once: so does horizontal leveling
    // that admits several.
    let leveled = |change, design| changed(change, WRITE_HEAVY, design, THROUGHPUT);
    let vertical = leveled(SAME, VERTICAL_LEVELING_FULL);
    assert!(leveled(SAME, HORIZONTAL_LEVELING) < vertical);
    assert!(leveled(ADMITS, HORIZONTAL_LEVELING) > 1.1 * vertical);
    // With ranges there is next to no difference under tiering, until merges bind.
    let tiered = |change, design| changed(change, RANGES, design, THROUGHPUT);
    let over = |change| tiered(change, HORIZONTAL_TIERING) / tiered(change, VERTICAL_TIERING_FULL);
    assert!((over(SAME) - 1.0).abs() < 0.03 && over(SLOW) > over(SAME));
}

#[test]
fn vertiorizon_needs_far_less_space_than_horizontal_leveling_and_full_merges() {
    let space = |design| of(BALANCED, design, SPACE);
    for design in [HORIZONTAL_LEVELING, VERTICAL_LEVELING_FULL, HORIZONTAL_TIERING] {
        assert!(space(VERTIORIZON) < 0.5 * space(design), "{design}");
    }
    assert!(space(HORIZONTAL_LEVELING) > 3.0 * space(VERTIORIZON));
}

#[test]
fn vertiorizon_that_tunes_itself_is_near_the_better_of_its_fixed_designs_but_where_all_is_tiered() {
    for mix in [READ_HEAVY, BALANCED, RANGES] {
        let mean = |design| of(mix, design, THROUGHPUT);
        let best = mean(VERTIORIZON_LEVELING).max(mean(VERTIORIZON_TIERING));
        assert!(mean(VERTIORIZON) > 0.9 * best, "{mix}");
    }
    let written = |design| of(WRITE_HEAVY, design, WRITES);
    assert!(written(VERTIORIZON) < 0.9 * written(VERTIORIZON_LEVELING));
    let mean = |change| changed(change, WRITE_HEAVY, VERTIORIZON, THROUGHPUT);
    assert!(mean(SAME) < of(WRITE_HEAVY, VERTIORIZON_TIERING, THROUGHPUT));
    assert!(mean(TIERED) > 1.2 * mean(SAME));
}
