//! Figure 7 again: what Vertiorizon tunes itself by, RocksDB with the level 1 that it has by default, and slower
//! merges.

use super::designs::{
    Data, LEVEL0_RUNS, RANKED, SIZE_RATIO, VERTICAL_LEVELING_PARTIAL, VERTIORIZON,
    VERTIORIZON_LEVELING, VERTIORIZON_TIERING,
};
use super::mixes::{BALANCED, ENTRIES, LOADS, MEAN_RANK, MIXES, PAPER_MEANS, mix};
use super::ranks::{Better, ranks};
use super::setting::{Measured, Operations, SPACE, Setting, THROUGHPUT, WORST};
use crate::figure::{Figure, Source};
use crate::{PapersError, Scale};
use terrane_policy::{Leveled, PolicyOptions};
use terrane_sim::Choice;

/// Throughput of Vertiorizon over that of RocksDB.
pub const OVER_ROCKSDB: &str = "Vertiorizon over RocksDB";
/// Throughput of the Vertiorizon that tunes itself over that of the better one that does not.
pub const OVER_FIXED: &str = "Vertiorizon over its better fixed setting";

/// The costs of a block that is read and of a page that is merged are known, and the part below is tuned as well.
pub const KNOWN: &str = "tuned by costs";
/// As figure 7.
pub const SAME: &str = "as figure 7";
/// A level 1 of 256 MB.
pub const LEVEL1: &str = "level 1 of 256 MB";
/// Merges of half the speed.
pub const SLOW: &str = "merges at half speed";
/// Both.
pub const BOTH: &str = "level 1 of 256 MB, merges at half speed";
/// All three.
pub const ALL: &str = "level 1 of 256 MB, merges at half speed, tuned by costs";

/// The cases: whether costs are known, level 1 is RocksDB's, and by how much merges are slower.
const CASES: [(&str, bool, bool, f64); 6] = [
    (SAME, false, false, 1.0),
    (KNOWN, true, false, 1.0),
    (LEVEL1, false, true, 1.0),
    (BOTH, false, true, 2.0),
    (SLOW, false, false, 2.0),
    (ALL, true, true, 2.0),
];

/// Buffers of RocksDB's default level 1: 256 MB of 2 MB each.
const LEVEL1_BUFFERS: u64 = 128;

/// Figure 7's designs, one switch at a time.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let mut figure = Figure::new(
        "rocksdb",
        "Figure 7 again: RocksDB's level 1, and slower merges",
        "Vertiorizon has up to 3.2 times the throughput of RocksDB, and the first mean rank, 2.2.",
        format!(
            "As figure 7 with uniform keys. RocksDB is vertical leveling with partial merges. Its level 1 has a \
             buffer and T of it ({SIZE_RATIO} buffers), or RocksDB's default for max_bytes_for_level_base, 256 \
             MB, whatever the buffer: {LEVEL1_BUFFERS} buffers. Then a {SIZE_RATIO}th of that waits in level 0, \
             merged there, before it goes down. The paper does not say which. A thread merges as much as \
             assumed, or half of it. Vertiorizon takes a page that is merged to cost as much as a block that is read, \
             as the paper's model does, and tunes its horizontal part by that; \"{KNOWN}\" it is told what both \
             cost, and tunes both parts."
        ),
    );
    // The others share no simulation with figure 7.
    let cases = if scale == Scale::Ci { &CASES[..4] } else { &CASES[..] };
    for &(name, costs, level1, slower) in cases {
        let setting = Setting { slower, costs, ..Setting::new(ENTRIES, 0) };
        // Cases of slower merges share none with the other cases either; one load shows the same order.
        let is_short = scale == Scale::Ci && slower > 1.0;
        let loads = if is_short { &LOADS[..1] } else { &LOADS };
        let mut all = Vec::new();
        for mix_name in MIXES {
            let of_mix = |design: &&str| {
                progress(&format!("rocksdb, {name}, {mix_name}, {design}"));
                measure(setting, mix_name, design, (level1, loads))
            };
            all.push(RANKED.iter().map(of_mix).collect::<Result<Vec<_>, _>>()?);
        }
        speedups(&mut figure, name, &all);
        mean_ranks(&mut figure, name, &all);
    }
    Ok(figure)
}

/// A mix under a case, or the case of all mixes.
#[must_use]
pub fn case(name: &str, of: &str) -> String {
    format!("{name}, {of}")
}

/// The greatest of the mixes.
pub const MOST: &str = "the most of all mixes";

fn measure(
    setting: Setting,
    mix_name: &str,
    design: &str,
    (level1, loads): (bool, &[u64]),
) -> Result<Measured, PapersError> {
    let operations = Operations { mix: mix(mix_name), choice: Choice::Uniform };
    let policy = |data: Data| match design {
        VERTICAL_LEVELING_PARTIAL if level1 => rocksdb(data),
        _ => data.design(design),
    };
    setting.run_loads(design, loads, policy, &operations)
}

/// Vertical leveling with RocksDB's default level 1.
fn rocksdb(data: Data) -> PolicyOptions {
    PolicyOptions::Leveled(Leveled {
        size_ratio: SIZE_RATIO,
        level_base_bytes: LEVEL1_BUFFERS * data.store.buffer() / SIZE_RATIO,
        target_file_bytes: data.store.buffer(),
        l0_compaction_trigger: LEVEL0_RUNS,
        dynamic_level_bytes: false,
        ..Leveled::default()
    })
}

/// Adds the throughput of Vertiorizon over others', by the mix.
fn speedups(figure: &mut Figure, name: &str, all: &[Vec<Measured>]) {
    let mut most: f64 = 0.0;
    for (mix_name, designs) in MIXES.iter().zip(all) {
        let rate = |design: &str| {
            let at = RANKED.iter().position(|ranked| *ranked == design);
            at.and_then(|at| designs.get(at)).map_or(0.0, |measured| measured.of(THROUGHPUT))
        };
        let over = rate(VERTIORIZON) / rate(VERTICAL_LEVELING_PARTIAL);
        most = most.max(over);
        let case = case(name, mix_name);
        figure.found(&case, OVER_ROCKSDB, over);
        let fixed = rate(VERTIORIZON_LEVELING).max(rate(VERTIORIZON_TIERING));
        figure.found(&case, OVER_FIXED, rate(VERTIORIZON) / fixed);
    }
    figure.beside(&case(name, MOST), OVER_ROCKSDB, most, (Source::Measured, 3.2));
}

/// Adds the mean of each design's ranks: in throughput and its slowest window, by the mix, and in space.
fn mean_ranks(figure: &mut Figure, name: &str, all: &[Vec<Measured>]) {
    let rank = |designs: &[Measured], measure: &str, better| {
        let values: Vec<_> = designs.iter().map(|measured| Some(measured.of(measure))).collect();
        ranks(&values, better)
    };
    let mut ranked = Vec::new();
    for (mix_name, designs) in MIXES.iter().zip(all) {
        ranked.push(rank(designs, THROUGHPUT, Better::More));
        ranked.push(rank(designs, WORST, Better::More));
        if *mix_name == BALANCED {
            ranked.push(rank(designs, SPACE, Better::Less));
        }
    }
    for (at, (design, paper)) in RANKED.iter().zip(PAPER_MEANS).enumerate() {
        let of = ranked.iter().filter_map(|ranks| ranks.get(at).copied().flatten());
        let mean = of.sum::<f64>() / ranked.len() as f64;
        figure.beside(&case(name, design), MEAN_RANK, mean, (Source::Measured, paper));
    }
}
