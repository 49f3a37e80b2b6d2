//! `simulate`: simulates a compaction policy in virtual time, at any scale.
//!
//! * `args` - the arguments.

mod args;

pub use args::{
    ChosenPolicy, ChosenWorkload, EXAMPLES, SimulateArgs, chosen_policy, chosen_workload, device,
};

use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::meter::Meter;
use crate::output::Output;
use args::CONFIG;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use terrane_policy::PolicyOptions;
use terrane_policy::event::TraceLine;
use terrane_sim::{
    Config, Figures, KeyPrefixes, Kind, Latency, Phase, Report, Simulation, SimulationError,
    Workload,
};

/// Operations between two updates of the progress.
const SLICE: u64 = 20_000;

/// Simulates and prints the report, or one for each case of a file.
pub fn run(args: &SimulateArgs) -> Result<(), Failure> {
    interrupt::listen()?;
    let chosen = chosen(args.config.as_deref(), args.case.as_deref())?;
    let mut out = Output::new();
    match &chosen[..] {
        [Case { name: None, config }] => {
            let report = simulate(args, config.clone())?;
            match args.json {
                true => out.json(&report)?,
                false => out.lines(&table(&report))?,
            }
        }
        cases => {
            if args.trace.is_some() && cases.len() > 1 {
                let sentence = format!(
                    "expected one case for --trace, found {}; --case chooses one by its name",
                    cases.len()
                );
                return Err(Failure::new(Exit::Usage, sentence));
            }
            let mut reports = Vec::new();
            for Case { name, config } in cases {
                let (name, report) =
                    (name.as_deref().unwrap_or_default(), simulate(args, config.clone())?);
                match args.json {
                    true => reports.push(Reported { name, report }),
                    false => {
                        out.lines(&[name.to_owned()])?;
                        out.lines(&table(&report))?;
                    }
                }
            }
            if args.json {
                out.json(&reports)?;
            }
        }
    }
    out.finish()
}

/// A case's report.
#[derive(Serialize)]
struct Reported<'a> {
    name: &'a str,
    report: Report,
}

fn simulate(args: &SimulateArgs, config: Config) -> Result<Report, Failure> {
    let malformed = |e: SimulationError| Failure::new(Exit::Usage, e.to_string());
    let mut simulation = Simulation::new(configured(args, config)?).map_err(malformed)?;
    let trace = args.trace.as_ref().map(|path| {
        let shown = path.display().to_string();
        let file = File::create(path).map_err(|e| Failure::io(&format!("create {shown}"), &e))?;
        let mut trace = Trace::new(file);
        trace.write(&simulation.header());
        Ok::<_, Failure>((Arc::new(Mutex::new(trace)), shown))
    });
    let trace = trace.transpose()?;
    if let Some((trace, _)) = &trace {
        let trace = Arc::clone(trace);
        simulation.listen(Box::new(move |micros, event| {
            let line = TraceLine { micros, event };
            trace.lock().unwrap_or_else(PoisonError::into_inner).write(&line);
        }));
    }
    let report = advance(&mut simulation)?;
    if let Some((trace, shown)) = &trace {
        let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
        trace.finish().map_err(|e| Failure::io(&format!("write {shown}"), &e))?;
    }
    Ok(report)
}

fn advance(simulation: &mut Simulation) -> Result<Report, Failure> {
    let (_, length) = simulation.progress();
    let mut meter = Meter::new(Some(length));
    while simulation.advance(SLICE)? {
        let (done, _) = simulation.progress();
        meter.show(done, || {
            format!("{done} of {length} operations, {:.0} s simulated", simulation.seconds())
        });
        interrupt::check()?;
    }
    Ok(simulation.report())
}

/// A configuration of a file, with its name where the file has several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: Option<String>,
    pub config: Config,
}

/// A file of several configurations, as `docs/papers` has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    cases: Vec<Case>,
}

/// Returns the configurations of the file `config` whose names contain `case`, or the default one.
pub fn chosen(config: Option<&Path>, case: Option<&str>) -> Result<Vec<Case>, Failure> {
    let Some(path) = config else {
        let config = Config {
            policy: with_buffer(&PolicyOptions::default(), Config::default().buffer_bytes),
            ..Config::default()
        };
        return Ok(vec![Case { name: None, config }]);
    };
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|e| Failure::io(&format!("read {shown}"), &e))?;
    let malformed =
        |e: &dyn Display| Failure::new(Exit::Input, format!("{shown}: {e}; for example: {CONFIG}"));
    // Serde takes an array for the fields in their order.
    if !text.trim_start().starts_with('{') {
        return Err(malformed(&"expected a JSON object"));
    }
    let parsed: serde_json::Value = serde_json::from_str(&text).map_err(|e| malformed(&e))?;
    let mut cases = match parsed.get("cases") {
        Some(_) => serde_json::from_str::<Cases>(&text).map_err(|e| malformed(&e))?.cases,
        None => {
            let config = serde_json::from_str(&text).map_err(|e| malformed(&e))?;
            vec![Case { name: None, config }]
        }
    };
    if cases.is_empty() {
        return Err(malformed(&"expected a case, found none"));
    }
    if let Some(part) = case {
        let names: Vec<_> = cases.iter().flat_map(|case| case.name.clone()).collect();
        cases.retain(|case| case.name.as_ref().is_some_and(|name| name.contains(part)));
        if cases.is_empty() {
            let sentence =
                format!("{shown}: expected a case of {names:?}, found none with {part:?}");
            return Err(Failure::new(Exit::Usage, sentence));
        }
    }
    for Case { config, .. } in &cases {
        // The options are not to blame for the file.
        Simulation::new(config.clone()).map_err(|e| Failure::from(e).at(&shown.to_string()))?;
    }
    Ok(cases)
}

/// Overrides a configuration by the other arguments.
fn configured(args: &SimulateArgs, mut config: Config) -> Result<Config, Failure> {
    let set = |field: &mut u64, given: Option<u64>| *field = given.unwrap_or(*field);
    set(&mut config.buffer_bytes, args.buffer_bytes);
    set(&mut config.key_bytes, args.key_bytes);
    set(&mut config.value_bytes, args.value_bytes);
    set(&mut config.cache_bytes, args.cache_bytes);
    set(&mut config.seed, args.seed);
    set(&mut config.window, args.window);
    config.value_compression = args.value_compression.unwrap_or(config.value_compression);
    config.workers = args.workers.unwrap_or(config.workers);
    config.subcompactions = args.subcompactions.unwrap_or(config.subcompactions);
    config.cores = args.cores.unwrap_or(config.cores);
    config.log &= !args.no_wal;
    config.timeline |= args.timeline;
    config.flash = args.flash.clone().or(config.flash);
    if let Some(device) = &args.device {
        config.device = device.clone();
    }
    match &args.policy {
        Some(ChosenPolicy { options, preset: false }) => config.policy = options.clone(),
        Some(ChosenPolicy { options, .. }) => {
            config.policy = with_buffer(options, config.buffer_bytes);
        }
        None if args.config.is_none() => {
            config.policy = with_buffer(&config.policy, config.buffer_bytes);
        }
        None => {}
    }
    config.workload = workload(args, config.workload);
    if config.workload.phases.is_empty()
        && let Some(option) = of_phases(args)
    {
        let sentence = format!(
            "expected a workload with operations after the load for {option}, found a load alone; for \
             example: --workload uniform"
        );
        return Err(Failure::new(Exit::Usage, sentence));
    }
    Ok(config)
}

/// The workload, where `configured` is that of `--config` or the default.
fn workload(args: &SimulateArgs, configured: Workload) -> Workload {
    let named = |name: &str| {
        let load = args.entries.unwrap_or(configured.load);
        let configured = configured.phases.iter().map(|phase| phase.operations).find(|n| *n > 0);
        let operations = args.operations.or(configured).unwrap_or(load);
        Workload::preset(name, load, operations).unwrap_or_default()
    };
    let mut workload = match &args.workload {
        Some(ChosenWorkload::Named(name)) => named(name),
        None if args.config.is_none() => named("unique-random"),
        Some(ChosenWorkload::Given(workload)) => scaled(args, workload.clone()),
        None => scaled(args, configured),
    };
    if let Some(rate) = args.rate {
        workload = workload.at_rate(rate);
    }
    if let Some(count) = args.prefixes {
        let exponent = args.prefix_exponent.unwrap_or(0.0);
        workload.prefixes = Some(KeyPrefixes { count, exponent });
    }
    if let Some(first) = workload.phases.first_mut() {
        first.wait_until_idle |= args.wait_until_idle;
    }
    for clients in workload.phases.iter_mut().flat_map(|phase| &mut phase.clients) {
        clients.count = args.clients.unwrap_or(clients.count);
    }
    workload
}

/// The option that is given for what follows the load, if one is.
fn of_phases(args: &SimulateArgs) -> Option<&'static str> {
    let given =
        [("--operations", args.operations.is_some()), ("--clients", args.clients.is_some())];
    given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

/// A workload with the numbers of keys and operations that are given.
fn scaled(args: &SimulateArgs, mut workload: Workload) -> Workload {
    workload.load = args.entries.unwrap_or(workload.load);
    if let Some(operations) = args.operations {
        if workload.phases.is_empty() {
            workload.phases.push(Phase::default());
        }
        workload.phases.iter_mut().for_each(|phase| phase.operations = operations);
    }
    workload
}

/// A preset for buffers of this size: its sizes grow in proportion, from the base size that presets
/// have. B is a sixteenth below the buffer, so that a flush that lost some overwritten entries is
/// still one of about B.
pub fn with_buffer(options: &PolicyOptions, buffer_bytes: u64) -> PolicyOptions {
    const LEVEL_BASE_BYTES: u64 = 4 << 20;
    let target_file_bytes = u128::from(options.target_file_bytes()) * u128::from(buffer_bytes);
    let target_file_bytes =
        u64::try_from(target_file_bytes / u128::from(LEVEL_BASE_BYTES)).unwrap_or(u64::MAX);
    options.clone().sized(buffer_bytes - buffer_bytes / 16, target_file_bytes)
}

/// Destination of events.
struct Trace {
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl Trace {
    fn new(file: File) -> Self {
        Trace { file: BufWriter::new(file), failed: None }
    }

    fn write(&mut self, line: &impl Serialize) {
        if self.failed.is_none() {
            let line = serde_json::to_string(line).unwrap_or_default();
            self.failed = writeln!(self.file, "{line}").err();
        }
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.failed.take().map_or_else(|| self.file.flush(), Err)
    }
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        Failure::new(Exit::Input, error.to_string())
    }
}

/// The figures as a table, a column for each phase and one for the whole.
fn table(report: &Report) -> Vec<String> {
    let mut columns: Vec<(&str, &Figures)> =
        report.phases.iter().map(|phase| (phase.name.as_str(), &phase.figures)).collect();
    columns.push(("whole", &report.whole));
    let row = |name: &str, cell: &dyn Fn(&Figures) -> String| {
        let cells = columns.iter().map(|(_, figures)| format!("{:>17}", cell(figures)));
        format!("{name:<26}{}", cells.collect::<String>())
    };
    let heads: String = columns.iter().map(|(name, _)| format!("{name:>17}")).collect();
    let ratio = |value: f64| format!("{value:.2}");
    let or_dash = |value: Option<f64>| value.map_or("-".into(), ratio);
    let gib = |bytes: u64| format!("{:.2}", bytes as f64 / (1u64 << 30) as f64);
    let mut rows = vec![
        format!("{:<26}{heads}", report.policy),
        row("operations", &|f| f.operations.to_string()),
        row("virtual seconds", &|f| ratio(f.seconds)),
        row("written, GiB", &|f| gib(f.user_bytes)),
        row("live, GiB", &|f| gib(f.logical_bytes)),
        row("flushes", &|f| f.flushes.to_string()),
        row("write amp", &|f| or_dash(f.write_amp)),
        row("  without flushes", &|f| or_dash(f.write_amp_compaction)),
        row("  on flash, with the log", &|f| or_dash(f.write_amp_total)),
        row("  of collection alone", &|f| or_dash(f.write_amp_device)),
        row("space amp, peak", &|f| ratio(f.space_amp_peak)),
        row("space amp, mean", &|f| ratio(f.space_amp_mean)),
        row("runs, mean", &|f| ratio(f.runs_mean)),
        row("runs, most", &|f| f.runs_max.to_string()),
        row("tables, mean", &|f| ratio(f.tables_mean)),
        row("tables, most", &|f| f.tables_max.to_string()),
        row("files, most", &|f| f.files_max.to_string()),
        row("block reads per get", &|f| ratio(f.read_ios_per_get)),
        row("block reads per scan", &|f| ratio(f.read_ios_per_scan)),
        row("compactions", &|f| f.compactions.to_string()),
        row("groups per compaction", &|f| ratio(f.groups_per_compaction)),
        row("trivial moves", &|f| f.trivial_moves.to_string()),
        row("longest merge, s", &|f| or_dash(f.merge_seconds.map(|took| took.max))),
        row("moved, GiB", &|f| gib(f.moved_bytes)),
        row("operations per second", &|f| format!("{:.0}", f.throughput_mean)),
        row("  in the slowest window", &|f| format!("{:.0}", f.throughput_worst_window)),
        row("stalled by memtables, s", &|f| ratio(f.stall_seconds.memtables)),
        row("stalled by level 0, s", &|f| ratio(f.stall_seconds.level0)),
        row("stalled by compaction, s", &|f| ratio(f.stall_seconds.compaction_bytes)),
        row("slowed by compaction, s", &|f| ratio(f.stall_seconds.slowed)),
        row("slowed by level 0, s", &|f| ratio(f.stall_seconds.slowed_level0)),
        row("workers busy", &|f| format!("{:.0} %", f.worker_utilisation * 100.0)),
        row("device busy", &|f| format!("{:.0} %", f.device_utilisation * 100.0)),
        row("cores busy", &|f| ratio(f.cores_busy_mean)),
    ];
    let micros = |seconds: f64| format!("{:.1}", seconds * 1e6);
    for (kind, name) in KINDS {
        if !report.whole.latencies.contains_key(&kind) {
            continue;
        }
        let of = |f: &Figures, figure: fn(&Latency) -> f64| {
            f.latencies.get(&kind).map_or("-".into(), |latency| micros(figure(latency)))
        };
        rows.push(row(&format!("{name}, mean, us"), &|f| of(f, |latency| latency.mean)));
        rows.push(row("  50 %", &|f| of(f, |latency| latency.p50)));
        rows.push(row("  99 %", &|f| of(f, |latency| latency.p99)));
        rows.push(row("  99.9 %", &|f| of(f, |latency| latency.p999)));
        rows.push(row("  greatest", &|f| of(f, |latency| latency.max)));
    }
    for (level, figures) in report.whole.by_level.iter().enumerate() {
        if figures.lookups > 0 {
            rows.push(row(&format!("false positives, level {level}"), &|f| {
                let figures = f.by_level.get(level).copied().unwrap_or_default();
                format!("{} of {}", figures.false_positives, figures.lookups)
            }));
        }
    }
    rows
}

/// The kinds of operations whose latencies are shown.
pub const KINDS: [(Kind, &str); 7] = [
    (Kind::Insert, "insert"),
    (Kind::Update, "update"),
    (Kind::Delete, "delete"),
    (Kind::Read, "get"),
    (Kind::ReadMissing, "get of a missing key"),
    (Kind::Scan, "scan"),
    (Kind::ReadModifyWrite, "read-modify-write"),
];
