//! Figure 11 once more: clients that are not the bound, and parts of shared merges that end where files do.

use super::switches::{self, OVER_SHARED};
use super::{Design, PARTS, THREADS, setting, store};
use crate::figure::{Figure, Source};
use crate::{PapersError, Scale};

/// Clients that are not the bound.
const CLIENTS: usize = 4;

/// Merges at a third of the speed, and one client.
pub const BOUND: &str = "1 client";
/// The same with parts that end where files do.
pub const AT_FILES: &str = "1 client, parts at files";
/// The same with more clients instead.
pub const CLIENTS_ALONE: &str = "4 clients";
/// Both.
pub const BOTH: &str = "4 clients, parts at files";
/// Both, on storage that writes a fifth as fast.
pub const STORAGE: &str = "4 clients, parts at files, storage x1/5";

/// Speeds of merges.
pub const SPEEDS: [(&str, f64); 3] =
    [("merges x1/2", 2.0), ("merges x1/3", 3.0), ("merges x1/4", 4.0)];

/// The speed at which the paper's baseline takes as long as it states, nearly.
pub const THIRD: &str = SPEEDS[1].0;

/// A case: its name, clients, whether parts end where files do, and by how much the storage writes more slowly.
type Case = (&'static str, usize, bool, f64);

const CASES: [Case; 5] = [
    (BOUND, 1, false, 1.0),
    (AT_FILES, 1, true, 1.0),
    (CLIENTS_ALONE, CLIENTS, false, 1.0),
    (BOTH, CLIENTS, true, 1.0),
    (STORAGE, CLIENTS, true, 5.0),
];

/// Cases at speeds other than a third.
const SWEPT: std::ops::Range<usize> = 3..4;

/// Workloads, with the paper's ratios.
const WORKLOADS: [(&str, f64); 2] = [("mixgraph1", 1.75), ("fillrandom", 1.43)];

/// Designs, and the names of their throughput.
const DESIGNS: [(Design, &str); 3] = [
    (Design::Baseline, "baseline, thousand a second"),
    (Design::Subcompaction(PARTS), "subcompaction, 8"),
    (Design::Buckets(THREADS as u64), "bucket, 80"),
];

/// The name of a case.
#[must_use]
pub fn case(workload: &str, speed: &str, change: &str) -> String {
    format!("{workload}, {speed}, {change}")
}

/// Throughput under each of the changes.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let mut figure = Figure::new(
        "unbound",
        "Figure 11 once more: clients that are not the bound, and parts that end where files do",
        "Buckets have 1.75 times the throughput of subcompaction under mixgraph1, and 1.43 times under fillrandom. \
         (The baseline loads its 100 GB in about 1000 s; one thread requests under mixgraph.)",
        format!(
            "{} As \"all\" of the switches: the authors' code, values 2:1, a store for each number of ranges. Merges \
             have a third of the speed, at which the baseline loads 100 GB in 1114 s, and other speeds beside it. One \
             client writes at most 500 thousand entries a second; then {CLIENTS} write. Parts of a shared merge end \
             where 64 points of each file say, or where files end. The last writes to storage of a fifth of the speed, \
             1.4 GB a second (assumed).",
            setting(store, flushes)
        ),
    );
    for (name, paper) in WORKLOADS {
        for (speed, slower) in SPEEDS {
            let is_third = speed == THIRD;
            // Tests read the other cases from the published report.
            let all = match (scale, is_third) {
                (Scale::Full, true) => &CASES[..],
                (Scale::Ci, true) => &CASES[2..4],
                (Scale::Full, false) if name == WORKLOADS[0].0 => &CASES[SWEPT],
                _ => &CASES[..0],
            };
            for &(change, clients, at_files, slower_storage) in all {
                let mut switches = switches::TEXT;
                switches::together(&mut switches);
                (switches.slower, switches.clients) = (slower, clients);
                (switches.at_files, switches.slower_storage) = (at_files, slower_storage);
                let case = case(name, speed, change);
                let mut rates = Vec::new();
                for (design, measure) in DESIGNS {
                    progress(&format!("unbound, {case}, {}", design.name()));
                    let run = switches::run(&case, design, switches, (name, store, flushes))?;
                    figure.found(&case, measure, run.rate * store.factor() / 1e3);
                    rates.push(run.rate);
                }
                if let [_, shared, buckets] = rates[..] {
                    let paper = (Source::Measured, paper);
                    figure.beside(&case, OVER_SHARED, buckets / shared, paper);
                }
            }
        }
    }
    Ok(figure)
}
