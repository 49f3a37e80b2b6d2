//! Table I and figure 7: write amplification, size and latency under YCSB.

use super::{DESIGNS, Design, comparable, scaled, setting};
use crate::figure::{Figure, Source};
use crate::scaled::{Scaled, simulate};
use crate::{PapersError, Scale};
use terrane_sim::{Phase, PhaseReport, Report, Workload};

/// Bytes of tables written for each byte of the user's.
pub const WRITES: &str = "write amplification";
/// Bytes of all tables, and of the log of values, at the end, over leveled's.
pub const SIZE: &str = "size, of leveled's";
/// The mean latency of an operation.
pub const LATENCY: &str = "us an operation";

/// The paper's operations of each phase.
const OPERATIONS: u64 = 100_000_000;
/// The phases of its first run.
pub(super) const FIRST: [&str; 5] = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f", "ycsb-d"];
/// That of its second.
pub(super) const SECOND: [&str; 1] = ["ycsb-e"];

const NOTES: [&str; 8] = [
    "pebblesdb has PebblesDB's guards: one key of 2^27 is a guard of level 1, four times as many of each next \
     level, and a guard may have two tables. Left out: merges in the last level but one that stay there, merges \
     that seeks cause, and seeks by several threads.",
    "silk has RocksDB's partial merges (256 MB in level 1, files of 64 MB), of which those below level 0 pause \
     while a memtable is flushed or level 0 is merged. Left out: more bandwidth for merges while clients do little \
     (here they never do), and a merge given up for one of level 0 that needs its tables.",
    "wisckey has LevelDB's partial merges (10 MB in level 1, files of 2 MB, a memtable of 4 MB) of keys with \
     pointers of 12 bytes; values go to a log, as they are. Left out: the log's collection, as in the paper, and \
     threads that read the values of a range ahead: E reads one after another.",
    "Write amplification is in the paper's order, except that ptier writes 2 % less than lazy-leveled, where the \
     paper's writes 1.7 times as much, and that wisckey's is not below all others. Here its log, a byte for each of \
     the user's, is not compressed, and its memtable is an eighth of the others'; more on that below.",
    "Write amplification counts bytes of tables, in which an entry takes 66 of its 116 bytes: at 1, each entry is \
     written 1.76 times. So leveled writes each entry 7.6 times, not 25. Full merges of LevelDB's capacities cause no \
     more; the paper's leveled store seems to merge more often than four files of level 0 require.",
    "ptier lies between lazy-leveled and leveled, as in the paper, if keys have few prefixes and its read limit is \
     low (8, below). With 64 prefixes it writes less than lazy-leveled. Without a read limit it writes 1.61 with 8, \
     64 and 256 prefixes alike: their number matters only for the merges within the deepest level, which reads cause. \
     The more prefixes, the less each of these reads (533, 319 and 246 KB here), and the more of them there are (343, \
     400 and 648). In the sweep of prefixes, which has 1 read for each entry rather than 4.4, tables of one of 256 \
     prefixes do not reach the limit, and it writes as little as without one (1.69).",
    "Sizes are in the paper's order, except that lazy-leveled and ptier are 6 % below leveled; in the paper \
     lazy-leveled is as large as leveled, and ptier 2 % larger. The store of ptier is that small because of the merges \
     within the deepest level that reads cause: until then, overwritten entries stay there.",
    "ptier is the fastest in none of the workloads here, where the paper's is in all of them. Filters of 10 bits leave \
     one block to read for nearly every get under every policy, so latencies differ by a few percent; a range read \
     touches more tables than under leveled and silk. A value in a log is one more block, so wisckey takes twice the \
     time, and a range read takes one more for each of its entries.",
];

/// A load, then phases of as many operations.
fn workload(load: u64, names: &[&str]) -> Workload {
    let phase = |name: &&str| {
        let preset = Workload::preset(name, load, load)?;
        let phase = preset.phases.into_iter().next()?;
        Some(Phase { name: (*name).to_owned(), ..phase })
    };
    Workload { load, phases: names.iter().filter_map(phase).collect(), ..Workload::default() }
}

/// Simulates both runs of each store.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = comparable(scale, 116);
    let load = scaled(store, OPERATIONS);
    let claim = "Write amplification is 25.34 leveled, 17.54 for SILK, 12.34 for PTierDB, 7.3 lazy-leveled, 6.32 \
                 for PebblesDB, 4.91 tiered and 2.8 for WiscKey; sizes are 7.91, 10.5, 8.1, 7.9, 12.7, 14.84 and \
                 27.2 GB. PTierDB has the least mean latency in all six \
                 workloads, 1.2 to 2.5 times below leveled's; lazy-leveled is a little better than leveled but \
                 in C, tiered and PebblesDB are worse, and WiscKey's design \"does not work for small data\".";
    let mut figure = Figure::new(
        "table-1-figure-7",
        "Table I and figure 7: YCSB",
        claim,
        format!(
            "{} A load of {load} entries of 16 + 100 bytes, then as many operations of each workload, by \
             Zipf's law of exponent 0.99; E after a load of its own.",
            setting(scale, store)
        ),
    );
    let mut sizes = Vec::new();
    for design in DESIGNS {
        let name = design.name();
        progress(&format!("table 1 and figure 7, {name}"));
        let run =
            |names: &[&str]| simulate(name, design.config(scale, store, workload(load, names)));
        let (first, second) = (run(&FIRST)?, run(&SECOND)?);
        figure.found(name, WRITES, first.whole.write_amp.unwrap_or(0.0));
        sizes.push((design, bytes(&first)));
        for (report, names) in [(&first, &FIRST[..]), (&second, &SECOND)] {
            for phase in report.phases.iter().filter(|phase| names.contains(&phase.name.as_str())) {
                figure.found(&case(&phase.name, design), LATENCY, micros(phase, store));
            }
        }
    }
    let leveled = sizes.first().map_or(1, |(_, bytes)| *bytes).max(1) as f64;
    for (design, bytes) in sizes {
        figure.found(design.name(), SIZE, bytes as f64 / leveled);
    }
    for (design, writes, gigabytes) in [
        (Design::Leveled, 25.34, 7.91),
        (Design::LazyLeveled, 7.3, 7.9),
        (Design::Tiered, 4.91, 14.84),
        (Design::PebblesDb, 6.32, 12.7),
        (Design::Silk, 17.54, 10.5),
        (Design::WiscKey, 2.8, 27.2),
        (Design::PTier, 12.34, 8.1),
    ] {
        figure.compare(design.name(), WRITES, (Source::Measured, writes));
        figure.compare(design.name(), SIZE, (Source::Derived, gigabytes / 7.91));
    }
    figure.notes = NOTES.iter().map(|note| (*note).to_owned()).collect();
    let names: Vec<_> = DESIGNS.iter().map(|design| design.name()).collect();
    let phases: Vec<_> = FIRST.into_iter().chain(SECOND).collect();
    figure.draw_bars(LATENCY, &phases, &names);
    Ok(figure)
}

/// A workload under a design.
#[must_use]
pub fn case(workload: &str, design: Design) -> String {
    format!("{workload}, {}", design.name())
}

/// The first run.
pub(super) fn first_run(store: Scaled) -> Workload {
    workload(scaled(store, OPERATIONS), &FIRST)
}

/// The second.
pub(super) fn second_run(store: Scaled) -> Workload {
    workload(scaled(store, OPERATIONS), &SECOND)
}

/// Returns the mean time of a phase's operation, over the paper's.
pub(super) fn micros(phase: &PhaseReport, store: Scaled) -> f64 {
    phase.figures.seconds / phase.figures.operations.max(1) as f64 * 1e6 / store.factor()
}

/// Bytes of all tables at the end, and of the log of values.
pub(super) fn bytes(report: &Report) -> u64 {
    report.levels.iter().map(|level| level.bytes).sum::<u64>() + report.whole.value_log_bytes
}
