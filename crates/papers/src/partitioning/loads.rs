//! Figures 5 to 12: a load of distinct keys, then point reads and scans.

use super::{Design, GLOBAL, GLOBAL_CUT, LEVELED, LOCAL, LOCAL_CUT, NONE, SIZE, setting, store};
use crate::figure::{Figure, Source};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::{Clients, Distribution, KeyOrder, Kind, Mix, Phase, Report, Workload};

/// The designs of the figures, and cut flushes beside them.
pub const DESIGNS: [Design; 7] = [NONE, SIZE, LOCAL, GLOBAL, LOCAL_CUT, GLOBAL_CUT, LEVELED];

/// Seconds from the first write until compactions have nothing left to do.
pub const TIME: &str = "seconds of writing";
/// Seconds in which any merge ran.
pub const BUSY: &str = "seconds of compaction";
/// Writes of merges in these loads.
pub const THROUGHPUT: &str = "MB compacted a second";
/// Bytes of the load for each second in which any merge ran: what is left of a policy's throughput once it has written
/// more than another's.
pub const LOADED: &str = "MB loaded a second of compaction";
/// Bytes written by flushes and merges for each byte of the user.
pub const WRITES: &str = "write amplification";
/// Merges and moved tables of a compaction.
pub const GROUPS: &str = "groups a compaction";
/// Those of the greatest compaction.
pub const MOST: &str = "groups at most";
/// Bytes that were moved, of those that compactions took.
pub const MOVED: &str = "share of moved bytes";
/// Tables at the end.
pub const TABLES: &str = "tables";
/// Fill of tables: the mean, and the most of one of ten, of half, and of 99 of 100.
pub const FILL: &str = "fill of tables";
/// One of ten.
pub const FILL_TENTH: &str = "fill, 10 %";
/// Half.
pub const FILL_HALF: &str = "fill, 50 %";
/// 99 of 100.
pub const FILL_MOST: &str = "fill, 99 %";
/// From the start of a merge until it is installed, of the one that took longest.
pub const LONGEST: &str = "seconds of the longest group";
/// Microseconds of a point read.
pub const GET: &str = "microseconds a get";
/// Microseconds of a range read.
pub const SCAN: &str = "microseconds a scan";

/// Keys alike everywhere.
///
/// # Errors
/// A simulation that failed.
pub fn random(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let claim = "Total write time of global-range is 8 % below that of none and 13 % below that of size. \
                 Its compaction throughput is the highest, by up to 30 %, local-range's next; leveled's is \
                 the lowest. Global-range has 8 % more tables than size, local-range 70 %. Leveled reads \
                 fastest; point reads of global-range are no slower than others', and scans at most 10 %.";
    let mut figure = load(
        "figures-5-8",
        "Figures 5 to 8: keys alike everywhere",
        claim,
        (scale, KeyOrder::Scattered),
        progress,
    )?;
    for (over, measure, paper) in [
        ("global-range over none", TIME, 0.92),
        ("global-range over size", TIME, 0.87),
        ("global-range over size", TABLES, 1.08),
        ("local-range over size", TABLES, 1.7),
        ("leveled over global-range", LOADED, 1.0 / 1.3),
    ] {
        figure.compare(over, measure, (Source::Derived, paper));
    }
    Ok(figure)
}

/// Keys that are dense towards the least.
///
/// # Errors
/// A simulation that failed.
pub fn skewed(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let claim = "As with random keys. Local-range has 13 % fewer tables than there, global-range 38 % more.";
    let mut figure = load(
        "figures-9-12",
        "Figures 9 to 12: keys drawn by Zipf's law of exponent 0.5",
        claim,
        (scale, KeyOrder::Skewed),
        progress,
    )?;
    let over_random = random(scale, progress)?;
    for (design, paper) in [(LOCAL, 0.87), (GLOBAL, 1.38)] {
        let tables = |figure: &Figure| figure.number(design.name, TABLES);
        if let (Some(ours), Some(other)) = (tables(&figure), tables(&over_random)) {
            let case = format!("{} over random keys", design.name);
            figure.beside(&case, TABLES, ours / other, (Source::Measured, paper));
        }
    }
    figure.notes.push(
        "None, size and leveled do what they do in figures 5 to 8, to the last number but gets: the keys are those \
         keys, squared as fractions of the key space, so that they come in the same order and none comes twice, and \
         these three look at order and bytes alone. Only where a range is halved does it matter where keys are \
         dense. (Of 2^64 numbers drawn by Zipf's law of exponent 0.5 hardly any comes twice.)"
            .to_owned(),
    );
    Ok(figure)
}

fn load(
    id: &'static str,
    title: &'static str,
    claim: &'static str,
    (scale, order): (Scale, KeyOrder),
    progress: &mut dyn FnMut(&str),
) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let (gets, scans) = reads(scale);
    let setting = format!(
        "{} 16 workers on 16 cores. Then, at rest, {gets} gets and {scans} scans of {SCAN_ENTRIES} entries, \
         which are of {SCAN_ENTRIES} entries here, too: they come to more tables than the paper's.",
        setting(store, flushes)
    );
    let mut figure = Figure::new(id, title, claim, setting);
    for design in DESIGNS {
        progress(&format!("{id}, {}", design.name));
        let report = simulate(
            design.name,
            design.config(scale, workload(flushes * store.buffer_entries, order, scale), 16),
        )?;
        measure(&mut figure, design.name, &report, store.factor(), store.buffer());
    }
    for (name, over) in [
        ("global-range over none", (GLOBAL, NONE)),
        ("global-range over size", (GLOBAL, SIZE)),
        ("local-range over size", (LOCAL, SIZE)),
        ("leveled over global-range", (LEVELED, GLOBAL)),
    ] {
        for measure in [TIME, THROUGHPUT, LOADED, TABLES, GET, SCAN] {
            let of = |design: Design| figure.number(design.name, measure);
            if let (Some(ours), Some(other)) = (of(over.0), of(over.1)) {
                figure.found(name, measure, ours / other);
            }
        }
    }
    Ok(figure)
}

/// Gets and scans; at the full scale the paper's.
fn reads(scale: Scale) -> (u64, u64) {
    if scale == Scale::Ci { (20_000, 500) } else { (100_000, 10_000) }
}

const SCAN_ENTRIES: u64 = 1000;

fn workload(load: u64, order: KeyOrder, scale: Scale) -> Workload {
    let (gets, scans) = reads(scale);
    let phase = |name: &str, operations, mix| Phase {
        name: name.to_owned(),
        wait_until_idle: true,
        operations,
        clients: vec![Clients {
            mix,
            scan_entries: SCAN_ENTRIES,
            scan_entries_least: SCAN_ENTRIES,
            ..Clients::default()
        }],
    };
    let gets = phase("gets", gets, Mix { read: 1.0, ..Mix::default() });
    let scans = phase("scans", scans, Mix { scan: 1.0, ..Mix::default() });
    Workload { load, order, phases: vec![gets, scans], ..Workload::default() }
}

/// Seconds from the first write until compactions have nothing left to do.
pub(super) fn writing_seconds(report: &Report) -> f64 {
    report.phases.iter().take(2).map(|phase| phase.figures.seconds).sum()
}

/// Adds what a store did. Latencies are those of the paper's machine, of which ours has a fraction.
pub(super) fn measure(figure: &mut Figure, case: &str, report: &Report, factor: f64, table: u64) {
    let whole = &report.whole;
    figure.found(case, TIME, writing_seconds(report));
    figure.found(case, BUSY, whole.compaction_seconds);
    figure.found(case, THROUGHPUT, whole.compaction_throughput * factor / 1e6);
    let loaded = whole.user_bytes as f64 * factor / 1e6;
    figure.found(case, LOADED, loaded / whole.compaction_seconds.max(f64::MIN_POSITIVE));
    figure.found(case, WRITES, whole.write_amp.unwrap_or(0.0));
    figure.found(case, GROUPS, whole.compaction_groups.mean);
    figure.found(case, MOST, whole.compaction_groups.max as f64);
    let taken = whole.moved_bytes + whole.merge_read_bytes;
    figure.found(case, MOVED, whole.moved_bytes as f64 / taken.max(1) as f64);
    let (tables, bytes) = (report.levels.iter())
        .fold((0, 0), |(tables, bytes), level| (tables + level.tables, bytes + level.bytes));
    figure.found(case, LONGEST, whole.merge_seconds.map_or(0.0, |took| took.max));
    figure.found(case, TABLES, tables as f64);
    figure.found(case, FILL, bytes as f64 / (tables as u64 * table).max(1) as f64);
    let Distribution { p10, p50, p99, .. } = report.table_bytes;
    for (measure, bytes) in [(FILL_TENTH, p10), (FILL_HALF, p50), (FILL_MOST, p99)] {
        figure.found(case, measure, bytes as f64 / table as f64);
    }
    for (measure, kind) in [(GET, Kind::Read), (SCAN, Kind::Scan)] {
        if let Some(latency) = whole.latencies.get(&kind) {
            figure.found(case, measure, latency.mean * 1e6 / factor);
        }
    }
}
