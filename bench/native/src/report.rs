//! The report: a text with tables, a page, and every figure as JSON.

use crate::args::Args;
use crate::case::{Case, Debt};
use crate::engines;
use crate::limits::Limits;
use crate::page;
use crate::rounds::{Found, Outcome};
use crate::table::{Spread, markdown};
use crate::turn::Measured;
use crate::workload::Workload;
use serde::Serialize;
use std::fmt::Write;
use std::fs;

#[derive(Serialize)]
pub struct Report {
    machine: String,
    /// Engines with their versions.
    versions: Vec<(&'static str, &'static str)>,
    cache_mib: u64,
    memtable_mib: u64,
    memory_mib: Option<u64>,
    rounds: u64,
    limits: Limits,
    outcomes: Vec<Outcome>,
}

/// A figure of a phase, if it applies.
type OfPhase = fn(&Case, &Measured) -> Option<f64>;
/// A figure of a turn.
type OfTurn = fn(&Found) -> Option<f64>;

const THOUSANDS: OfPhase =
    |_, phase| (phase.seconds > 0.0).then(|| phase.operations as f64 / phase.seconds / 1e3);

/// The tables of a case, a row for each phase.
const PHASES: [(&str, OfPhase); 17] = [
    ("thousand operations a second", THOUSANDS),
    ("processor microseconds per operation", |_, phase| {
        per_operation(phase, phase.processor_seconds * 1e6)
    }),
    ("p50, microseconds", |_, phase| Some(phase.micros.p50)),
    ("p99, microseconds", |_, phase| Some(phase.micros.p99)),
    ("p99.9, microseconds", |_, phase| Some(phase.micros.p999)),
    ("longest, milliseconds", |_, phase| Some(phase.micros.max / 1e3)),
    ("puts: p50, microseconds", |_, phase| Some(phase.puts.as_ref()?.p50)),
    ("puts: p99, microseconds", |_, phase| Some(phase.puts.as_ref()?.p99)),
    ("puts: p99.9, microseconds", |_, phase| Some(phase.puts.as_ref()?.p999)),
    ("puts: longest, milliseconds", |_, phase| Some(phase.puts.as_ref()?.max / 1e3)),
    ("gets: p50, microseconds", |_, phase| Some(phase.gets.as_ref()?.p50)),
    ("gets: p99, microseconds", |_, phase| Some(phase.gets.as_ref()?.p99)),
    ("gets: p99.9, microseconds", |_, phase| Some(phase.gets.as_ref()?.p999)),
    ("gets: longest, milliseconds", |_, phase| Some(phase.gets.as_ref()?.max / 1e3)),
    ("seconds until idle", |case, phase| {
        (case.debt == Debt::Drained && phase.put_bytes > 0).then_some(phase.settle_seconds)
    }),
    ("bytes written per byte put", |case, phase| {
        // What is left of one phase would count for the next.
        (case.debt == Debt::Drained)
            .then(|| written(phase.written_bytes, phase.put_bytes))
            .flatten()
    }),
    ("most MiB resident", |_, phase| Some(mib(phase.peak_memory_bytes))),
];

/// The rows of the last table of a case.
const TURNS: [(&str, OfTurn); 6] = [
    ("bytes written per byte put", |found| {
        written(found.worked.written_bytes, found.worked.put_bytes)
    }),
    ("bytes of files per live byte", |found| {
        written(found.worked.disk_bytes, found.worked.live_bytes)
    }),
    ("close, milliseconds", |found| Some(found.worked.close_seconds * 1e3)),
    ("open, milliseconds", |found| found.opened.as_ref().map(|opened| opened.seconds * 1e3)),
    ("recovery, milliseconds", |found| found.recovered.as_ref().map(|opened| opened.seconds * 1e3)),
    ("puts lost with the process", |found| {
        found.recovered.as_ref().map(|opened| opened.lost as f64)
    }),
];

impl Report {
    pub fn new(args: &Args, limits: Limits, outcomes: Vec<Outcome>) -> Self {
        let engines = args.engines().into_iter();
        Report {
            machine: machine(),
            versions: engines.map(|name| (name, engines::version(name))).collect(),
            cache_mib: args.cache_mib,
            memtable_mib: args.memtable_mib,
            memory_mib: args.memory_mib,
            rounds: args.rounds,
            limits,
            outcomes,
        }
    }

    pub fn failures(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.error.is_some()).count()
    }

    pub fn text(&self) -> String {
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let mut text = format!(
            "{}\n{}\ncache {} MiB, memtable {} MiB{}; medians of {} rounds (minimum-maximum)\n\n{}",
            self.machine,
            versions.join(", "),
            self.cache_mib,
            self.memtable_mib,
            self.memory_mib.map_or(String::new(), |mib| format!(", at most {mib} MiB a turn")),
            self.rounds,
            self.limits.text()
        );
        for case in self.cases() {
            // A String takes whatever is written.
            let _ = write!(text, "\n{case}\n\n");
            text += &self.tables(case);
        }
        for outcome in self.outcomes.iter().filter(|outcome| outcome.error.is_some()) {
            let error = outcome.error.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}, {}: failed: {error}", outcome.case, outcome.engine);
        }
        text
    }

    /// The same as a page, with a chart for each case.
    pub fn page(&self) -> String {
        let charts = self.cases().into_iter().map(|case| {
            let rows = self.rows(case, THOUSANDS);
            page::chart(&format!("{case}: thousand operations a second"), &self.engines(), &rows)
        });
        page::page(&charts.collect::<String>(), &self.text())
    }

    fn engines(&self) -> Vec<&str> {
        self.versions.iter().map(|(name, _)| *name).collect()
    }

    fn cases(&self) -> Vec<&Case> {
        let mut cases: Vec<&Case> = Vec::new();
        for outcome in &self.outcomes {
            if !cases.contains(&&outcome.case) {
                cases.push(&outcome.case);
            }
        }
        cases
    }

    /// Returns the results of each engine's turns at a case.
    fn found(&self, case: &Case) -> Vec<Vec<&Found>> {
        let of = |engine: &str| {
            let outcomes = self.outcomes.iter().filter(|outcome| outcome.case == *case);
            let own = outcomes.filter(|outcome| outcome.engine == engine);
            own.filter_map(|outcome| outcome.found.as_ref()).collect()
        };
        self.engines().into_iter().map(of).collect()
    }

    /// A figure of each phase, by engine.
    fn rows(&self, case: &Case, figure: OfPhase) -> Vec<(String, Vec<Option<Spread>>)> {
        let by_engine = self.found(case);
        let row = |(index, workload): (usize, &Workload)| {
            let cell = |founds: &Vec<&Found>| {
                let phases = founds.iter().filter_map(|found| found.worked.phases.get(index));
                Spread::of(phases.filter_map(|phase| figure(case, phase)))
            };
            (workload.name(), by_engine.iter().map(cell).collect())
        };
        case.suite.phases().iter().enumerate().map(row).collect()
    }

    fn tables(&self, case: &Case) -> String {
        let engines = self.engines();
        let phases =
            PHASES.map(|(title, figure)| markdown(title, &engines, &self.rows(case, figure)));
        let by_engine = self.found(case);
        let turns = TURNS.map(|(title, figure)| {
            let cell = |founds: &Vec<&Found>| Spread::of(founds.iter().filter_map(|f| figure(f)));
            (title.to_owned(), by_engine.iter().map(cell).collect())
        });
        phases.concat() + &markdown("all phases", &engines, &turns)
    }
}

fn per_operation(phase: &Measured, sum: f64) -> Option<f64> {
    (phase.operations > 0).then(|| sum / phase.operations as f64)
}

fn written(bytes: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| bytes as f64 / of as f64)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Processor, memory, system, and how busy it is.
fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim_start_matches([' ', '\t', ':']).trim().to_owned()
    };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = read("/proc/loadavg");
    format!(
        "{processors} x {}, {} of memory, Linux {}, load {}",
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or_default()
    )
}
