//! Figure 11 again: what its ratios depend on, one switch at a time.

use super::{Design, PARTS, THREADS, setting, store, workload};
use crate::figure::{Figure, Source};
use crate::scaled::{Scaled, start};
use crate::{PapersError, Scale};
use terrane_policy::{BucketLsm, PolicyOptions};
use terrane_sim::{Choice, Config, Figures};

/// Throughput of buckets over that of the baseline.
pub const OVER_BASELINE: &str = "bucket over baseline";
/// Throughput of buckets over that of subcompaction.
pub const OVER_SHARED: &str = "bucket over subcompaction";
/// Time in which writes wait for level 0, of buckets over the baseline.
pub const STALLS: &str = "its stalls by level 0";

/// The designs, and the names of their throughput.
const DESIGNS: [(Design, &str); 3] = [
    (Design::Baseline, "baseline, thousand a second"),
    (Design::Subcompaction(PARTS), "subcompaction, 8"),
    (Design::Buckets(THREADS as u64), "bucket, 80"),
];

/// Workloads, with the paper's ratios.
pub const WORKLOADS: [(&str, f64, f64); 2] =
    [("fillrandom", 1.94, 1.43), ("mixgraph1", 2.60, 1.75)];

/// Stores of a workload whose ranges shift.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stores {
    /// One, that stays open.
    One,
    /// One that is opened again for each number of ranges: the next flush cuts its buckets anew.
    Reopened,
    /// One for each number of ranges.
    Each,
}

/// Switches of a case.
#[derive(Clone, Copy)]
pub(super) struct Switches {
    /// Values that compress 2:1, which is the default of db_bench.
    half: bool,
    /// Processor time by what is merged, rather than by what is stored of it.
    charged_uncompressed: bool,
    stores: Stores,
    /// Whether one task and subcompaction merge within level 0 while they wait.
    within: bool,
    /// Whether buckets do.
    within_bucket: bool,
    /// Whether buckets are adjusted only while they are empty.
    only_empty: bool,
    /// Whether shares are of the buckets there are, and one is split above 1.5.
    present: bool,
    /// Whether level 1 waits for buckets that wait.
    level_one_waits: bool,
    /// Whether all buckets are due with the first, and chosen by their overlap as well.
    weighed: bool,
    /// By how much merges are slower.
    pub(super) slower: f64,
    /// Number of clients that write.
    pub(super) clients: usize,
    /// Whether parts of a shared merge end where files do.
    pub(super) at_files: bool,
    /// By how much the storage writes more slowly.
    pub(super) slower_storage: f64,
}

/// Buckets and machine of the other figures: the paper's text, but that level 1 waits.
pub(super) const TEXT: Switches = Switches {
    half: false,
    charged_uncompressed: false,
    stores: Stores::One,
    within: true,
    within_bucket: false,
    only_empty: true,
    present: false,
    level_one_waits: true,
    weighed: false,
    slower: 1.0,
    clients: 1,
    at_files: false,
    slower_storage: 1.0,
};

/// A case: its name, and what it switches.
type Case = (&'static str, fn(&mut Switches));

/// As the other figures.
pub const SAME: &str = "as figure 11";
/// The authors' code.
pub const CODE: &str = "buckets as in the code";
/// All that the paper or its code has.
pub const ALL: &str = "all";

/// A store that is opened again.
pub const REOPENED: &str = "opened again for each number of ranges";
/// Buckets are split and joined while they have tables as well.
pub const ADJUSTED: &str = "buckets adjusted with tables as well";

/// Cases that tests need.
const CI: [&str; 4] = [SAME, REOPENED, ADJUSTED, CODE];

/// The switches, alone and together.
const CASES: [Case; 15] = [
    (SAME, |_| ()),
    ("values that compress 2:1", |all| all.half = true),
    (REOPENED, |all| all.stores = Stores::Reopened),
    ("a store for each number of ranges", |all| all.stores = Stores::Each),
    ("no merges within level 0 without buckets", |all| all.within = false),
    ("merges within level 0 of a bucket", |all| all.within_bucket = true),
    (ADJUSTED, |all| all.only_empty = false),
    ("shares of present buckets, split above 1.5", |all| all.present = true),
    ("both of these", |all| (all.only_empty, all.present) = (false, true)),
    ("level 1 beside waiting buckets", |all| all.level_one_waits = false),
    ("all due with the first, by overlap as well", |all| all.weighed = true),
    (CODE, code),
    (ALL, together),
    ("all, merges by what is not compressed", |all| {
        together(all);
        all.charged_uncompressed = true;
    }),
    ("all, merges at a third of the speed", |all| {
        together(all);
        all.slower = 3.0;
    }),
];

fn code(all: &mut Switches) {
    (all.within, all.within_bucket, all.only_empty) = (false, true, false);
    (all.present, all.weighed) = (true, true);
}

pub(super) fn together(all: &mut Switches) {
    code(all);
    (all.half, all.stores) = (true, Stores::Each);
}

/// The name of a case.
#[must_use]
pub fn case(workload: &str, switch: &str) -> String {
    format!("{workload}, {switch}")
}

/// Throughput under each of the switches.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let flushes = flushes.min(200);
    let chosen = |name: &str| scale == Scale::Full || CI.contains(&name);
    let mut figure = Figure::new(
        "switches",
        "Figure 11 again: one switch at a time",
        "Buckets have 1.94 times the throughput of the baseline and 1.43 times that of subcompaction under \
         fillrandom, 2.60 and 1.75 times under mixgraph1, with 4 % of the baseline's stalls by level 0.",
        format!(
            "{} What is switched: values that compress 2:1, db_bench's default; a store that is opened again for each \
             of the five numbers of ranges, so that its buckets are cut anew, or a store for each (`keyrange_num` is a \
             flag of db_bench); and where the authors' code differs from their text. It merges within level 0 under \
             buckets and not without them, adjusts every bucket whose tables were merged, even if it has others, \
             measures shares by the buckets there are and splits above 1.5, and takes any bucket once one is due, by \
             its tables and by what it overlaps. In the text (section V-B) level 1 goes down beside a bucket that \
             waits; in the code, and elsewhere here, it waits. \"As in the code\" is all of these but the first two.",
            setting(store, flushes)
        ),
    );
    for (name, paper_baseline, paper_shared) in WORKLOADS {
        for (switch, change) in CASES.into_iter().filter(|(switch, _)| chosen(switch)) {
            let mut switches = TEXT;
            change(&mut switches);
            let case = case(name, switch);
            let mut found = Vec::new();
            for (design, measure) in DESIGNS {
                progress(&format!("switches, {case}, {}", design.name()));
                let run = run(&case, design, switches, (name, store, flushes))?;
                figure.found(&case, measure, run.rate * store.factor() / 1e3);
                found.push(run);
            }
            let [baseline, shared, bucket] = found[..] else { continue };
            let measured = |paper| (Source::Measured, paper);
            let over = bucket.rate / baseline.rate;
            figure.beside(&case, OVER_BASELINE, over, measured(paper_baseline));
            let over = bucket.rate / shared.rate;
            figure.beside(&case, OVER_SHARED, over, measured(paper_shared));
            figure.found(&case, STALLS, bucket.level0 / baseline.level0.max(f64::MIN_POSITIVE));
        }
    }
    Ok(figure)
}

/// Operations of the simulated store a second, and seconds in which they waited for level 0.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) rate: f64,
    pub(super) level0: f64,
}

impl Run {
    fn of(operations: u64, found: &[Figures]) -> Self {
        let seconds: f64 = found.iter().map(|found| found.seconds).sum();
        let stalls = found.iter().map(|found| &found.stall_seconds);
        let level0 = stalls.map(|stalls| stalls.level0 + stalls.slowed_level0).sum();
        Run { rate: operations as f64 / seconds, level0 }
    }
}

/// Numbers of ranges in turn.
const RANGES: [u64; 5] = [10, 20, 30, 40, 50];

/// A design under these switches.
pub(super) fn run(
    case: &str,
    design: Design,
    switches: Switches,
    (name, store, flushes): (&str, Scaled, u64),
) -> Result<Run, PapersError> {
    let config = switched(design.config(store, workload(name, store, flushes)), switches);
    let operations = config.workload.operations();
    let shifts = name == "mixgraph1";
    match switches.stores {
        Stores::Each if shifts => {
            let each = RANGES.map(|ranges| super::run(case, of_ranges(config.clone(), ranges)));
            let found: Result<Vec<_>, _> =
                each.into_iter().map(|run| run.map(|(found, _)| found)).collect();
            Ok(Run::of(operations, &found?))
        }
        Stores::Reopened if shifts => Ok(Run::of(operations, &[reopened(case, config)?])),
        _ => Ok(Run::of(operations, &[super::run(case, config)?.0])),
    }
}

/// A fifth of the operations, in this number of ranges.
fn of_ranges(mut config: Config, ranges: u64) -> Config {
    for phase in &mut config.workload.phases {
        phase.operations /= RANGES.len() as u64;
        for clients in &mut phase.clients {
            clients.choice = Choice::ShiftingRanges { from: ranges, to: ranges, step: 1 };
        }
    }
    config
}

/// A store that is opened again for each number of ranges.
fn reopened(case: &str, config: Config) -> Result<Figures, PapersError> {
    let failed = |why| PapersError::Simulation { case: case.to_owned(), why };
    let policy = config.policy.clone();
    let stage = config.workload.operations() / RANGES.len() as u64;
    let mut simulation = start(case, config)?;
    for _ in 1..RANGES.len() {
        simulation.advance(stage).map_err(failed)?;
        simulation.set_policy(&policy).map_err(failed)?;
    }
    let report = simulation.run().map_err(failed)?;
    let phase = report.phases.iter().rfind(|phase| phase.figures.operations > 0);
    Ok(phase.map_or_else(|| report.whole.clone(), |phase| phase.figures.clone()))
}

/// The store under these switches.
fn switched(mut config: Config, switches: Switches) -> Config {
    let mut slower = switches.slower;
    if switches.half {
        config.value_compression = 2.0;
        slower *= if switches.charged_uncompressed { 2.0 } else { 1.0 };
    }
    config.device.merge_nanos_per_byte *= slower;
    config.device.write_speed /= switches.slower_storage;
    let phases = config.workload.phases.iter_mut();
    phases.flat_map(|phase| &mut phase.clients).for_each(|of| of.count = switches.clients);
    if switches.charged_uncompressed {
        config.device.flush_nanos_per_byte =
            config.device.flush_nanos_per_byte.map(|nanos| nanos * 2.0);
    }
    match &mut config.policy {
        PolicyOptions::Leveled(leveled) => {
            leveled.merge_waiting = switches.within;
            config.parts_at_tables = switches.at_files && leveled.max_subcompactions > 1;
        }
        PolicyOptions::BucketLsm(bucket) => {
            *bucket = BucketLsm {
                split_percent: if switches.present { 150 } else { 200 },
                count_present: switches.present,
                only_empty: switches.only_empty,
                merge_waiting: switches.within_bucket,
                level_one_waits: switches.level_one_waits,
                eager: switches.weighed,
                overlap_percent: if switches.weighed { 50 } else { 0 },
                join_hot: switches.present,
                ..bucket.clone()
            };
        }
        _ => {}
    }
    config
}
