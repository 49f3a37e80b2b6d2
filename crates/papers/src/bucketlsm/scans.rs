//! Cost of a scan, and the design under which it is the fastest: one thing changed at a time.

use super::reads::{Case, Reads, clients};
use super::workloads::SCAN;
use super::{DESIGNS, Design, setting, store};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::Kind;

/// Tables of which a scan needs a block.
pub const TABLES: &str = "tables a scan";
/// Blocks that a scan fetches from storage.
pub const BLOCKS: &str = "blocks a scan";

const READS: Reads = Reads {
    kind: Kind::Scan,
    figure: "scans",
    tables: (TABLES, |found| found.tables_per_scan),
    blocks: (BLOCKS, |found| found.read_ios_per_scan),
    latency: SCAN,
};

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
            "{} Ycsb-scan has half as many operations, after a load of the other half. Lazy scans, as those of the \
             engine, fetch nothing of a table before they come to its first key; others fetch a block of each run.",
            setting(store, flushes)
        ),
    );
    READS.add(&mut figure, (cases, designs), (store, flushes), progress)?;
    figure.notes = NOTES.iter().map(|note| (*note).to_owned()).collect();
    Ok(figure)
}
