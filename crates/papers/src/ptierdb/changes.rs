//! Causes of the numbers of SILK, WiscKey, PebblesDB and ptier: one thing changed at a time.

use super::items::WRITE;
use super::ycsb::{self, SIZE, WRITES};
use super::{Design, comparable, scaled, setting};
use crate::figure::Figure;
use crate::scaled::{Scaled, simulate};
use crate::{PapersError, Scale};
use terrane_policy::{PTier, PolicyOptions};
use terrane_sim::{Config, Guards, KeyPrefixes, Workload};

/// The share of the load's time in which writes wait.
pub const STALLS: &str = "writes wait, of the load's time";

/// A change of a store.
type Change = fn(Scaled, Config) -> Config;

/// The stores, and what is changed of them.
const CASES: [(&str, Design, Change); 19] = [
    ("leveled", Design::Leveled, |_, config| config),
    ("leveled, values 1.43:1", Design::Leveled, compressed),
    ("leveled, values as they are", Design::Leveled, uncompressed),
    ("tiered, values as they are", Design::Tiered, uncompressed),
    ("silk", Design::Silk, |_, config| config),
    ("silk without pauses", Design::Silk, |_, config| Config {
        pause_deeper_merges: false,
        ..config
    }),
    ("silk, four threads", Design::Silk, |_, config| Config { workers: 4, ..config }),
    ("silk without pauses, four threads", Design::Silk, |_, config| Config {
        pause_deeper_merges: false,
        workers: 4,
        ..config
    }),
    ("wisckey", Design::WiscKey, |_, config| config),
    ("wisckey, memtables of 32 MB", Design::WiscKey, |store, config| Config {
        buffer_bytes: store.buffer(),
        ..config
    }),
    ("pebblesdb", Design::PebblesDb, |_, config| config),
    ("pebblesdb, values as they are", Design::PebblesDb, uncompressed),
    ("pebblesdb, four tables a guard", Design::PebblesDb, |_, config| Config {
        guards: config.guards.map(|guards| Guards { tables: 4, ..guards }),
        ..config
    }),
    ("ptier", Design::PTier, |_, config| config),
    ("ptier, values 1.43:1", Design::PTier, compressed),
    ("ptier, 64 prefixes", Design::PTier, |_, config| prefixes(config, 64)),
    ("ptier, 256 prefixes", Design::PTier, |_, config| prefixes(config, 256)),
    ("ptier, read limit 8", Design::PTier, |_, config| limit(config, 8)),
    ("ptier, no read limit", Design::PTier, |_, config| limit(config, 1 << 50)),
];

const NOTES: [&str; 2] = [
    "SILK's pauses let more runs of level 0 go down at once rather than wait behind a large merge: with one thread it \
     writes less and is nearly twice as fast. With four threads, of which one merges level 0 anyway, pausing the \
     other three costs it a third of its rate. What it loses to leveled with large items is due to partial merges, \
     not to its pauses.",
    "WiscKey writes 1.00 to its log, whatever merges do. Of the rest, 2.42, its small memtable causes 0.97, \
     LevelDB's of 4 MB: with 32 MB, as the others have, it writes that much less. If the others' values are not \
     compressed either, tiered writes less than WiscKey, and PebblesDB more; the paper has both above it.",
];

fn prefixes(config: Config, count: u64) -> Config {
    let prefixes = Some(KeyPrefixes { count, exponent: 0.0 });
    Config { workload: Workload { prefixes, ..config.workload }, ..config }
}

fn limit(config: Config, read_limit: u64) -> Config {
    let PolicyOptions::PTier(policy) = config.policy else { return config };
    Config { policy: PolicyOptions::PTier(PTier { read_limit, ..policy }), ..config }
}

fn uncompressed(_: Scaled, config: Config) -> Config {
    Config { value_compression: 1.0, ..config }
}

/// The ratio of the paper's store of ptier, 8.1 GB of 11.6.
fn compressed(_: Scaled, config: Config) -> Config {
    Config { value_compression: 1.43, ..config }
}

/// The first run of YCSB, and the load of figure 6 with items of 1024 bytes.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, large) = (comparable(scale, 116), comparable(scale, 1024));
    let mut figure = Figure::new(
        "one-change",
        "What table I and figure 6 depend on: one thing changed at a time",
        "(The paper changes nothing of these.)",
        format!(
            "{} Write amplification and size are those of table I; writes a second, and how long they wait, those \
             of figure 6 with 1024 bytes.",
            setting(scale, store)
        ),
    );
    let mut leveled = None;
    for (name, design, change) in CASES {
        progress(&format!("one change, {name}"));
        let first = ycsb::first_run(store);
        let report = simulate(name, change(store, design.config(scale, store, first)))?;
        let bytes = ycsb::bytes(&report) as f64;
        figure.found(name, WRITES, report.whole.write_amp.unwrap_or(0.0));
        figure.found(name, SIZE, bytes / *leveled.get_or_insert(bytes));
        let load = scaled(large, super::items::OPERATIONS);
        let load = Workload { load, ..Workload::default() };
        let report = simulate(name, change(large, design.config(scale, large, load)))?;
        let Some(phase) = report.phases.first() else { continue };
        let stalls = phase.figures.stall_seconds;
        figure.found(name, WRITE, phase.figures.throughput_mean * large.factor() / 1e3);
        figure.found(name, STALLS, (stalls.memtables + stalls.level0) / phase.figures.seconds);
    }
    figure.notes = NOTES.iter().map(|note| (*note).to_owned()).collect();
    Ok(figure)
}
