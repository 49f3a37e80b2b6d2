//! Figure 8 and table 3: larger filters and caches.

use super::designs::{Data, RANKED, VERTIORIZON_LEVELING, VERTIORIZON_TIERING};
use super::mixes::{BALANCED, ENTRIES, LOAD, MIXES, mix};
use super::ranks::{Better, ranks};
use super::setting::{Operations, Setting, THROUGHPUT, WORST};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};
use terrane_sim::Choice;

/// Mean ranks of mean throughput, and of the slowest window.
pub const MEAN_RANK: &str = "mean rank";
/// The same of the slowest window.
pub const WORST_RANK: &str = "mean rank in the slowest window";
/// The mean of both.
pub const RANK: &str = "mean of both";

/// The designs of table 3, in its order.
#[must_use]
pub fn designs() -> Vec<&'static str> {
    let is_fixed = |design: &&str| [VERTIORIZON_LEVELING, VERTIORIZON_TIERING].contains(design);
    RANKED.into_iter().filter(|design| !is_fixed(design)).collect()
}

/// The parts of the figure, with the paper's ranks.
const PARTS: [(&str, [f64; 7], [f64; 7]); 5] = [
    ("a", [6.0, 4.5, 5.5, 3.5, 3.3, 2.5, 2.0], [2.8, 6.5, 3.0, 3.5, 6.3, 4.3, 1.8]),
    ("b", [6.0, 4.0, 6.3, 4.0, 3.5, 1.8, 1.8], [2.5, 6.3, 2.8, 5.5, 5.0, 3.5, 2.3]),
    ("c", [6.3, 5.3, 5.3, 3.3, 5.0, 1.5, 1.5], [2.3, 6.5, 3.0, 4.0, 6.5, 3.5, 1.5]),
    ("d", [6.4, 5.2, 4.4, 2.8, 4.2, 3.0, 1.8], [3.8, 7.0, 1.2, 4.6, 6.0, 3.4, 2.2]),
    ("e", [5.7, 4.4, 6.9, 4.4, 2.1, 2.7, 2.1], [1.0, 6.4, 2.1, 5.0, 6.6, 4.0, 2.9]),
];
const PAPER_MEANS: [f64; 7] = [4.3, 5.6, 4.1, 3.9, 4.9, 3.0, 2.0];

const MB: u64 = 1 << 20;
const GB: u64 = 1 << 30;

/// A point: its mix, cache and bits per key.
type Point = (&'static str, u64, f64);

fn points(part: &str, scale: Scale) -> Vec<Point> {
    let of_mixes = |cache, bits| MIXES.map(|mix| (mix, cache, bits)).to_vec();
    let all = match part {
        "a" => of_mixes(32 * MB, 20.0),
        "b" => of_mixes(64 * GB, 5.0),
        "c" => of_mixes(64 * GB, 20.0),
        "d" => [4.0, 8.0, 12.0, 16.0, 20.0].map(|bits| (BALANCED, 32 * MB, bits)).to_vec(),
        _ => (0..7).map(|power| (BALANCED, (16 * MB) << (2 * power), 5.0)).collect(),
    };
    // The ends of d and e, for tests.
    match (scale, part) {
        (Scale::Full, _) => all,
        (Scale::Ci, "d" | "e") => all.first().into_iter().chain(all.last()).copied().collect(),
        (Scale::Ci, _) => Vec::new(),
    }
}

/// The case of a part of the figure, a point of it and a design.
#[must_use]
pub fn case(part: &str, (mix, cache, bits): Point, design: &str) -> String {
    let cache =
        if cache < GB { format!("{} MB", cache / MB) } else { format!("{} GB", cache / GB) };
    format!("{part}: {mix}, {cache}, {bits} bits, {design}")
}

/// Figure 8, with table 3.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = Setting::new(ENTRIES, LOAD);
    let mut figure = Figure::new(
        "figure-8",
        "Figure 8 and table 3: larger filters and caches",
        "With more memory designs come closer to each other, and those that write less rank higher: \
         horizontal tiering is second. Vertiorizon ranks first.",
        format!(
            "As figure 7 with uniform keys, {}; a load of {LOAD} buffers. Captions are not \
             known: the text says that a and d have the cache of 32 MB, b and c that of 64 GB, that d \
             varies the bits per key from 4 to 20 and e the cache from 16 MB to 64 GB, both with half \
             updates. The paper's mean ranks are multiples of a fourth, a fifth and a seventh: four mixes \
             in a to c, five points in d and seven in e. We take 20 bits in a and c, and 5 in b.",
            setting.description()
        ),
    );
    let designs = designs();
    for (part, mean, worst) in PARTS {
        let points = points(part, scale);
        let mut plot = Plot { x: x(part), y: THROUGHPUT, curves: Vec::new() };
        for &(name, cache, bits) in &points {
            let setting = setting.with_memory(cache, bits);
            let operations = Operations { mix: mix(name), choice: Choice::Uniform };
            for design in &designs {
                let case = case(part, (name, cache, bits), design);
                progress(&format!("figure 8, {case}"));
                let policy = |data: Data| data.design(design);
                let measured =
                    setting.run(&case, policy(setting.data(operations.mix.update)), &operations)?;
                let at = if part == "d" { bits } else { (cache as f64 / MB as f64).log2() };
                plot.point(design, (at, measured.of(THROUGHPUT)));
                measured.add(&mut figure, &case);
            }
        }
        if points.len() > 2 {
            for (measure, name, paper) in
                [(THROUGHPUT, MEAN_RANK, mean), (WORST, WORST_RANK, worst)]
            {
                let ranks = mean_ranks(&figure, part, &points, &designs, measure);
                for ((design, ours), paper) in designs.iter().zip(ranks).zip(paper) {
                    let case = format!("{part}: mean, {design}");
                    figure.beside(&case, name, ours, (Source::Measured, paper));
                }
            }
            if ["d", "e"].contains(&part) {
                figure.plots.push(plot);
            }
        }
    }
    if scale == Scale::Full {
        for (design, paper) in designs.iter().zip(PAPER_MEANS) {
            let of = |(part, ..): &(&str, [f64; 7], [f64; 7])| {
                let case = format!("{part}: mean, {design}");
                [MEAN_RANK, WORST_RANK].map(|name| figure.number(&case, name).unwrap_or(0.0))
            };
            let all: Vec<_> = PARTS.iter().flat_map(of).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            figure.beside(&format!("all, {design}"), RANK, mean, (Source::Measured, paper));
        }
    }
    Ok(figure)
}

fn x(part: &str) -> &'static str {
    if part == "d" { "bits per key" } else { "cache, log2 of MB" }
}

/// The mean rank of each design over points.
fn mean_ranks(
    figure: &Figure,
    part: &str,
    points: &[Point],
    designs: &[&str],
    measure: &str,
) -> Vec<f64> {
    let mut sums = vec![0.0; designs.len()];
    for point in points {
        let value = |design: &&str| figure.number(&case(part, *point, design), measure);
        let values: Vec<_> = designs.iter().map(value).collect();
        for (sum, value) in sums.iter_mut().zip(ranks(&values, Better::More)) {
            *sum += value.unwrap_or(0.0);
        }
    }
    sums.into_iter().map(|sum| sum / points.len() as f64).collect()
}
