//! The figures of the Spooky paper at the small scale: orders and inequalities, no values.

use super::{number, row};
use terrane_papers::spooky::{
    equations, experiments, files, flash, growth, model, reads, shapes, skew, speed,
};
use terrane_papers::{Figure, PapersError, Scale};

type Made = fn(Scale, &mut dyn FnMut(&str)) -> Result<Figure, PapersError>;

fn figure(make: Made) -> Figure {
    make(Scale::Ci, &mut |_| ()).unwrap()
}

/// Returns the case of a design at a point in a phase.
fn case(x: &str, at: u64, design: &str, phase: &str) -> String {
    format!("{}, {phase}", growth::case(x, at, design))
}

/// In each phase full merges write less than Spooky, and partial ones more; Spooky's peak is below
/// that of full merges, and at most a tenth above its equation. Returns what Spooky writes beyond
/// full merges.
fn check_point(figure: &Figure, x: &str, at: u64) -> [f64; 2] {
    growth::PHASES.map(|phase| {
        let peak = |design| number(figure, &case(x, at, design, phase), growth::PEAK);
        assert!(peak("spooky") < peak("full"), "{x} = {at}, {phase}");
        let spooky = row(figure, &case(x, at, "spooky", phase), growth::PEAK);
        assert!(spooky.ratio.unwrap() <= 1.1, "{spooky:?}");
        let writes = |design| number(figure, &case(x, at, design, phase), growth::WRITES);
        let (full, spooky, partial) = (writes("full"), writes("spooky"), writes("partial"));
        assert!(
            full < spooky && spooky < partial,
            "{x} = {at}, {phase}: {full} {spooky} {partial}"
        );
        spooky - full
    })
}

#[test]
fn at_every_size_spooky_writes_one_more_and_needs_little_space() {
    let figure = figure(growth::over_data);
    for &buffers in growth::sizes(Scale::Ci) {
        for more in check_point(&figure, "N/B", buffers) {
            assert!((0.7..=1.3).contains(&more), "N/B = {buffers}: {more}");
        }
        let peak = |design| number(&figure, &case("N/B", buffers, design, "updates"), growth::PEAK);
        assert!(peak("partial") < peak("spooky"), "N/B = {buffers}");
        assert!(peak("spooky") < peak("spooky X=L-1"), "N/B = {buffers}");
    }
}

#[test]
fn at_every_ratio_spooky_writes_one_more_and_moves_save_of_it() {
    let figure = figure(growth::over_ratio);
    for &ratio in growth::ratios(Scale::Ci) {
        for (phase, more) in growth::PHASES.iter().zip(check_point(&figure, "T", ratio)) {
            assert!((0.7..=1.3).contains(&more), "T = {ratio}, {phase}: {more}");
            let moving = case("T", ratio, "spooky, moves", phase);
            let moving = number(&figure, &moving, growth::DIFFERENCE);
            assert!(0.0 < moving && moving < more, "T = {ratio}, {phase}: {moving}, not {more}");
        }
    }
}

#[test]
fn under_every_merge_policy_spooky_needs_much_less_space() {
    let figure = figure(shapes::figure);
    let of = |policy: &str, merge: &str, what| number(&figure, &format!("{policy}, {merge}"), what);
    for (policy, _) in shapes::POLICIES {
        let saved = of(policy, "full", growth::PEAK) - of(policy, "spooky", growth::PEAK);
        assert!(saved > 0.5, "{policy}: {saved}");
        let more = of(policy, "spooky", growth::WRITES) - of(policy, "full", growth::WRITES);
        assert!((0.0..=1.3).contains(&more), "{policy}: {more}");
    }
    let writes = shapes::POLICIES.map(|(policy, _)| of(policy, "spooky", growth::WRITES));
    assert!(writes.is_sorted_by(|a, b| a > b), "{writes:?}");
}

#[test]
fn with_skew_spooky_writes_less_than_partial_merges() {
    let figure = figure(skew::figure);
    let [anywhere, side_by_side] = skew::WORKLOADS;
    let of = |name: &str, design: &str, what| number(&figure, &format!("{name}, {design}"), what);
    let writes = |design| of(anywhere, design, growth::WRITES);
    assert!(writes("spooky") < writes("partial"));
    assert!(of(side_by_side, "spooky", skew::LEFT) > 0.25);
}

#[test]
fn on_flash_spooky_holds_more_than_full_and_collects_less() {
    let figure = figure(flash::over_time);
    let of = |case, what| number(&figure, case, what);
    assert_eq!(of(flash::FULL_LARGE, flash::FITS), 0.0);
    assert!(of(flash::FULL, flash::COLLECTION) < 1.05);
    for what in [flash::TREE, flash::COLLECTION, flash::TOTAL] {
        let (spooky, partial) = (of(flash::SPOOKY, what), of(flash::PARTIAL, what));
        assert!(spooky < partial, "{what}: {spooky}, {partial}");
    }
    // Nor do larger files bring partial merges to what Spooky writes.
    let files = self::figure(flash::file_sizes);
    for (_, case) in flash::FILES {
        let fits = number(&files, case, flash::FITS) == 1.0;
        let spooky = of(flash::SPOOKY, flash::TOTAL);
        assert!(!fits || number(&files, case, flash::TOTAL) > spooky, "{case}");
    }
}

#[test]
fn on_flash_moving_hot_keys_cost_spooky_less_than_partial() {
    let figure = figure(flash::under_skew);
    for what in [flash::TREE, flash::TOTAL] {
        let of = |case| number(&figure, case, what);
        assert!(of(flash::SPOOKY) < of(flash::PARTIAL), "{what}");
    }
}

#[test]
fn full_merges_use_half_of_a_flash_device_and_spooky_more() {
    let figure = figure(flash::over_utilisation);
    let of = |case, what| number(&figure, case, what);
    assert_eq!(of("40 %, full", flash::FITS), 1.0);
    assert_eq!(of("70 %, full", flash::FITS), 0.0);
    assert!(of("70 %, spooky", flash::TOTAL) < of("70 %, partial", flash::TOTAL));
}

#[test]
fn spooky_updates_fastest_once_workers_share_a_merge() {
    let figure = figure(speed::figure);
    let of = |machine, design| number(&figure, &speed::case(machine, design), speed::THROUGHPUT);
    assert!(of(speed::SHARED, flash::SPOOKY) > 1.5 * of(speed::SHARED, flash::PARTIAL));
    assert!(of(speed::ALONE, flash::SPOOKY) < of(speed::ALONE, flash::PARTIAL));
}

#[test]
fn without_discard_spooky_collects_less_than_half_of_partial() {
    let figure = figure(experiments::discard);
    let case = |design| format!("{}, {design}", experiments::NO_DISCARD);
    let extra = |design| number(&figure, &case(design), flash::COLLECTION) - 1.0;
    assert!(extra(flash::SPOOKY) > 0.05, "{}", extra(flash::SPOOKY));
    assert!(extra(flash::SPOOKY) < 0.5 * extra(flash::PARTIAL));
}

#[test]
fn under_steady_writes_full_merges_write_more_and_spooky_waits() {
    let figure = figure(experiments::by_level);
    let of = |machine, design: &str, what| number(&figure, &format!("{machine}, {design}"), what);
    let [level0, ..] = experiments::INTO;
    let shared = |design, what| of(speed::SHARED, design, what);
    assert!(shared("full", level0) < 0.1 * shared("spooky", level0));
    assert!(shared("spooky", flash::TREE) < shared("full", flash::TREE));
    assert!(of(speed::ALONE, "full", flash::TREE) < shared("full", flash::TREE));
}

#[test]
fn files_exceed_equation_12_by_a_level_and_by_halves() {
    let figure = figure(files::by_level);
    for &below in files::distances(Scale::Ci) {
        let of = |what| number(&figure, &files::case(below), what);
        let all = of(files::FILES);
        assert!(all > row(&figure, &files::case(below), files::FILES).paper.unwrap());
        assert!(all <= 1.1 * of(files::BY_RULE), "{below}: {all}");
        let least = 5f64.powf(below as f64);
        let largest = of(files::LARGEST);
        assert!((0.9 * least..=2.0 * least).contains(&largest), "{below}: {largest}");
        assert!(of(files::SMALLER) <= 5.0);
    }
}

#[test]
fn only_files_of_a_few_entries_exceed_the_rule() {
    for figure in super::numbers::Numbers::both("spooky", files::by_level) {
        let scale = if figure.scale == "ci" { Scale::Ci } else { Scale::Full };
        let distances = files::distances(scale).iter().map(|&below| files::case(below));
        let entries = files::entries(scale);
        let sizes: Vec<_> = entries.iter().map(|&count| files::case_of_entries(count)).collect();
        for case in distances.chain(sizes.iter().cloned()) {
            let of = |what| figure.of(&case, what);
            let cut = of(files::FILES) - of(files::FURTHER);
            assert!(cut <= of(files::BY_RULE), "{}, {case}: {cut}", figure.scale);
        }
        for pair in sizes.windows(2) {
            let [few, many] = [&pair[0], &pair[1]].map(|case| figure.of(case, files::FURTHER));
            assert!(few > many, "{}, {}: {few} {many}", figure.scale, pair[1]);
        }
        let (first, last) = (sizes.first().unwrap(), sizes.last().unwrap());
        assert!(figure.of(first, files::FURTHER) >= 2.0 * figure.of(last, files::FURTHER));
        assert!(figure.of(last, files::FILES) <= figure.of(last, files::BY_RULE), "{last}");
    }
}

#[test]
fn x_closer_to_the_largest_level_needs_more_of_the_device() {
    let figure = figure(files::on_device);
    let of = |below, what| number(&figure, &files::case(below), what);
    assert_eq!(of(2, flash::FITS), 1.0);
    assert!(of(1, flash::FITS) == 0.0 || of(1, flash::PEAK) > of(2, flash::PEAK));
    assert_eq!(of(2, files::WITHIN), 1.0);
}

#[test]
fn the_models_of_figure_9_are_near_the_stores() {
    let figure = figure(model::figure);
    for design in ["full", "spooky X=L-1"] {
        for what in [growth::WRITES, growth::PEAK] {
            let row = row(&figure, &model::case(5, design), what);
            assert!((0.8..=1.2).contains(&row.ratio.unwrap()), "{design}: {row:?}");
        }
    }
    let used = |design| number(&figure, &model::case(5, design), model::UTILISATION);
    assert!(used("full") < used("spooky X=L-1") && used("spooky X=L-1") < used("partial"));
    assert_eq!(equations::spooky_files(6.0, 5, 2), 53.0);
}

#[test]
fn reads_that_wait_for_pages_are_faster_beside_spooky() {
    let figure = figure(reads::figure);
    for (kind, _) in reads::KINDS {
        let of = |design| number(&figure, &reads::case(kind, reads::HELD, design), reads::READS);
        let [full, partial, spooky] = speed::DESIGNS.map(of);
        assert!(partial < spooky && partial < full, "{kind}: {full} {partial} {spooky}");
    }
}
