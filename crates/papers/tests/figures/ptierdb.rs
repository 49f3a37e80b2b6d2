//! The figures of PTierDB at the small scale, and as published: orders, no values.

use super::number;
use super::numbers::Numbers;
use terrane_papers::ptierdb::{Design, hot, items, reads, seeks, slower, sweeps, ycsb};
use terrane_papers::{Scale, Simulate};

fn both(make: Simulate) -> Vec<Numbers> {
    Numbers::both("ptierdb", make)
}

#[test]
fn write_amplification_and_size_are_in_the_papers_order() {
    use Design::{LazyLeveled, Leveled, PTier, PebblesDb, Silk, Tiered, WiscKey};
    for figure in both(ycsb::figure) {
        let of = |design: Design, measure| figure.of(design.name(), measure);
        let ascends = |order: &[Design], measure| {
            for (less, more) in order.iter().zip(&order[1..]) {
                let [less, more] = [less, more].map(|design| of(*design, measure));
                assert!(less < more, "{}: {measure} {less} {more}", figure.scale);
            }
        };
        ascends(&[Tiered, PebblesDb, LazyLeveled, Silk, Leveled], ycsb::WRITES);
        ascends(&[PebblesDb, PTier, Silk], ycsb::WRITES);
        // In the published report they are alike.
        if figure.scale == "ci" {
            ascends(&[LazyLeveled, PTier], ycsb::WRITES);
        }
        ascends(&[PTier, Silk, PebblesDb, Tiered, WiscKey], ycsb::SIZE);
        assert!((0.8..=1.2).contains(&of(PTier, ycsb::SIZE)));
    }
}

#[test]
fn seeks_multiply_writes_and_put_leveled_behind_ptier() {
    for figure in both(seeks::figure) {
        let writes = |name, design| figure.of(&ycsb::case(name, design), ycsb::WRITES);
        for name in [seeks::SEEKS, seeks::BOTH] {
            let [seeking, before] = [name, seeks::SAME].map(|name| writes(name, Design::Leveled));
            assert!(seeking > 2.0 * before, "{}, {name}: {seeking} {before}", figure.scale);
            assert!(seeking > writes(name, Design::PTier), "{}, {name}", figure.scale);
        }
        // Updates wait for the merges that reads cause.
        for workload in ["ycsb-a", "ycsb-f"] {
            let over =
                figure.of(&seeks::case_of_workload(seeks::BOTH, workload), seeks::LATENCY_RATIO);
            assert!(over > 1.0, "{}, {workload}: {over}", figure.scale);
        }
    }
}

#[test]
fn with_slow_merges_leveled_is_behind_ptier_in_all_workloads() {
    if let Some(figure) = Numbers::published("ptierdb", "slower-merges") {
        for workload in seeks::WORKLOADS {
            let over = |(name, _): (&str, f64)| {
                figure.of(&seeks::case_of_workload(name, workload), seeks::LATENCY_RATIO)
            };
            let [same, half, quarter, eighth] = slower::SPEEDS.map(over);
            assert!(quarter > 1.2 && eighth > 1.2, "{workload}: {quarter} {eighth}");
            assert!(same.min(half) >= 0.99, "{workload}: {same} {half}");
        }
    }
}

#[test]
fn ptier_reads_faster_than_leveled_only_beside_its_merges() {
    for figure in both(reads::figure) {
        let pair = |item, change, measure| {
            let of = |design| figure.of(&reads::case_of_change(item, change, design), measure);
            [of(Design::Leveled), of(Design::PTier)]
        };
        for item in items::ITEMS {
            let case = format!("{}: {item} bytes", figure.scale);
            for measure in [reads::TABLES, reads::BLOCKS] {
                let [leveled, ptier] = pair(item, reads::UNCHANGED, measure);
                assert!(leveled < ptier, "{case}: {measure} {leveled} {ptier}");
            }
            let [leveled, ptier] = pair(item, reads::EARLY_AND_SLOW, items::READ);
            let [merges, _] = pair(item, reads::EARLY_AND_SLOW, reads::MERGES);
            if reads::FIRST.contains(&item) {
                assert!(ptier > 1.1 * leveled && merges > 0.9, "{case}: {leveled} {ptier}");
                let [leveled, ptier] = pair(item, reads::WAITED, items::READ);
                assert!(leveled > ptier, "{case}, after a wait: {leveled} {ptier}");
            } else {
                assert!(ptier < leveled && merges < 0.2, "{case}: {leveled} {ptier}");
            }
        }
    }
}

#[test]
fn reads_bring_the_tables_over_a_hot_key_down() {
    for figure in both(hot::figure) {
        let [counted, never] = hot::CASES;
        let of = |name, tenth, measure| figure.of(&hot::case(name, tenth), measure);
        let last = hot::PHASES - 1;
        assert!(of(counted, last, hot::TABLES) < of(counted, 0, hot::TABLES));
        assert!(of(counted, last, hot::TABLES) < of(never, last, hot::TABLES));
        for tenth in 0..hot::PHASES {
            assert_eq!(of(never, tenth, hot::MERGED), 0.0);
        }
    }
}

#[test]
fn keys_of_one_prefix_are_rewritten_less_with_prefix_splits() {
    for figure in both(sweeps::uneven) {
        let [with, without] = sweeps::SPLITS.map(|name| figure.of(name, sweeps::WRITES));
        assert!(with < without, "{}: {with} {without}", figure.scale);
    }
}

#[test]
fn a_lower_read_limit_writes_more_and_reads_less() {
    let figure = sweeps::read_limit(Scale::Ci, &mut |_| ()).unwrap();
    let limits = sweeps::limits(Scale::Ci);
    let of = |limit: u64, measure| number(&figure, &sweeps::limit_case(limit), measure);
    for (low, high) in limits.iter().zip(&limits[1..]) {
        assert!(of(*low, sweeps::WRITES) > of(*high, sweeps::WRITES), "{low} {high}");
        assert!(of(*low, sweeps::TABLES) < of(*high, sweeps::TABLES), "{low} {high}");
    }
}
