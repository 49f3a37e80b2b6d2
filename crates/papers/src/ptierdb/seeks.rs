//! Table I and figure 7 again: LevelDB's compactions of tables that lookups went on past, and the machine's memory.

use super::ycsb::{self, SIZE, WRITES, case, first_run};
use super::{Design, comparable, setting};
use crate::figure::{Figure, Source};
use crate::scaled::{Scaled, UNBOUNDED, simulate};
use crate::{PapersError, Scale};
use terrane_sim::{Config, Report, Seeks};

/// The mean latency under leveled over that under ptier.
pub const LATENCY_RATIO: &str = "leveled's latency over ptier's";

/// Neither.
pub const SAME: &str = "as table I";
/// A page cache of the machine's 64 GB.
pub const MEMORY: &str = "page cache";
/// Compactions of tables that lookups went on past, under leveled.
pub const SEEKS: &str = "seeks";
/// Both.
pub const BOTH: &str = "page cache and seeks";

/// Both, where a get takes processor time for each table that it asks.
pub const PROBES: [&str; 3] = [
    "page cache, seeks, 0.5 us a table",
    "page cache, seeks, 1 us a table",
    "page cache, seeks, 2 us a table",
];

/// Storage whose writes hold reads up, without a page cache.
pub const HELD: &str = "reads wait for pages";
/// Such storage and compactions by seeks, without a page cache.
pub const SEEKS_HELD: &str = "seeks, and reads wait for pages";

/// A case: what it changes of the setting.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// Whether there is a page cache.
    page_cache: bool,
    /// Whether seeks cause compactions.
    seeks: bool,
    /// Processor time of a table that a get asks.
    probe_micros: f64,
    /// Time for which a die of the storage writes a page; reads of the die wait for it.
    program_micros: f64,
}

const fn case_of(name: &'static str, page_cache: bool, seeks: bool) -> Case {
    Case { name, page_cache, seeks, probe_micros: 0.0, program_micros: 0.0 }
}

const fn probing(name: &'static str, probe_micros: f64) -> Case {
    Case { probe_micros, ..case_of(name, true, true) }
}

/// A page of TLC flash; assumed.
const PROGRAM_MICROS: f64 = 1000.0;

const CASES: [Case; 9] = [
    case_of(SAME, false, false),
    case_of(MEMORY, true, false),
    case_of(SEEKS, false, true),
    case_of(BOTH, true, true),
    Case { program_micros: PROGRAM_MICROS, ..case_of(HELD, false, false) },
    Case { program_micros: PROGRAM_MICROS, ..case_of(SEEKS_HELD, false, true) },
    probing(PROBES[0], 0.5),
    probing(PROBES[1], 1.0),
    probing(PROBES[2], 2.0),
];

/// The number of the cases that tests need.
const CI_CASES: usize = 6;

/// Workloads whose latency the paper has 1.2 to 2.5 times below leveled's.
pub const WORKLOADS: [&str; 4] = ["ycsb-a", "ycsb-b", "ycsb-f", "ycsb-d"];

/// The paper's memory.
const MEMORY_BYTES: f64 = (64u64 << 30) as f64;

/// Leveled and ptier under the first run of YCSB, one switch at a time.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = comparable(scale, 116);
    let mut figure = Figure::new(
        "seeks",
        "Table I and figure 7 again: seeks that compact, and memory",
        "Leveled writes 25.34; its mean latency is 1.2 to 2.5 times PTierDB's in all workloads. (The paper's stores \
         are built on LevelDB, which compacts a file after as many lookups went on past it as it has 16 KiB, at least \
         100; its machine has 64 GB of memory.)",
        format!(
            "{} The first run of table I. Leveled with and without LevelDB's compactions by seeks, in place of which \
             ptier has merges by reads; both with and without a page cache of 64 GB. Then a get takes processor time \
             for each table that it asks for its key, which is assumed: 0.5 to 2 us. *Reads wait for pages* is without \
             the page cache, on storage whose dies write a page for {PROGRAM_MICROS} us (assumed) and serve no reads \
             meanwhile.",
            setting(scale, store)
        ),
    );
    let cases = if scale == Scale::Ci { &CASES[..CI_CASES] } else { &CASES[..] };
    for &Case { name, page_cache, seeks, probe_micros, program_micros } in cases {
        let mut run = |design: Design, seeks: bool| {
            progress(&format!("seeks, {name}, {}", design.name()));
            let mut config = design.config(scale, store, first_run(store));
            config.device.probe_micros = probe_micros * store.factor();
            config.device.program_micros = program_micros * store.factor();
            simulate(name, switched(store, config, (page_cache, seeks)))
        };
        let (leveled, ptier) = (run(Design::Leveled, seeks)?, run(Design::PTier, false)?);
        add_writes(&mut figure, name, [&leveled, &ptier]);
        let sizes = [&leveled, &ptier].map(|report| ycsb::bytes(report) as f64);
        let paper = (Source::Derived, 8.1 / 7.91);
        figure.beside(&case(name, Design::PTier), SIZE, sizes[1] / sizes[0], paper);
        add_latency_ratios(&mut figure, name, [&leveled, &ptier], store);
    }
    Ok(figure)
}

/// Adds the write amplification of leveled and ptier, beside table I's.
pub(super) fn add_writes(figure: &mut Figure, name: &str, [leveled, ptier]: [&Report; 2]) {
    let rows = [(Design::Leveled, leveled, 25.34), (Design::PTier, ptier, 12.34)];
    for (design, report, paper) in rows {
        let writes = report.whole.write_amp.unwrap_or(0.0);
        figure.beside(&case(name, design), WRITES, writes, (Source::Measured, paper));
    }
}

/// Adds the ratio of leveled's and ptier's latencies for each workload.
pub(super) fn add_latency_ratios(
    figure: &mut Figure,
    name: &str,
    reports: [&Report; 2],
    store: Scaled,
) {
    for workload in WORKLOADS {
        let [leveled, ptier] = reports.map(|report| {
            let phase = report.phases.iter().find(|phase| phase.name == workload);
            phase.map_or(0.0, |phase| ycsb::micros(phase, store))
        });
        figure.found(&case_of_workload(name, workload), LATENCY_RATIO, leveled / ptier);
    }
}

/// The case of a workload.
#[must_use]
pub fn case_of_workload(name: &str, workload: &str) -> String {
    format!("{name}, {workload}")
}

pub(super) fn switched(store: Scaled, config: Config, (page_cache, seeks): (bool, bool)) -> Config {
    let page_cache_bytes = if page_cache { (MEMORY_BYTES / store.factor()) as u64 } else { 0 };
    let least = (Seeks::default().least as f64 / store.factor()) as u64;
    // A lookup here stands for as many of the paper's as a byte for its bytes.
    let seeks = seeks.then(|| Seeks { least, target_file_bytes: UNBOUNDED, ..Seeks::default() });
    Config { page_cache_bytes, seeks, ..config }
}
