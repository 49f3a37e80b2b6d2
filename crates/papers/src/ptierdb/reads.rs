//! Cost of the reads of figure 6, and the conditions under which ptier's are the fastest: one thing
//! changed at a time.

use super::items::{ITEMS, READ, case, writes_then_reads};
use super::{DESIGNS, Design, comparable, setting};
use crate::figure::Figure;
use crate::scaled::{simulate, tables_a_read};
use crate::{PapersError, Scale};
use terrane_policy::{PTier, PolicyOptions};
use terrane_sim::{Config, Phase};

/// Tables whose filter a read asks.
pub const TABLES: &str = "tables a read";
/// Blocks that a read fetches from storage.
pub const BLOCKS: &str = "blocks a read";
/// Time of a read for each of these.
pub const BLOCK: &str = "us a block";
/// The share of the time of the reads in which merges run.
pub const MERGES: &str = "merges run, of the reads' time";

/// A change of a store, or of what is read.
type Change = fn(&mut Config);

/// Nothing changed.
pub const UNCHANGED: &str = "as it is";
/// Reads that start once there is nothing left to merge.
pub const WAITED: &str = "after a wait";
/// The reads while what the load left is still merged, on storage of a quarter of the speed.
pub const EARLY_AND_SLOW: &str = "the first hundredth, storage x1/4";

const BOTH: &[Design] = &[Design::Leveled, Design::PTier];
/// The sizes at which the paper has ptier first.
pub const FIRST: [u64; 2] = [ITEMS[0], ITEMS[3]];

/// The changes, by name, with the sizes of items and the designs under each.
const CHANGES: [(&str, Change, &[u64], &[Design]); 6] = [
    (UNCHANGED, |_| (), &ITEMS, BOTH),
    (WAITED, |config| change(config, |reads| reads.wait_until_idle = true), &FIRST, BOTH),
    ("no filters", |config| config.filter_bits_per_key = 0.0, &FIRST, BOTH),
    ("read limit 8", low_limit, &FIRST, &[Design::PTier]),
    ("the first hundredth", early, &ITEMS, BOTH),
    (EARLY_AND_SLOW, early_and_slow, &ITEMS, &DESIGNS),
];

const NOTES: [&str; 3] = [
    "For most of the reads leveled has one to four runs, and ptier two to eleven. More of its \
     filters pass a read to a table without the key, which costs up to 8 % of a block. Neither a \
     wait before the reads nor a read limit of 8 changes that: the limit lets tables of the \
     deepest level be merged, which hold what is found, and the runs above stay. Without filters \
     each of them costs a block.",
    "What changes the order are merges beside the reads. With items of 124 and 1024 bytes the \
     load ends while leveled has a large part of its store to merge; with 256 and 512 bytes it \
     has little. So in the first hundredth of the reads its blocks cost 3 % more at these two \
     sizes, which puts ptier ahead at 124 bytes.",
    "On storage a quarter as fast a block costs a fifth more beside a merge. Then the paper's \
     order of the two holds: ptier is faster than leveled by an eighth at 124 and 1024 bytes, and \
     about as fast at 256; at 512 it is 5 % slower. It is also ahead of silk, but not of \
     lazy-leveled, nor, at 124 and 1024 bytes, of PebblesDB, which merge as little then and have \
     fewer runs. After these reads the merges are done, and leveled is ahead.",
];

/// Changes the phase of reads.
fn change(config: &mut Config, change: fn(&mut Phase)) {
    config.workload.phases.iter_mut().for_each(change);
}

fn low_limit(config: &mut Config) {
    if let PolicyOptions::PTier(policy) = &mut config.policy {
        *policy = PTier { read_limit: 8, ..policy.clone() };
    }
}

fn early(config: &mut Config) {
    change(config, |reads| reads.operations /= 100);
}

fn early_and_slow(config: &mut Config) {
    early(config);
    config.device.read_speed /= 4.0;
    config.device.write_speed /= 4.0;
}

/// The name of a case.
#[must_use]
pub fn case_of_change(item: u64, change: &str, design: Design) -> String {
    format!("{change}, {}", case(item, design))
}

/// Reads under each change.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let mut figure = Figure::new(
        "reads",
        "What the reads of figure 6 cost: one thing changed at a time",
        "(The paper changes nothing of these.)",
        setting(scale, comparable(scale, ITEMS[0])),
    );
    for (name, change, items, designs) in CHANGES {
        for &item in items {
            let store = comparable(scale, item);
            for &design in designs {
                let case = case_of_change(item, name, design);
                progress(&format!("reads, {case}"));
                let mut config = design.config(scale, store, writes_then_reads(store));
                change(&mut config);
                let report = simulate(&case, config)?;
                let Some(reads) = report.phases.iter().find(|phase| phase.name == "reads") else {
                    continue;
                };
                let found = &reads.figures;
                let rate = found.throughput_mean * store.factor();
                figure.found(&case, TABLES, tables_a_read(found));
                figure.found(&case, BLOCKS, found.read_ios_per_get);
                figure.found(&case, BLOCK, 1e6 / rate / found.read_ios_per_get);
                figure.found(&case, MERGES, found.compaction_seconds / found.seconds);
                figure.found(&case, READ, rate / 1e3);
            }
        }
    }
    figure.notes = NOTES.iter().map(|note| (*note).to_owned()).collect();
    Ok(figure)
}
