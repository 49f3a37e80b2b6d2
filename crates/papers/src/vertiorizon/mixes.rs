//! Figure 7: mixes of operations.

use super::designs::{
    DESIGNS, Data, HORIZONTAL_LEVELING, HORIZONTAL_TIERING, RANKED, VERTICAL_LEVELING_PARTIAL,
    VERTICAL_TIERING_PARTIAL, VERTIORIZON,
};
use super::ranks::{Better, add_ranks};
use super::setting::{Operations, SPACE, Setting, THROUGHPUT, WORST};
use crate::figure::{Figure, Source};
use crate::{PapersError, Scale};
use terrane_sim::{Choice, Mix};

/// 10 % updates.
pub const READ_HEAVY: &str = "10/90";
/// Half updates.
pub const BALANCED: &str = "50/50";
/// 90 % updates.
pub const WRITE_HEAVY: &str = "90/10";
/// 75 % updates, 25 % range reads.
pub const RANGES: &str = "75/25 ranges";

/// The mixes.
pub const MIXES: [&str; 4] = [READ_HEAVY, BALANCED, WRITE_HEAVY, RANGES];

/// Uniform keys.
pub const UNIFORM: &str = "uniform";
/// Keys by Zipf's law.
pub const ZIPF: &str = "zipf";

const RANK: &str = "rank";
const WORST_RANK: &str = "rank in the slowest window";
const SPACE_RANK: &str = "rank in extra space";
/// The mean of a design's ranks.
pub const MEAN_RANK: &str = "mean rank";

/// The ranks of figure 7 d, of mean throughput and of the slowest window, in the order of the mixes, and
/// of space; and their means.
const PAPER_MEAN: [[f64; 9]; 4] = [
    [5.0, 4.0, 8.0, 7.0, 1.0, 6.0, 2.0, 9.0, 2.0],
    [9.0, 3.0, 7.0, 5.0, 2.0, 4.0, 8.0, 5.0, 1.0],
    [9.0, 7.0, 6.0, 1.0, 5.0, 1.0, 8.0, 3.0, 3.0],
    [3.0, 2.0, 8.0, 7.0, 1.0, 6.0, 5.0, 9.0, 3.0],
];
const PAPER_WORST: [[f64; 9]; 4] = [
    [3.0, 4.0, 7.0, 6.0, 8.0, 4.0, 1.0, 8.0, 1.0],
    [2.0, 9.0, 1.0, 8.0, 7.0, 4.0, 6.0, 5.0, 3.0],
    [6.0, 9.0, 1.0, 4.0, 8.0, 5.0, 7.0, 3.0, 2.0],
    [1.0, 8.0, 5.0, 6.0, 8.0, 4.0, 3.0, 7.0, 2.0],
];
const PAPER_SPACE: [f64; 9] = [1.0, 8.0, 2.0, 7.0, 9.0, 6.0, 3.0, 3.0, 3.0];
pub(super) const PAPER_MEANS: [f64; 9] = [4.3, 5.1, 5.0, 5.7, 5.4, 4.4, 4.8, 5.8, 2.2];

/// Updates and reads, by their shares.
pub(super) fn mix(name: &str) -> Mix {
    match name {
        READ_HEAVY => Mix { update: 0.1, read: 0.9, ..Mix::default() },
        BALANCED => Mix { update: 0.5, read: 0.5, ..Mix::default() },
        WRITE_HEAVY => Mix { update: 0.9, read: 0.1, ..Mix::default() },
        _ => Mix { update: 0.75, scan: 0.25, ..Mix::default() },
    }
}

/// The case of a mix and a design.
#[must_use]
pub fn case(keys: &str, mix: &str, design: &str) -> String {
    format!("{keys} {mix}, {design}")
}

/// Entries of a buffer.
pub(super) const ENTRIES: u64 = 16;

/// The load of the other figures, in buffers.
pub(super) const LOAD: u64 = 1000;

/// The loads, in buffers: two, so that no design is seen only just after, or before, a merge into its
/// largest level.
pub(super) const LOADS: [u64; 2] = [1000, 2000];

/// Figure 7.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = Setting::new(ENTRIES, 0);
    let mut figure = Figure::new(
        "figure-7",
        "Figure 7: throughput, its slowest window, and space",
        "Full merges are faster than partial ones under leveling and stall; horizontal growth is faster \
         than vertical growth with full merges. Tiering suits updates. Vertiorizon comes near the best of \
         all, in the slowest window, too: it has up to 3.2 times the throughput of RocksDB, and six times \
         less extra space than horizontal leveling. Under 90 % updates partial tiering has 60 % of the \
         throughput of horizontal tiering.",
        format!(
            "T = 6, buffers and files of 2 MB, 5 bits per key, a cache of 32 MB, 128 + 896 bytes an entry; \
             {}. The load's size is not known: all numbers are means over loads of {LOADS:?} buffers. \
             Horizontal designs have as many levels as vertical ones, the least L with T^L >= N/B, and \
             fixed Vertiorizon two less in its horizontal part (the paper's numbers are not known); \
             horizontal tiering is laid out for all that is going to be written. The tiering Vertiorizon \
             is tiered below, too; the one that tunes itself tunes only its horizontal part. Zipf's \
             exponent is 0.99; ranges have 1 to 8 entries. Ranks are those of uniform keys; numbers that \
             differ by less than 1 % share one.",
            setting.description()
        ),
    );
    let zipf = Choice::Zipf { exponent: 0.99, move_every: 0 };
    let choices = [(UNIFORM, Choice::Uniform), (ZIPF, zipf)];
    let choices = if scale == Scale::Ci { &choices[..1] } else { &choices[..] };
    // Those of RocksDB are not ranked.
    let designs = if scale == Scale::Ci { &RANKED[..] } else { &DESIGNS[..] };
    for (keys, choice) in choices {
        for name in MIXES {
            let operations = Operations { mix: mix(name), choice: choice.clone() };
            for design in designs {
                let case = case(keys, name, design);
                progress(&format!("figure 7, {case}"));
                let policy = |data: Data| data.design(design);
                setting.run_loads(&case, &LOADS, policy, &operations)?.add(&mut figure, &case);
            }
        }
    }
    rank(&mut figure);
    headlines(&mut figure);
    for (keys, _) in choices {
        let groups: Vec<_> = MIXES.iter().map(|mix| format!("{keys} {mix}")).collect();
        let groups: Vec<_> = groups.iter().map(String::as_str).collect();
        for measure in [THROUGHPUT, WORST] {
            figure.draw_bars(measure, &groups, designs);
        }
    }
    figure.draw_bars(SPACE, &[&format!("{UNIFORM} {BALANCED}")], designs);
    Ok(figure)
}

/// Figure 7 d.
fn rank(figure: &mut Figure) {
    let mut all = Vec::new();
    for ((name, mean), worst) in MIXES.iter().zip(PAPER_MEAN).zip(PAPER_WORST) {
        let of = |design: &str| case(UNIFORM, name, design);
        all.push(add_ranks(figure, of, (THROUGHPUT, RANK), Better::More, mean));
        all.push(add_ranks(figure, of, (WORST, WORST_RANK), Better::More, worst));
    }
    let of = |design: &str| case(UNIFORM, BALANCED, design);
    all.push(add_ranks(figure, of, (SPACE, SPACE_RANK), Better::Less, PAPER_SPACE));
    for (at, (design, paper)) in RANKED.iter().zip(PAPER_MEANS).enumerate() {
        let ranks = all.iter().filter_map(|ranks| ranks.get(at));
        let mean = ranks.sum::<f64>() / all.len() as f64;
        figure.beside(&format!("all, {design}"), MEAN_RANK, mean, (Source::Measured, paper));
    }
}

/// Adds the statements of the paper's text.
fn headlines(figure: &mut Figure) {
    let over = |figure: &Figure, mix: &str, measure: &str, design: &str, other: &str| {
        let of = |design: &str| figure.number(&case(UNIFORM, mix, design), measure);
        Some(of(design)? / of(other)?)
    };
    let speedups = MIXES
        .iter()
        .filter_map(|mix| over(figure, mix, THROUGHPUT, VERTIORIZON, VERTICAL_LEVELING_PARTIAL));
    let most = speedups.fold(0.0, f64::max);
    let case = "uniform, Vertiorizon over vertical leveling, partial: the most of all mixes";
    figure.beside(case, THROUGHPUT, most, (Source::Measured, 3.2));
    let (levels, tiers) = (HORIZONTAL_LEVELING, HORIZONTAL_TIERING);
    if let Some(space) = over(figure, BALANCED, SPACE, levels, VERTIORIZON) {
        let case = "uniform 50/50, horizontal leveling over Vertiorizon";
        figure.beside(case, SPACE, space, (Source::Measured, 6.0));
    }
    if let Some(rate) = over(figure, WRITE_HEAVY, THROUGHPUT, VERTICAL_TIERING_PARTIAL, tiers) {
        let case = "uniform 90/10, vertical tiering, partial, over horizontal tiering";
        figure.beside(case, THROUGHPUT, rate, (Source::Measured, 0.6));
    }
}
