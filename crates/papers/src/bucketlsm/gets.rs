//! Cost of a get, and the design under which it is the fastest: one thing changed at a time.

use super::reads::{Case, Reads, clients};
use super::workloads::GET;
use super::{DESIGNS, Design, setting, store};
use crate::figure::Figure;
use crate::scaled::tables_a_read;
use crate::{PapersError, Scale};
use terrane_sim::{Config, Kind};

/// Tables in which a get looks for its key.
pub const TABLES: &str = "tables a get";
/// Blocks that a get fetches from storage.
pub const BLOCKS: &str = "blocks a get";

const READS: Reads = Reads {
    kind: Kind::Read,
    figure: "gets",
    tables: (TABLES, tables_a_read),
    blocks: (BLOCKS, |found| found.read_ios_per_get),
    latency: GET,
};

/// The cases.
pub const CASES: [Case; 4] = [
    ("ycsb-get", "ycsb-get", |_, _| ()),
    ("ycsb-get, no filters", "ycsb-get", |config, _| no_filters(config)),
    ("ycsb-get at 100 thousand a second", "ycsb-get", slower),
    ("ycsb-get at 100 thousand a second, no filters", "ycsb-get", |config, factor| {
        slower(config, factor);
        no_filters(config);
    }),
];

const NOTES: [&str; 2] = [
    "A get looks into fewer tables under buckets, 2.5 rather than the baseline's 9.5, as in the paper. With filters of \
     10 bits (assumed: the paper names none) that saves less than a tenth of a block, and as more goes on beside gets, \
     a block costs 17 % more than under the baseline: a get takes 7 % more. Without filters, RocksDB's default, it \
     fetches a block of each table. Then a get takes a quarter of the baseline's time under buckets, and throughput is \
     1.19 times subcompaction's (the paper: 1.11).",
    "At 100 thousand operations a second, where writes hardly stall under buckets and subcompaction, gets are the \
     fastest under buckets, with filters and without. Under the baseline and pipelined they also wait for clients \
     whose writes are stalled.",
];

fn no_filters(config: &mut Config) {
    config.filter_bits_per_key = 0.0;
}

fn slower(config: &mut Config, factor: f64) {
    clients(config, |clients| clients.rate = 100e3 / factor);
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
        "gets",
        "What a get costs: one thing changed at a time",
        "Ycsb-get: gets are faster under buckets than under the baseline, as fewer files of level 0 lie over a key; \
         writes hardly stall.",
        format!(
            "{} Half as many operations, after a load of the other half.",
            setting(store, flushes)
        ),
    );
    READS.add(&mut figure, (cases, designs), (store, flushes), progress)?;
    figure.notes = NOTES.iter().map(|note| (*note).to_owned()).collect();
    Ok(figure)
}
