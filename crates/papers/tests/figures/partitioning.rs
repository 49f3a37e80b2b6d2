//! The figures of coordinated partitioning at the small scale: orders, no values.

use super::number;
use super::numbers::Numbers;
use terrane_papers::Scale;
use terrane_papers::partitioning::{GLOBAL, GLOBAL_CUT, LEVELED, LOCAL, NONE, SIZE};
use terrane_papers::partitioning::{device, loads, order, switches, tables, workers};

#[test]
fn merges_of_random_keys_part_by_global_range_and_leveled_reads() {
    for figure in Numbers::both("partitioning", loads::random) {
        let of = |design: super::Design, measure| figure.of(design.name, measure);
        assert!(of(SIZE, loads::GROUPS) < of(GLOBAL, loads::GROUPS));
        assert!(of(GLOBAL, loads::THROUGHPUT) > of(SIZE, loads::THROUGHPUT));
        assert!(of(GLOBAL, loads::THROUGHPUT) > of(NONE, loads::THROUGHPUT));
        for design in [LOCAL, GLOBAL] {
            assert!(of(SIZE, loads::TABLES) < of(design, loads::TABLES));
            // By size all tables but the last of a run are full.
            assert!(of(SIZE, loads::FILL_HALF) > of(design, loads::FILL_HALF));
        }
        assert!(of(GLOBAL, loads::LONGEST) < of(SIZE, loads::LONGEST));
        // At the ci scale a get costs what the page cache happens to hold of a few runs.
        for design in [NONE, SIZE, LOCAL, GLOBAL].iter().filter(|_| figure.scale != "ci") {
            assert!(of(LEVELED, loads::GET) < of(*design, loads::GET), "{}", design.name);
        }
    }
}

#[test]
fn a_run_by_range_has_one_to_two_times_the_tables_by_size() {
    let figure = tables::figure(Scale::Ci, &mut |_| ()).unwrap();
    let of = |design: super::Design, which| {
        number(&figure, &format!("{}, {which}", design.name), tables::TABLES)
    };
    for design in [LOCAL, GLOBAL] {
        assert!(of(design, "least") >= 1.0 && of(design, "greatest") > 1.5, "{}", design.name);
        assert!(of(design, "mean") > of(SIZE, "mean"));
    }
}

#[test]
fn whole_flushes_chain_what_cut_ones_part() {
    let figure = workers::figure(Scale::Ci, &mut |_| ()).unwrap();
    let groups = |design| number(&figure, &workers::case(16, design), loads::GROUPS);
    assert!(groups(GLOBAL) < groups(GLOBAL_CUT));
}

#[test]
fn with_what_the_paper_had_global_range_ends_a_load_first() {
    for figure in Numbers::both("partitioning", switches::figure) {
        for over in [switches::OVER_NONE, switches::OVER_SIZE] {
            assert!(figure.of(switches::MEAN, over) < 1.0, "{}: {over}", figure.scale);
            // A load of a quarter has its great merges at other times.
            let is_whole = figure.scale != "ci";
            assert!(!is_whole || figure.of(switches::ALL, over) < 1.0, "{over}");
            assert!(!is_whole || figure.of(switches::NOTHING, over) > 1.0, "{over}");
        }
    }
}

#[test]
fn leveled_merges_most_bytes_a_second_and_least_of_the_load() {
    for figure in Numbers::both("partitioning", loads::random) {
        for other in [NONE, SIZE, LOCAL, GLOBAL] {
            let [leveled, other] = [LEVELED, other].map(|design| {
                [loads::THROUGHPUT, loads::LOADED].map(|m| figure.of(design.name, m))
            });
            assert!(leveled[0] > other[0] && leveled[1] < other[1], "{}", figure.scale);
        }
    }
}

/// On the storage assumed, its speed and what a policy writes decide, not how merges part.
#[test]
fn where_storage_is_no_bound_global_range_ends_a_load_first() {
    let figure = device::figure(Scale::Ci, &mut |_| ()).unwrap();
    let of = |design, measure| number(&figure, &device::case(16, design), measure);
    for other in [NONE, SIZE] {
        assert!(of(GLOBAL, loads::TIME) < of(other, loads::TIME), "{}", other.name);
        assert!(of(GLOBAL, loads::THROUGHPUT) > of(other, loads::THROUGHPUT), "{}", other.name);
    }
}

#[test]
fn more_moves_when_keys_come_in_order() {
    let figure = order::figure(Scale::Ci, &mut |_| ()).unwrap();
    for design in [SIZE, LOCAL, GLOBAL] {
        let moved = |order| number(&figure, &order::case(order, design), loads::MOVED);
        assert!(moved("in order") > moved("random"), "{}", design.name);
    }
}
