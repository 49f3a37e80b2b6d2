//! The figures of the BucketLSM paper at the small scale, and as published: orders, no values.

use super::numbers::Numbers;
use std::sync::OnceLock;
use terrane_papers::bucketlsm::rebalancing::{self, DYNAMIC, SPREAD, STATIC};
use terrane_papers::bucketlsm::workers::{self, WORKLOADS};
use terrane_papers::bucketlsm::{
    Design, PARTS, RATE, STALLS, THREADS, bounds, gets, inputs, reads, scans, staying, stragglers,
    switches, unbound, workloads,
};
use terrane_papers::{Figure, PapersError, Scale, Simulate};

fn both(make: Simulate) -> Vec<Numbers> {
    Numbers::both("bucketlsm", make)
}

fn by_workers() -> &'static [Numbers] {
    static WORKERS: OnceLock<Vec<Numbers>> = OnceLock::new();
    WORKERS.get_or_init(|| both(workers::figure))
}

const SHARED: Design = Design::Subcompaction(PARTS);

#[test]
fn with_16_workers_buckets_and_shared_merges_beat_one_task() {
    for figure in by_workers() {
        for (workload, count) in WORKLOADS.into_iter().flat_map(|name| [(name, 16), (name, 64)]) {
            let of = |design, what| figure.of(&workers::case(workload, count, design), what);
            for design in [SHARED, Design::Buckets(count as u64)] {
                let case = workers::case(workload, count, design);
                assert!(of(design, RATE) > 1.5 * of(Design::Baseline, RATE), "{case}");
                assert!(of(design, STALLS) < of(Design::Baseline, STALLS), "{case}");
            }
        }
    }
}

#[test]
fn with_64_workers_buckets_lead_where_ranges_shift() {
    // In the published report, of five times as many flushes, they are not.
    for figure in by_workers().iter().filter(|figure| figure.scale == "ci") {
        let of = |design, what| figure.of(&workers::case("mixgraph1", 64, design), what);
        assert!(of(Design::Buckets(64), RATE) > of(SHARED, RATE));
        assert!(of(Design::Buckets(64), STALLS) < of(SHARED, STALLS));
    }
}

#[test]
fn with_slower_merges_buckets_lead_shared_merges_and_one_task() {
    fn slower(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
        let slower = bounds::CHANGES.into_iter().filter(|(name, _)| bounds::SLOWER.contains(name));
        bounds::under(&slower.collect::<Vec<_>>(), scale, progress)
    }
    for figure in both(slower) {
        for change in bounds::SLOWER {
            let of = |design, what| figure.of(&bounds::case(change, design), what);
            let order = [Design::Buckets(THREADS as u64), SHARED, Design::Baseline];
            for (first, second) in order.iter().zip(&order[1..]) {
                let case = format!("{}, {change}: {}", figure.scale, first.name());
                assert!(of(*first, RATE) > of(*second, RATE), "{case}");
                assert!(of(*first, STALLS) < of(*second, STALLS), "{case}");
            }
        }
    }
}

#[test]
fn with_16_workers_buckets_lead_where_ranges_stay() {
    let [anywhere, stay, shift] = staying::WORKLOADS;
    for figure in both(staying::figure) {
        for (workload, workers) in [anywhere, stay]
            .into_iter()
            .flat_map(|name| staying::WORKERS.map(|count| (name, count)))
        {
            let of = |design, what| figure.of(&staying::case(workload, workers, design), what);
            let order = staying::designs(workers);
            for (first, second) in order.iter().zip(&order[1..]) {
                let case = format!("{}, {workload}, {workers}: {}", figure.scale, first.name());
                assert!(of(*first, RATE) > of(*second, RATE), "{case}");
                assert!(of(*first, STALLS) < of(*second, STALLS), "{case}");
            }
        }
        // Where they shift, shared merges are ahead: what is lost is lost to following them.
        for workers in staying::WORKERS {
            let of = |design| figure.of(&staying::case(shift, workers, design), RATE);
            let [buckets, shared, task] = staying::designs(workers).map(of);
            assert!(shared > buckets && buckets > task, "{}, {workers}", figure.scale);
        }
    }
}

#[test]
fn one_task_gains_at_most_an_eighth_from_64_workers_over_8() {
    for figure in by_workers() {
        for workload in WORKLOADS {
            let rate = |count| figure.of(&workers::case(workload, count, Design::Baseline), RATE);
            assert!(rate(64) < 1.125 * rate(8), "{workload}: {} {}", rate(8), rate(64));
        }
    }
}

#[test]
fn under_shifting_ranges_timely_splits_beat_static_buckets() {
    for figure in both(rebalancing::figure) {
        let of = |design, what| figure.of(&workloads::case("mixgraph1", design), what);
        let [_, early] = rebalancing::OTHERS;
        assert!(of(early, RATE) > 1.1 * of(STATIC, RATE), "{}", figure.scale);
        assert!(of(early, SPREAD) < of(DYNAMIC, SPREAD), "{}", figure.scale);
    }
}

#[test]
fn under_shifting_ranges_merges_of_buckets_are_more_alike() {
    for figure in both(rebalancing::figure) {
        let of = |design, what| figure.of(&workloads::case("mixgraph1", design), what);
        assert!(of(DYNAMIC, SPREAD) < of(STATIC, SPREAD));
    }
}

#[test]
fn merges_of_level_0_read_more_files_and_bytes_than_deeper_ones() {
    for figure in both(inputs::figure) {
        for what in [inputs::FILES, inputs::GIGABYTES, inputs::SECONDS] {
            let [shallow, deep] = [inputs::SHALLOW, inputs::DEEP].map(|case| figure.of(case, what));
            assert!(shallow > 2.0 * deep, "{what}: {shallow} {deep}");
        }
    }
}

const BUCKETS: Design = Design::Buckets(THREADS as u64);

#[test]
fn gets_meet_fewer_tables_under_buckets_and_win_without_filters() {
    const NAMES: [&str; 2] = ["ycsb-get", "ycsb-get, no filters"];
    const OTHERS: [Design; 2] = [Design::Baseline, SHARED];
    fn chosen(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
        let cases: Vec<_> =
            gets::CASES.into_iter().filter(|(name, ..)| NAMES.contains(name)).collect();
        gets::under(&cases, &[OTHERS[0], OTHERS[1], BUCKETS], scale, progress)
    }
    for figure in both(chosen) {
        for other in OTHERS {
            let over = |name, what| {
                let of = |design| figure.of(&reads::case(name, design), what);
                of(BUCKETS) / of(other)
            };
            let case = format!("{}, {}", figure.scale, other.name());
            let [filtered, bare] = NAMES;
            assert!(over(filtered, gets::TABLES) < 1.0 && over(bare, gets::TABLES) < 1.0, "{case}");
            assert!(over(filtered, workloads::GET) > 1.0, "{case}");
            assert!(over(bare, workloads::GET) < 0.8 && over(bare, RATE) > 1.0, "{case}");
        }
    }
}

#[test]
fn scans_are_slowest_where_they_fetch_blocks_of_most_runs() {
    const NAMES: [&str; 4] =
        ["ycsb-scan", "ycsb-scan, 8 clients", "mixgraph2", "mixgraph2, lazy scans"];
    fn chosen(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
        let cases: Vec<_> =
            scans::CASES.into_iter().filter(|(name, ..)| NAMES.contains(name)).collect();
        scans::under(&cases, &[Design::Baseline, BUCKETS], scale, progress)
    }
    for figure in both(chosen) {
        let over = |name, what| {
            let of = |design| figure.of(&reads::case(name, design), what);
            of(Design::Baseline) / of(BUCKETS)
        };
        let [stalled, free, few_writes, lazy] = NAMES;
        assert!(over(stalled, scans::TABLES) > 1.5, "{}", figure.scale);
        assert!(over(stalled, reads::BLOCK) < 1.0, "{}", figure.scale);
        assert!(over(stalled, workloads::SCAN) > 1.2, "{}", figure.scale);
        assert!(over(free, workloads::SCAN) < 1.0, "{}", figure.scale);
        assert!(over(few_writes, workloads::SCAN) < 0.7, "{}", figure.scale);
        assert!((0.97..1.03).contains(&over(lazy, workloads::SCAN)), "{}", figure.scale);
    }
}

/// The prediction was 1.5 times the throughput and half of the stalls. It fails for the code under mixgraph1 alone,
/// as the report states: 1.42 and 0.53.
#[test]
fn buckets_lead_one_task_but_by_less_as_in_the_code() {
    for figure in both(switches::figure) {
        for (workload, ..) in switches::WORKLOADS {
            for switch in [switches::SAME, switches::ADJUSTED, switches::CODE] {
                let of = |what| figure.of(&switches::case(workload, switch), what);
                let case = format!("{}, {workload}, {switch}", figure.scale);
                let (over, stalls) = match (workload, switch) {
                    ("mixgraph1", switches::CODE) => (1.3, 0.7),
                    _ => (1.5, 0.5),
                };
                assert!(of(switches::OVER_BASELINE) > over, "{case}");
                assert!(of(switches::STALLS) < stalls, "{case}");
            }
        }
    }
}

#[test]
fn with_slower_merges_buckets_gain_more_from_degree() {
    for figure in both(stragglers::figure) {
        let rate = |design| figure.of(&stragglers::case(stragglers::MORE, design), RATE);
        let gain = |of: fn(u64) -> Design| rate(of(64)) / rate(of(8));
        assert!(gain(Design::Buckets) > 2.0, "{}", figure.scale);
        assert!(gain(Design::Buckets) > gain(Design::Subcompaction), "{}", figure.scale);
    }
}

#[test]
fn with_parts_at_files_shared_merges_are_flat_and_buckets_lead() {
    if let Some(figure) = Numbers::published("bucketlsm", "stragglers") {
        let rate = |design| figure.of(&stragglers::case(stragglers::AT_FILES, design), RATE);
        let shared = |parts| rate(Design::Subcompaction(parts));
        assert!(shared(32) < 1.05 * shared(16) && shared(80) <= shared(64));
        for degree in [8, 16, 32, 64] {
            assert!(rate(Design::Buckets(degree)) > 1.2 * shared(degree), "{degree}");
        }
        assert!(rate(Design::Buckets(64)) > 2.0 * shared(64));
        assert!(rate(Design::Buckets(80)) < 1.01 * rate(Design::Buckets(64)));
    }
}

#[test]
fn with_clients_that_do_not_bind_buckets_lead_shared_merges() {
    if let Some(figure) = Numbers::published("bucketlsm", "unbound") {
        let over = |workload, speed, change| {
            figure.of(&unbound::case(workload, speed, change), switches::OVER_SHARED)
        };
        for workload in ["mixgraph1", "fillrandom"] {
            let third = |change| over(workload, unbound::THIRD, change);
            assert!(third(unbound::CLIENTS_ALONE) > 1.03, "{workload}");
            assert!(third(unbound::AT_FILES) > 1.1, "{workload}");
            assert!(third(unbound::BOTH) > 1.4, "{workload}");
        }
        for (speed, _) in unbound::SPEEDS {
            assert!(over("mixgraph1", speed, unbound::BOTH) > 1.1, "{speed}");
        }
    }
}
