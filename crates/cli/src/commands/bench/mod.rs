//! `bench`: measures throughput, latency, and write, read and space amplification.
//!
//! 1. Each policy has a store of its own, in the directory given or in a temporary one.
//! 2. Benchmarks run on it one after another; a fill starts with an empty store. What was there
//!    before the run is never removed, and not touched unless a file in it says that `bench` made it.
//!
//! * `args` - the arguments.
//! * `measure` - one benchmark.
//! * `mix` - a workload of the simulator.
//! * `drain` - how long a full level 0 takes.
//! * `slices` - the operations of each of these, with progress.
//! * `compactions`, `space`, `present` - what is measured beside them: what compactions did, the peak of disk
//!   space, and the keys that are there.
//! * `summary` - policies side by side.

mod args;
mod compactions;
mod drain;
mod measure;
mod mix;
mod present;
mod slices;
mod space;
mod summary;

pub use args::{BenchArgs, EXAMPLES};

use crate::background::mean_busy;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{interrupt, store};
use args::{Benchmark, Policies};
use compactions::Compactions;
use measure::{Bench, Report};
use present::Present;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use terrane::stats::JobStats;
use terrane::{Db, Options};
use terrane_policy::{FilterBits, PolicyOptions, presets};
use terrane_sim::Workload;

/// File that marks a store which this command made, and may write into.
const MARKER: &str = "BENCH";
const MARKED: &str = "`terrane bench` made this store. Its rows mean nothing.\n";

/// Report that is printed as JSON.
#[derive(Serialize)]
struct Series<'a, R> {
    num: u64,
    key_bytes: usize,
    value_bytes: usize,
    seek_nexts: u64,
    seed: u64,
    sync: bool,
    waited_until_idle: bool,
    workers: usize,
    background_bytes_per_second: u64,
    hard_pending_compaction_bytes: u64,
    memtable_mib: u64,
    cache_mib: u64,
    filter_bits: FilterBits,
    results: &'a [R],
}

/// Measures, and prints what was found.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    interrupt::listen()?;
    let temporary = tempfile::Builder::new().prefix("terrane-bench-").tempdir();
    let temporary = temporary.map_err(|e| Failure::io("make a temporary directory", &e))?;
    interrupt::remove_at_exit(temporary.path());
    let mut out = Output::new();
    if let Some(workload) = args.workload()? {
        return run_workload(args, &workload, temporary.path());
    }
    if args.drain {
        let found = drain::run(args, temporary.path())?;
        match args.json {
            true => out.json(&found)?,
            false => out.lines(&drain::table(&found.results))?,
        }
        return out.finish();
    }
    let mut results = Vec::new();
    for (dir, policy) in stores(args, temporary.path()) {
        let mut place = Place { dir, policy, args, bench: None };
        for benchmark in &args.benchmarks {
            let report = place.ready(*benchmark)?.run(*benchmark)?;
            if !args.json {
                if results.is_empty() {
                    out.line(&HEAD.map(|(name, width)| format!("{name:>width$}")).concat())?;
                }
                out.line(&line(&report))?;
                out.flush()?;
            }
            results.push(report);
        }
        place.close()?;
    }
    match args.json {
        true => out.json(&Series::of(args, &results))?,
        false => out.lines(&summary::table(&results))?,
    }
    out.finish()
}

/// Runs a workload under each policy, and prints its figures.
fn run_workload(args: &BenchArgs, workload: &Workload, temporary: &Path) -> Result<(), Failure> {
    let mut out = Output::new();
    let mut results = Vec::new();
    for (dir, policy) in stores(args, temporary) {
        let mut place = Place { dir, policy, args, bench: None };
        let bench = place.ready(Benchmark::FillRandom)?;
        let report = mix::run(bench, workload, args.window, args.simulate)?;
        if !args.json {
            out.lines(&mix::table(&report))?;
            out.flush()?;
        }
        results.push(report);
        place.close()?;
    }
    if args.json {
        out.json(&Series::of(args, &results))?;
    }
    out.finish()
}

impl<'a, R> Series<'a, R> {
    fn of(args: &BenchArgs, results: &'a [R]) -> Self {
        let options = args.background.of(Options::default());
        Series {
            num: args.num(),
            key_bytes: args.key_bytes,
            value_bytes: args.value_bytes,
            seek_nexts: args.seek_nexts,
            seed: args.seed,
            sync: args.sync,
            waited_until_idle: !args.no_wait_until_idle,
            workers: args.background.workers(),
            background_bytes_per_second: options.background_bytes_per_second,
            hard_pending_compaction_bytes: options.hard_pending_compaction_bytes,
            memtable_mib: args.memtable_mib(),
            cache_mib: args.cache_mib,
            filter_bits: args.table().filter_bits_per_key,
            results,
        }
    }
}

/// Returns the directory of each policy's store.
fn stores(args: &BenchArgs, temporary: &Path) -> Vec<(PathBuf, Option<PolicyOptions>)> {
    let at = |name: &str| match &args.dir {
        Some(dir) => dir.join(name),
        None => temporary.join(name),
    };
    match (&args.policy, &args.dir) {
        (Some(Policies::All), _) => presets()
            .iter()
            .map(|preset| {
                let options = PolicyOptions::preset(preset.name).map(PolicyOptions::native);
                (at(preset.name), options)
            })
            .collect(),
        (Some(Policies::One(policy)), Some(dir)) => vec![(dir.clone(), Some(policy.clone()))],
        (Some(Policies::One(policy)), None) => vec![(at("store"), Some(policy.clone()))],
        (None, Some(dir)) => vec![(dir.clone(), None)],
        (None, None) => vec![(at("store"), None)],
    }
}

/// A policy's store.
struct Place<'a> {
    dir: PathBuf,
    policy: Option<PolicyOptions>,
    args: &'a BenchArgs,
    /// The store, once it is open.
    bench: Option<Bench<'a>>,
}

impl<'a> Place<'a> {
    /// The store as a benchmark wants it: new, or there.
    fn ready(&mut self, benchmark: Benchmark) -> Result<&mut Bench<'a>, Failure> {
        let fills = matches!(benchmark, Benchmark::FillSeq | Benchmark::FillRandom);
        if fills {
            self.clear()?;
        }
        let bench = match self.bench.take() {
            Some(bench) => bench,
            None => self.open(fills)?,
        };
        Ok(self.bench.insert(bench))
    }

    /// Removes the store that this run made.
    fn clear(&mut self) -> Result<(), Failure> {
        match self.bench.take() {
            Some(bench) if bench.present.is_some() => {
                drop(bench);
                let failed = |e| Failure::io(&format!("remove {}", self.dir.display()), &e);
                fs::remove_dir_all(&self.dir).map_err(failed)
            }
            None if !self.dir.exists() => Ok(()),
            _ => Err(Failure::taken(&self.dir)),
        }
    }

    fn open(&self, create: bool) -> Result<Bench<'a>, Failure> {
        let args = self.args;
        let marker = self.dir.join(MARKER);
        if !create {
            if args.dir.is_none() {
                let sentence = "expected a fill first, or the DIR of an earlier bench, found neither; for \
                                example: --benchmarks fillrandom,readrandom";
                return Err(Failure::new(Exit::Usage, sentence));
            }
            store::present(&self.dir)?;
            if !marker.exists() {
                let place = self.dir.display();
                let found = format!("found no file {MARKER} in {place}");
                let sentence = format!("expected a store that bench made, {found}");
                return Err(Failure::new(Exit::Input, sentence));
            }
        }
        let compactions = Compactions::default();
        let options = args.options(args.memtable_mib() << 20).create(create);
        let db = Db::open(&self.dir, options.listener(compactions.listener()))?;
        if create {
            let failed = |e| Failure::io(&format!("create {}", marker.display()), &e);
            fs::write(&marker, MARKED).map_err(failed)?;
        }
        let keyspace = db.default_keyspace();
        if let Some(policy) = &self.policy {
            store::choose(&keyspace, policy)?;
        }
        let present = create.then(|| Present::none(args.num()));
        let (dir, rows) = (self.dir.clone(), args.rows());
        Ok(Bench { args, dir, db, keyspace, compactions, present, rows, ran: 0 })
    }

    fn close(self) -> Result<(), Failure> {
        match self.bench {
            Some(bench) => Ok(bench.db.close()?),
            None => Ok(()),
        }
    }
}

/// The columns of the table, with their widths.
const HEAD: [(&str, usize); 26] = [
    ("policy", 20),
    ("benchmark", 13),
    ("op/s", 10),
    ("MB/s", 8),
    ("mean us", 9),
    ("p50", 8),
    ("p90", 8),
    ("p99", 8),
    ("p99.9", 9),
    ("max", 10),
    ("idle s", 9),
    ("w-amp", 7),
    ("+ WAL", 7),
    ("r-amp", 7),
    ("runs", 5),
    ("space", 7),
    ("peak", 7),
    ("tables", 8),
    ("groups", 8),
    ("moves", 8),
    ("stalls", 7),
    ("longest wait us", 18),
    ("busy", 6),
    ("flush MB/s", 12),
    ("merge MB/s", 12),
    ("MiB", 6),
];

/// The longest wait of a write, and for what.
fn longest_wait(report: &Report) -> String {
    let waits = report.waits.by_reason();
    let longest = waits.iter().max_by_key(|(_, wait)| wait.micros_max);
    longest
        .filter(|(_, wait)| wait.count > 0)
        .map_or("-".into(), |(reason, wait)| format!("{reason} {}", wait.micros_max))
}

/// Millions of bytes that jobs moved for each second that a worker was busy with them.
fn mb_per_second(jobs: &JobStats) -> String {
    match jobs.busy_micros {
        0 => "-".into(),
        _ => format!("{:.0}", jobs.bytes_per_second as f64 / 1e6),
    }
}

fn line(report: &Report) -> String {
    let micros = &report.micros;
    let or_dash = |figure: Option<f64>| figure.map_or("-".into(), |figure| format!("{figure:.2}"));
    let cells = [
        report.policy.clone(),
        report.benchmark.name(),
        format!("{:.0}", report.operations_per_second),
        format!("{:.1}", report.mb_per_second),
        format!("{:.2}", micros.mean),
        format!("{:.2}", micros.p50),
        format!("{:.2}", micros.p90),
        format!("{:.2}", micros.p99),
        format!("{:.1}", micros.p999),
        format!("{:.0}", micros.max),
        or_dash(report.idle_seconds),
        or_dash(report.write_amplification),
        or_dash(report.write_amplification_with_wal),
        or_dash(report.read_amplification),
        report.runs.to_string(),
        or_dash(report.space_amplification),
        or_dash(report.space_amplification_peak),
        report.compactions.tables.to_string(),
        format!("{:.2}", report.compactions.compaction_groups.mean),
        format!("{:.2}", report.compactions.compaction_moves.mean),
        report.stalls.to_string(),
        longest_wait(report),
        mean_busy(&report.background).map_or("-".into(), |share| format!("{:.0}%", share * 100.0)),
        mb_per_second(&report.background.flushes),
        mb_per_second(&report.background.merges),
        report.memory_bytes_peak.map_or("-".into(), |bytes| (bytes >> 20).to_string()),
    ];
    cells.iter().zip(HEAD).map(|(cell, (_, width))| format!("{cell:>width$}")).collect()
}
