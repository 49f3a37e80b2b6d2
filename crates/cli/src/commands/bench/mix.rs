//! A workload of the simulator on a real store: the same operations under the same names, and the same
//! figures.
//!
//! 1. The load is put first. Then phase after phase one thread runs the operations that the simulator
//!    draws for the clients of each, back to back; a phase with clients that differ is refused before.
//! 2. The slowest window may start with any operation of a phase.
//! 3. The space is that of table files, and writes are those of flushes and merges, as far as they have
//!    come. Before phases that ask for it and after the last, the tree becomes idle.

use super::compactions::{CompactionFigures, Mark};
use super::measure::Bench;
use super::present::Present;
use super::slices;
use super::space::Watch;
use crate::commands::simulate::KINDS;
use crate::exit::Failure;
use serde::Serialize;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};
use terrane::stats::{BackgroundStats, ReadCounts};
use terrane::{Options, Stats};
use terrane_measure::{Terrane, Worker};
use terrane_sim::{
    Config, Kind, Latencies, Latency, LevelFigures, Operation, Operations, Report, Simulation,
    Workload,
};

/// Results of a workload under a policy.
#[derive(Serialize)]
pub struct MixReport {
    pub policy: String,
    /// The phases, the last of which is the whole.
    pub phases: Vec<PhaseFigures>,
    /// The same in the simulator, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Report>,
}

/// Measurements of a phase; those of the simulator have the same names.
#[derive(Serialize)]
pub struct PhaseFigures {
    pub name: String,
    pub seconds: f64,
    pub operations: u64,
    pub user_bytes: u64,
    pub logical_bytes: u64,
    pub write_amp: Option<f64>,
    pub space_amp_peak: Option<f64>,
    pub store_bytes_peak: u64,
    pub throughput_mean: f64,
    pub throughput_worst_window: f64,
    /// Blocks that a get and a scan fetched past the cache, on average.
    pub read_ios_per_get: Option<f64>,
    pub read_ios_per_scan: Option<f64>,
    pub by_level: Vec<LevelFigures>,
    /// Figures of compactions, and the tables at the end.
    #[serde(flatten)]
    pub compactions: CompactionFigures,
    /// Latencies by kind of operation.
    pub latencies: BTreeMap<Kind, Latency>,
    /// Mean share of time that workers spent on merges.
    pub worker_utilisation: Option<f64>,
    /// Background work of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundStats>,
}

/// The moment at which a phase starts.
struct Begun {
    at: Instant,
    stats: Stats,
    compactions: Mark,
    watch: Watch,
}

/// Results of its operations.
#[derive(Default)]
struct Done {
    operations: u64,
    user_bytes: u64,
    busy: Duration,
    /// The greatest time that a window took.
    slowest: Option<Duration>,
    latencies: BTreeMap<Kind, Latencies>,
}

impl Done {
    /// Adds what another phase did.
    fn join(&mut self, other: &Done) {
        self.operations += other.operations;
        self.user_bytes += other.user_bytes;
        self.busy += other.busy;
        self.slowest = self.slowest.max(other.slowest);
        for (kind, latencies) in &other.latencies {
            self.latencies.entry(*kind).or_default().join(latencies);
        }
    }
}

/// A store, and what is counted over all phases.
pub struct Mix<'b, 'a> {
    bench: &'b mut Bench<'a>,
    operations: Operations,
    present: Present,
    /// Keys that were inserted so far: greater numbers are new.
    inserted: u64,
    window: usize,
}

/// Runs a workload on a new store.
pub fn run(
    bench: &mut Bench,
    workload: &Workload,
    window: u64,
    simulate: bool,
) -> Result<MixReport, Failure> {
    let policy = bench.keyspace.policy()?;
    let keys = workload.operations().max(workload.keys);
    let seed = bench.args.seed;
    let mut mix = Mix {
        operations: Operations::new(workload, seed),
        present: Present::none(keys),
        inserted: workload.keys,
        window: usize::try_from(window).unwrap_or(usize::MAX),
        bench,
    };
    let phases = mix.phases(workload)?;
    let simulated = match simulate {
        true => Some(Simulation::new(mix.bench.simulated(workload, window)?)?.run()?),
        false => None,
    };
    Ok(MixReport { policy: policy.name().to_owned(), phases, simulated })
}

impl Mix<'_, '_> {
    /// Steps 1 and 3.
    fn phases(&mut self, workload: &Workload) -> Result<Vec<PhaseFigures>, Failure> {
        let all = self.begin()?;
        let mut whole = Done::default();
        let mut phases = Vec::new();
        let load = ("load", workload.load, false);
        let others = workload.phases.iter();
        let others = others.map(|phase| (&*phase.name, phase.operations, phase.wait_until_idle));
        for (name, operations, waits) in [load].into_iter().chain(others) {
            if waits {
                self.settle()?;
            }
            if operations == 0 {
                continue;
            }
            let begun = self.begin()?;
            let done = self.phase(name, operations)?;
            whole.join(&done);
            phases.push(self.figures(name, begun, &done)?);
        }
        if !self.bench.args.no_wait_until_idle {
            self.settle()?;
        }
        phases.push(self.figures("whole", all, &whole)?);
        Ok(phases)
    }

    fn settle(&self) -> Result<(), Failure> {
        self.bench.db.flush()?;
        Ok(self.bench.db.wait_until_idle()?)
    }

    fn begin(&self) -> Result<Begun, Failure> {
        let is_table = |name: &str| name.ends_with(".sst");
        Ok(Begun {
            at: Instant::now(),
            stats: self.bench.db.stats()?,
            compactions: self.bench.compactions.mark(),
            watch: Watch::over_files(self.bench.dir.clone(), is_table),
        })
    }

    /// Step 2: the next operations.
    fn phase(&mut self, name: &str, operations: u64) -> Result<Done, Failure> {
        let Mix { bench, operations: source, present, inserted, window } = self;
        let durability = bench.args.durability();
        let mut terrane = Terrane::new(&bench.db, &bench.keyspace, durability);
        let mut worker = Worker::new(&mut terrane, &bench.rows);
        // The operation as it was drawn: the worker gets the key of its number.
        let current = Cell::new(Operation::Get(0));
        let drawn = std::iter::from_fn(|| {
            current.set(source.next()?);
            Some(current.get().map(|number| source.key(number)))
        });
        let mut done = Done::default();
        // When the last operations were done, and before them when the window started.
        let mut ends = VecDeque::from([Duration::ZERO]);
        let busy = slices::run(&mut worker, name, operations, drawn.zip(1..), |timed| {
            done.user_bytes += timed.moved.written_bytes;
            done.operations += 1;
            let kind = kind(current.get(), *inserted);
            done.latencies.entry(kind).or_default().add(timed.nanos);
            match current.get() {
                Operation::Put(number) | Operation::ReadModifyWrite(number) => {
                    present.set(number, true);
                    *inserted = (number + 1).max(*inserted);
                }
                Operation::Delete(number) => present.set(number, false),
                Operation::Get(_) | Operation::GetMissing(_) | Operation::Scan { .. } => {}
            }
            ends.push_back(timed.ended);
            if ends.len() > *window {
                let first = ends.pop_front().unwrap_or_default();
                done.slowest = done.slowest.max(Some(timed.ended - first));
            }
        })?;
        Ok(Done { busy, ..done })
    }

    fn figures(&self, name: &str, mut begun: Begun, done: &Done) -> Result<PhaseFigures, Failure> {
        let (before, after) = (begun.stats, self.bench.db.stats()?);
        let tables = |s: &Stats| s.flushed_bytes + s.merge_written_bytes;
        let of = |bytes: u64, of: u64| (of > 0).then(|| bytes as f64 / of as f64);
        let logical_bytes = self.present.count() * self.bench.rows.row_bytes();
        let store_bytes_peak = begun.watch.peak()?;
        let seconds = done.busy.as_secs_f64().max(1e-9);
        let worst = done.slowest.map(|time| self.window as f64 / time.as_secs_f64().max(1e-9));
        let background = after.background.since(&before.background);
        let count = |kind| {
            let latencies = done.latencies.get(&kind).and_then(Latencies::figures);
            latencies.map_or(0, |latency| latency.count)
        };
        let fetched = |reads: ReadCounts| reads.blocks - reads.blocks_cached;
        let kinds = [Kind::Read, Kind::ReadMissing, Kind::ReadModifyWrite];
        let gets: u64 = kinds.map(count).iter().sum();
        Ok(PhaseFigures {
            name: name.to_owned(),
            seconds: begun.at.elapsed().as_secs_f64(),
            operations: done.operations,
            user_bytes: done.user_bytes,
            logical_bytes,
            write_amp: of(tables(&after) - tables(&before), done.user_bytes),
            space_amp_peak: of(store_bytes_peak, logical_bytes),
            store_bytes_peak,
            throughput_mean: done.operations as f64 / seconds,
            throughput_worst_window: worst.unwrap_or(done.operations as f64 / seconds),
            read_ios_per_get: of(fetched(after.gets.since(&before.gets)), gets),
            read_ios_per_scan: of(fetched(after.scans.since(&before.scans)), count(Kind::Scan)),
            by_level: self.levels(&before, &after, &begun.compactions),
            compactions: self.bench.compactions.since(&begun.compactions, &self.bench.keyspace)?,
            worker_utilisation: merging(&background, self.bench.args.background.workers()),
            background: Some(background),
            latencies: (done.latencies.iter())
                .filter_map(|(kind, latencies)| Some((*kind, latencies.figures()?)))
                .collect(),
        })
    }

    fn levels(&self, before: &Stats, after: &Stats, since: &Mark) -> Vec<LevelFigures> {
        let written = self.bench.compactions.written(since);
        let levels = |stats: &Stats| stats.keyspaces.first().map(|k| k.levels.clone());
        let (before, after) =
            (levels(before).unwrap_or_default(), levels(after).unwrap_or_default());
        let figures = after.iter().enumerate().map(|(n, level)| {
            let then = before.get(n);
            LevelFigures {
                written_bytes: written.get(n).copied().unwrap_or(0),
                lookups: level.filter_lookups - then.map_or(0, |l| l.filter_lookups),
                filter_positives: level.filter_positives - then.map_or(0, |l| l.filter_positives),
                false_positives: level.filter_false_positives
                    - then.map_or(0, |l| l.filter_false_positives),
            }
        });
        figures.collect()
    }
}

/// Returns the kind of an operation, if keys below `inserted` were written before.
fn kind(operation: Operation, inserted: u64) -> Kind {
    match operation {
        Operation::Put(number) if number < inserted => Kind::Update,
        Operation::Put(_) => Kind::Insert,
        Operation::Delete(_) => Kind::Delete,
        Operation::Get(_) => Kind::Read,
        Operation::GetMissing(_) => Kind::ReadMissing,
        Operation::Scan { .. } => Kind::Scan,
        Operation::ReadModifyWrite(_) => Kind::ReadModifyWrite,
    }
}

/// Returns the mean share of time that `workers` workers spent on merges.
fn merging(background: &BackgroundStats, workers: usize) -> Option<f64> {
    let time = background.elapsed_micros as f64 * workers as f64;
    (time > 0.0).then(|| background.merges.busy_micros as f64 / time)
}

type Figure = fn(&PhaseFigures) -> Option<f64>;

/// Figures of reads in the table.
const READS: [(&str, Figure); 2] = [
    ("blocks fetched a get", |phase| phase.read_ios_per_get),
    ("blocks fetched a scan", |phase| phase.read_ios_per_scan),
];

/// The rows of the table.
pub fn table(report: &MixReport) -> Vec<String> {
    let simulated = report.simulated.iter().flat_map(|report| {
        let phases = report.phases.iter().map(|phase| (phase.name.as_str(), &phase.figures));
        phases.filter(|(name, _)| *name != "wait-until-idle").chain([("whole", &report.whole)])
    });
    let tables = report.simulated.as_ref().map_or_else(Default::default, |report| {
        (report.levels.iter().map(|level| level.tables).sum(), report.table_bytes)
    });
    let simulated = simulated.map(|(name, figures)| {
        let f = figures.clone();
        PhaseFigures {
            name: format!("{name}, sim."),
            seconds: f.seconds,
            operations: f.operations,
            user_bytes: f.user_bytes,
            logical_bytes: f.logical_bytes,
            write_amp: f.write_amp,
            space_amp_peak: Some(f.space_amp_peak),
            store_bytes_peak: f.store_bytes_peak,
            throughput_mean: f.throughput_mean,
            throughput_worst_window: f.throughput_worst_window,
            read_ios_per_get: (f.gets > 0).then_some(f.read_ios_per_get),
            read_ios_per_scan: (f.scans > 0).then_some(f.read_ios_per_scan),
            compactions: CompactionFigures::simulated(&f, tables),
            by_level: f.by_level,
            latencies: f.latencies,
            worker_utilisation: Some(f.worker_utilisation),
            background: None,
        }
    });
    let simulated: Vec<_> = simulated.collect();
    let columns: Vec<_> = report.phases.iter().chain(&simulated).collect();
    let row = |name: &str, cell: &dyn Fn(&PhaseFigures) -> String| {
        let cells = columns.iter().map(|phase| format!("{:>18}", cell(phase)));
        format!("{name:<26}{}", cells.collect::<String>())
    };
    let or_dash = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let gib = |bytes: u64| format!("{:.3}", bytes as f64 / (1u64 << 30) as f64);
    let mut rows = vec![
        row(&report.policy, &|f| f.name.clone()),
        row("operations", &|f| f.operations.to_string()),
        row("seconds", &|f| format!("{:.2}", f.seconds)),
        row("written, GiB", &|f| gib(f.user_bytes)),
        row("live, GiB", &|f| gib(f.logical_bytes)),
        row("operations per second", &|f| format!("{:.0}", f.throughput_mean)),
        row("  in the slowest window", &|f| format!("{:.0}", f.throughput_worst_window)),
        row("write amp", &|f| or_dash(f.write_amp)),
        row("space amp, peak", &|f| or_dash(f.space_amp_peak)),
        row("compactions", &|f| f.compactions.compactions.to_string()),
        row("groups per compaction", &|f| format!("{:.2}", f.compactions.compaction_groups.mean)),
        row("moves per compaction", &|f| format!("{:.2}", f.compactions.compaction_moves.mean)),
        row("seconds of compaction", &|f| format!("{:.2}", f.compactions.compaction_seconds)),
        row("MB compacted a second", &|f| {
            format!("{:.1}", f.compactions.compaction_throughput / 1e6)
        }),
        row("workers merging", &|f| {
            f.worker_utilisation.map_or("-".into(), |share| format!("{:.0} %", share * 100.0))
        }),
        row("longest merge, s", &|f| or_dash(f.compactions.merge_seconds.map(|took| took.max))),
        row("tables", &|f| f.compactions.tables.to_string()),
    ];
    for (name, of) in READS {
        if columns.iter().any(|phase| of(phase).is_some()) {
            rows.push(row(name, &|f| or_dash(of(f))));
        }
    }
    for (kind, name) in KINDS {
        if columns.iter().any(|phase| phase.latencies.contains_key(&kind)) {
            rows.push(row(&format!("{name}, mean, us"), &|f| {
                or_dash(f.latencies.get(&kind).map(|latency| latency.mean * 1e6))
            }));
        }
    }
    let levels = columns.iter().map(|phase| phase.by_level.len()).max().unwrap_or(0);
    for level in 0..levels {
        let of = |f: &PhaseFigures| f.by_level.get(level).copied().unwrap_or_default();
        if columns.iter().any(|phase| of(phase).lookups > 0) {
            rows.push(row(&format!("false positives, level {level}"), &|f| {
                format!("{} of {}", of(f).false_positives, of(f).lookups)
            }));
        }
    }
    rows
}

impl Bench<'_> {
    /// The simulator's configuration for this store, which stalls where the store does.
    fn simulated(&self, workload: &Workload, window: u64) -> Result<Config, Failure> {
        let (table, store) = (self.args.table(), Options::default());
        Ok(Config {
            policy: self.keyspace.policy()?,
            buffer_bytes: self.args.memtable_mib() << 20,
            key_bytes: self.args.key_bytes as u64,
            value_bytes: self.args.value_bytes as u64,
            workers: self.args.background.workers(),
            max_immutable_memtables: store.max_immutable_memtables,
            l0_stop_trigger: store.l0_stop_trigger,
            block_bytes: table.block_bytes as u64,
            filter_bits_per_key: table.filter_bits_per_key.bits(),
            cache_bytes: self.args.cache_mib << 20,
            workload: workload.clone(),
            seed: self.args.seed,
            window,
            ..Config::default()
        })
    }
}
