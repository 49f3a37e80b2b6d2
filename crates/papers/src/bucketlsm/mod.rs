//! Park, Min, Byeon, Noh, Park, He, Kim, Kim: "BucketLSM: Breaking the Compaction Scalability Barrier in
//! LSM-Based Key-Value Stores".
//!
//! * [`inputs`] - figure 4: what merges of level 0 and deeper ones read.
//! * [`scaling`] - figure 10 and table I: throughput by the parts of a merge and by buckets.
//! * [`workloads`] - figures 11, 12 and 14: five workloads, their stalls and the latencies of reads.
//! * [`switches`] - figure 11 again: what its ratios depend on, one switch at a time.
//! * [`unbound`] - figure 11 once more: clients that are not the bound, and parts that end where files do.
//! * [`stragglers`] - figure 10 again: slower merges, their set-up, more clients, parts that end where files do.
//! * [`deviations`] - table I again: what makes the times of level-0 merges differ.
//! * [`threads`] - figure 13: busy workers over time.
//! * [`rebalancing`] - figure 15: buckets that stay and buckets that follow the keys.
//! * [`workers`] - throughput by the number of workers.
//! * [`bounds`] - what bounds the designs: the same load with one thing changed.
//! * [`staying`] - ranges that stay, and merges of half the speed.
//! * [`gets`], [`scans`] - what a get and a scan cost: one thing changed at a time.
//!
//! The paper's store has two memtables of 256 MB and entries of 16 + 1024 bytes; its 100 GB are 400
//! flushes, the number here at the full scale.

pub mod bounds;
pub mod deviations;
pub mod gets;
pub mod inputs;
pub mod reads;
pub mod rebalancing;
pub mod scaling;
pub mod scans;
pub mod staying;
pub mod stragglers;
pub mod switches;
pub mod threads;
pub mod unbound;
pub mod workers;
pub mod workloads;

use crate::figure::Figure;
use crate::scaled::{Scaled, simulate};
use crate::{Paper, PapersError, Scale};
use terrane_policy::{BucketLsm, Leveled, PolicyOptions};
use terrane_sim::{Config, Figures, Report, Workload};

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "bucketlsm",
    title: "BucketLSM (Park et al.)",
    figures: &[
        ("figure-4", inputs::figure),
        ("figure-10", scaling::figure),
        ("stragglers", stragglers::figure),
        ("deviations", deviations::figure),
        ("figures-11-12-14", workloads::figure),
        ("switches", switches::figure),
        ("unbound", unbound::figure),
        ("figure-13", threads::figure),
        ("figure-15", rebalancing::figure),
        ("workers", workers::figure),
        ("bounds", bounds::figure),
        ("staying", staying::figure),
        ("gets", gets::figure),
        ("scans", scans::figure),
    ],
    left_out: &[
        ("Figures 1, 2 and 5 to 9", "they explain the design, and have no measurements."),
        (
            "Figure 3",
            "it shows the latency of reads by the files of level 0, of the baseline alone.",
        ),
    ],
};

/// A way to compact level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// One worker a merge.
    Baseline,
    /// A merge of level 0 is shared among this number of workers.
    Subcompaction(u64),
    /// Level 0 goes into a second run of level 1 while tables of the first go down.
    Pipelined,
    /// This number of buckets at first, which follow the keys.
    Buckets(u64),
    /// This number of buckets, which stay as they are.
    Static(u64),
    /// The same as the first, with temperatures by the buckets that are present.
    Present(u64),
    /// The same as the first, split and joined also while they hold tables of level 0.
    Early(u64),
}

impl Design {
    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Design::Baseline => "baseline".to_owned(),
            Design::Subcompaction(parts) => format!("subcompaction, {parts}"),
            Design::Pipelined => "pipelined".to_owned(),
            Design::Buckets(buckets) => format!("bucket, {buckets}"),
            Design::Static(buckets) => format!("static buckets, {buckets}"),
            Design::Present(buckets) => format!("bucket, {buckets}, counting those present"),
            Design::Early(buckets) => format!("bucket, {buckets}, also with tables that wait"),
        }
    }

    /// RocksDB's defaults: trigger 4, level 1 of 256 MB, ratio 10, files of 64 MB.
    fn policy(self, store: Scaled) -> PolicyOptions {
        let (level_base_bytes, target_file_bytes) = (store.buffer() / 10, store.buffer() / 4);
        let leveled = Leveled {
            level_base_bytes,
            target_file_bytes,
            dynamic_level_bytes: false,
            ..Leveled::default()
        };
        // The paper's text, but that level 1 waits, as in its authors' code, and that no buckets are joined which would
        // be split again. What else the code has is in `switches`.
        let bucket = |buckets| BucketLsm {
            split_percent: 200,
            join_percent: 50,
            join_hot: false,
            count_present: false,
            only_empty: true,
            merge_waiting: false,
            level_one_waits: true,
            eager: false,
            overlap_percent: 0,
            level_base_bytes,
            target_file_bytes,
            dynamic_level_bytes: false,
            buckets,
            follow_workers: false,
            ..BucketLsm::default()
        };
        match self {
            Design::Baseline => PolicyOptions::Leveled(leveled),
            Design::Subcompaction(max_subcompactions) => {
                PolicyOptions::Leveled(Leveled { max_subcompactions, ..leveled })
            }
            Design::Pipelined => PolicyOptions::Leveled(Leveled { pipelined: true, ..leveled }),
            Design::Buckets(buckets) => PolicyOptions::BucketLsm(bucket(buckets)),
            Design::Static(buckets) => PolicyOptions::BucketLsm(BucketLsm {
                split_percent: 100_000,
                join_percent: 0,
                min_buckets: buckets,
                ..bucket(buckets)
            }),
            Design::Present(buckets) => {
                PolicyOptions::BucketLsm(BucketLsm { count_present: true, ..bucket(buckets) })
            }
            Design::Early(buckets) => {
                PolicyOptions::BucketLsm(BucketLsm { only_empty: false, ..bucket(buckets) })
            }
        }
    }

    /// The store under this design, on the paper's machine.
    fn config(self, store: Scaled, workload: Workload) -> Config {
        let mut base = store.config(self.policy(store), workload);
        base.device.flush_nanos_per_byte =
            Some(base.device.merge_nanos_per_byte / f64::from(FLUSH_SPEED));
        Config {
            workers: THREADS,
            cores: THREADS,
            l0_slowdown_trigger: 20,
            l0_stop_trigger: 36,
            soft_pending_compaction_bytes: (f64::from(64) * GIB / store.factor()) as u64,
            hard_pending_compaction_bytes: (f64::from(256) * GIB / store.factor()) as u64,
            delayed_write_rate: (f64::from(16 << 20) / store.factor()) as u64,
            ..base
        }
    }
}

const GIB: f64 = (1u64 << 30) as f64;

/// Speed of a thread's flushes over that of its merges: a memtable has no blocks to read and no inputs to
/// compare. At the same speed flushes bound every design that keeps up ([`bounds`]).
const FLUSH_SPEED: u32 = 4;

/// The paper's processor threads, and background threads.
pub const THREADS: usize = 80;

/// The parts of a merge, and the number of buckets, in the comparisons of designs.
pub const PARTS: u64 = 8;

/// The designs that the paper compares: as many buckets as threads.
pub const DESIGNS: [Design; 4] = [
    Design::Baseline,
    Design::Subcompaction(PARTS),
    Design::Pipelined,
    Design::Buckets(THREADS as u64),
];

/// The paper's store, at a scale; with the number of its flushes.
fn store(scale: Scale) -> (Scaled, u64) {
    let (buffer_entries, flushes) = match scale {
        Scale::Ci => (512, 80),
        Scale::Full => (512, 400),
    };
    let store = Scaled {
        buffer_entries,
        key_bytes: 16,
        value_bytes: 1024,
        paper_buffer: 256 << 20,
        filter_bits_per_key: 10.0,
        paper_cache: 32 << 20,
        machine: "bucketlsm",
    };
    (store, flushes)
}

/// Returns a named workload of `flushes` flushes.
fn workload(name: &str, store: Scaled, flushes: u64) -> Workload {
    let operations = flushes * store.buffer_entries;
    Workload::preset(name, operations, operations).unwrap_or_default()
}

/// The setting in words.
fn setting(store: Scaled, flushes: u64) -> String {
    format!(
        "{flushes} flushes (the paper: 400) of {} entries (the paper: 258111) of 16 + 1024 bytes, as fast as \
         the store accepts them; RocksDB's defaults: trigger 4, level 1 of a flush, T = 10, files of a quarter \
         of a flush; writes slow down to 16 MB a second at 20 runs in level 0 (tables over one key, with \
         buckets) and at 64 GB that wait to be compacted, and stop at 36 and 256 GB. {THREADS} workers on \
         {THREADS} cores; a thread merges 200 MB a second, and flushes {FLUSH_SPEED} times as many.",
        store.buffer_entries
    )
}

/// Seconds of the writes of a load or a workload.
pub const TIME: &str = "seconds";
/// Operations of the paper's store a second.
pub const RATE: &str = "thousand operations a second";
/// Seconds in which writes waited for level 0, or were slowed down for it.
pub const LEVEL0: &str = "seconds stalled by level 0";
/// Seconds in which writes waited for flushes.
pub const MEMTABLES: &str = "seconds stalled by memtables";
/// Seconds in which writes waited for bytes to be compacted, or were slowed down for them.
pub const PENDING: &str = "seconds stalled by pending bytes";
/// The sum of these.
pub const STALLS: &str = "seconds stalled";
/// The mean number of workers that merged.
pub const BUSY: &str = "busy workers";
/// The mean of the write amplification.
pub const WRITES: &str = "write amplification";

/// Runs the operations, without what is left of compactions afterwards; returns their figures.
fn run(case: &str, config: Config) -> Result<(Figures, Report), PapersError> {
    let report = simulate(case, config)?;
    let phase = report.phases.iter().rfind(|phase| phase.figures.operations > 0);
    let figures = phase.map_or_else(|| report.whole.clone(), |phase| phase.figures.clone());
    Ok((figures, report))
}

/// Adds what a store did.
fn measure(figure: &mut Figure, case: &str, found: &Figures, store: Scaled) {
    let stalls = found.stall_seconds;
    let (level0, pending) =
        (stalls.level0 + stalls.slowed_level0, stalls.compaction_bytes + stalls.slowed);
    figure.found(case, TIME, found.seconds);
    figure.found(case, RATE, found.throughput_mean * store.factor() / 1e3);
    figure.found(case, STALLS, level0 + pending + stalls.memtables);
    figure.found(case, LEVEL0, level0);
    figure.found(case, MEMTABLES, stalls.memtables);
    figure.found(case, PENDING, pending);
    figure.found(case, BUSY, found.worker_utilisation * THREADS as f64);
    figure.found(case, WRITES, found.write_amp.unwrap_or(0.0));
}

/// Adds the ratios of one design's numbers to those of others.
fn ratios(
    figure: &mut Figure,
    case: &dyn Fn(Design) -> String,
    of: Design,
    measures: &[&'static str],
) {
    for other in DESIGNS.into_iter().filter(|other| *other != of) {
        for &measure in measures {
            ratio(figure, case, (of, other), measure);
        }
    }
}

/// Adds the ratio of one design's number to that of another.
fn ratio(
    figure: &mut Figure,
    case: &dyn Fn(Design) -> String,
    (of, other): (Design, Design),
    measure: &'static str,
) {
    let number = |design| figure.number(&case(design), measure);
    if let (Some(ours), Some(theirs)) = (number(of), number(other))
        && theirs > 0.0
    {
        let name = format!("{} over {}", case(of), other.name());
        figure.found(&name, measure, ours / theirs);
    }
}
