//! Mixes that shift, at the small scale and as published.

use super::numbers::Numbers;
use terrane_papers::ecotune::shifts::{self, ALL, ECOTUNE, FIXED, MIXES};
use terrane_papers::fluid::{BLOCKS, RUNS};

#[test]
fn ecotune_keeps_fewer_runs_the_more_is_read() {
    for figure in Numbers::both("ecotune", shifts::figure) {
        let [writes, reads, scans, again] =
            MIXES.map(|(mix, _)| figure.of(&shifts::case("at rest", mix, ECOTUNE), RUNS));
        assert!(scans < reads && reads < writes && scans < again, "{}", figure.scale);
    }
}

#[test]
fn at_rest_ecotune_costs_less_than_any_fixed_design() {
    for figure in Numbers::both("ecotune", shifts::figure) {
        let blocks = |design| figure.of(&shifts::case("at rest", ALL, design), BLOCKS);
        for fixed in FIXED {
            let (found, other) = (blocks(ECOTUNE), blocks(fixed));
            assert!(found < other, "{}: {found}, {fixed} {other}", figure.scale);
        }
    }
}
