//! What a scan costs, and under which design it is the fastest: one thing changed at a time.

use super::workloads::SCAN;
use super::{BUSY, DESIGNS, Design, RATE, STALLS, measure, run, setting, store, workload};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::{Clients, Config, Kind};

/// Tables of which a scan needs a block.
pub const TABLES: &str = "tables a scan";
/// Blocks that a scan fetches from storage.
pub const BLOCKS: &str = "blocks a scan";
/// What a scan takes for each of these.
pub const BLOCK: &str = "microseconds a block";

/// A change of a store, where an operation stands for so many.
pub type Change = fn(&mut Config, f64);

/// A case, its workload and what is changed.
pub type Case = (&'static str, &'static str, Change);

/// The cases.
pub const CASES: [Case; 8] = [
    ("ycsb-scan", "ycsb-scan", |_, _| ()),
    ("ycsb-scan, 8 clients", "ycsb-scan", |config, _| clients(config, |clients| clients.count = 8)),
    ("ycsb-scan at 25 thousand a second", "ycsb-scan", |config, factor| {
        clients(config, |clients| clients.rate = 25e3 / factor);
    }),
    ("ycsb-scan, storage x1/16", "ycsb-scan", |config, _| {
        config.device.read_speed /= 16.0;
        config.device.write_speed /= 16.0;
    }),
    ("ycsb-scan, lazy scans", "ycsb-scan", |config, _| config.lazy_scans = true),
    ("ycsb-scan, 8 clients, lazy scans", "ycsb-scan", |config, _| {
        clients(config, |clients| clients.count = 8);
        config.lazy_scans = true;
    }),
    ("mixgraph2", "mixgraph2", |_, _| ()),
    ("mixgraph2, lazy scans", "mixgraph2", |config, _| config.lazy_scans = true),
];

const NOTES: [&str; 3] = [
    "With 80 clients the baseline's level 0 stands near the 20 runs from which writes slow down, \
     and a scan fetches a block of each. That less goes on beside scans makes a block 8 % \
     cheaper than under buckets, but there are 44 % more of them. On storage a sixteenth as fast \
     a block is 17 % cheaper, and there are 46 % more.",
    "With 8 clients, or at 25 thousand operations a second, writes hardly stall, as in the \
     paper. Then the baseline's scans are faster than those of buckets, as there, because its \
     level 0 has few runs, and because flushes into buckets leave tables of several runs in each \
     bucket, and more runs in all: a scan fetches a block of the next table of each run, even if \
     that lies in another bucket. Subcompaction has the fewest runs, and its scans are the \
     fastest; the paper's are slower than those of buckets.",
    "Lazy scans fetch only from the files of their bucket, as the paper's do. Mixgraph2 is then \
     alike under all designs, and ycsb-scan 1.11 times as fast under buckets as under \
     subcompaction, as in the paper (alike, and 1.05 times). The baseline's scans are not the \
     fastest then, with 80 clients or with 8.",
];

/// Changes the clients of all phases.
pub(super) fn clients(config: &mut Config, change: impl FnMut(&mut Clients)) {
    config.workload.phases.iter_mut().flat_map(|phase| &mut phase.clients).for_each(change);
}

/// The name of a case under a design.
#[must_use]
pub fn case(name: &str, design: Design) -> String {
    format!("{name}, {}", design.name())
}

/// All designs in all cases.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    under(&CASES, &DESIGNS, scale, progress)
}

/// Some of the designs in some of the cases.
///
/// # Errors
/// A simulation that failed.
pub fn under(
    cases: &[Case],
    designs: &[Design],
    scale: Scale,
    progress: &mut dyn FnMut(&str),
) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "scans",
        "What a scan costs: one thing changed at a time",
        "Ycsb-scan: the baseline scans fastest, as less goes on beside scans, then buckets; writes hardly stall. \
         Mixgraph2: alike. Reads look into the files of one bucket alone.",
        format!(
            "{} Ycsb-scan has half as many operations, after a load of the other half. Lazy scans fetch nothing of a \
             table before they come to its first key; others fetch a block of each run, as those of the engine do.",
            setting(store, flushes)
        ),
    );
    for (name, of, change) in cases {
        let flushes = if of.starts_with("ycsb") { flushes / 2 } else { flushes };
        for &design in designs {
            let case = case(name, design);
            progress(&format!("scans, {case}"));
            let mut config = design.config(store, workload(of, store, flushes));
            change(&mut config, store.factor());
            let (found, _) = run(&case, config)?;
            measure(&mut figure, &case, &found, store);
            figure
                .rows
                .retain(|row| row.case != case || [RATE, STALLS, BUSY].contains(&row.measure));
            let Some(latency) = found.latencies.get(&Kind::Scan) else { continue };
            let micros = latency.mean * 1e6 / store.factor();
            figure.found(&case, TABLES, found.tables_per_scan);
            figure.found(&case, BLOCKS, found.read_ios_per_scan);
            figure.found(&case, BLOCK, micros / found.read_ios_per_scan);
            figure.found(&case, SCAN, micros);
        }
    }
    figure.notes = NOTES.iter().map(|note| (*note).to_owned()).collect();
    Ok(figure)
}
