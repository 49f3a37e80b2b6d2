//! The paper's store and machine, and what is measured of a design on them.

use super::designs::Data;
use crate::PapersError;
use crate::figure::Figure;
use crate::scaled::{Scaled, simulate};
use terrane_policy::PolicyOptions;
use terrane_sim::{Choice, Clients, Config, Kind, Mix, Phase, Workload};

/// Thousands of operations a second, of the paper's size.
pub const THROUGHPUT: &str = "thousand operations a second";
/// The same in the slowest window.
pub const WORST: &str = "in the slowest window";
/// The peak size of all tables beyond the data, over the data.
pub const SPACE: &str = "extra space";
/// Bytes written by flushes and merges per byte of the user's.
pub const WRITES: &str = "write amp";
/// Blocks that a read fetches from the device.
pub const BLOCKS: &str = "blocks a read";
/// Microseconds that a read takes, and an update.
pub const READ: &str = "us a read";
/// The same of an update.
pub const UPDATE: &str = "us an update";
/// Runs, on average.
pub const RUNS: &str = "runs";
/// The share of time in which writes are stalled.
pub const STALLED: &str = "stalled";

/// RocksDB's defaults: one thread that flushes and one that merges; level 0 stops writes at 36 runs.
const WORKERS: usize = 1;
const LEVEL0_STOP: usize = 36;
/// The paper's ranges have no stated length; its model reads a page of each run.
const SCAN_ENTRIES: u64 = 8;
/// Operations a second of a store at rest.
const REST: f64 = 1e-3;
/// The paper's cores.
const CORES: usize = 16;

/// The paper's operations and those of the window whose slowest is reported.
const PAPER_OPERATIONS: u64 = 4_000_000;
/// Operations for which Vertiorizon tunes itself.
const TUNING_WINDOW: u64 = 1 << 20;
/// The least of them that the policy accepts.
const TUNING_LEAST: u64 = 1 << 10;
const PAPER_WINDOW: u64 = 100_000;

/// The paper's store, with buffers of this many entries.
pub(super) fn store(buffer_entries: u64) -> Scaled {
    Scaled {
        buffer_entries,
        key_bytes: 128,
        value_bytes: 896,
        paper_buffer: 2 << 20,
        filter_bits_per_key: 5.0,
        paper_cache: 32 << 20,
        machine: "vertiorizon",
    }
}

/// A store, its load and the operations after it.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) store: Scaled,
    /// N/B.
    pub(super) buffers: u64,
    /// Operations after which Vertiorizon has tuned itself, and those that are measured, of the paper's.
    pub(super) warm_up: u64,
    pub(super) operations: u64,
    /// By how much merges are slower than they are assumed to be.
    pub(super) slower: f64,
    /// Whether operations wait until nothing is left to merge, so that nothing ever waits for a merge.
    pub(super) at_rest: bool,
    /// Whether policies know what reads and merges cost.
    pub(super) costs: bool,
    /// Threads that merge.
    pub(super) threads: usize,
    /// Time for which a die of the storage writes a page; reads of the die wait for it.
    pub(super) program_micros: f64,
}

/// Operations, and their keys.
pub(super) struct Operations {
    pub(super) mix: Mix,
    pub(super) choice: Choice,
}

impl Setting {
    pub(super) fn new(buffer_entries: u64, buffers: u64) -> Self {
        let store = store(buffer_entries);
        let (warm_up, operations) = (PAPER_OPERATIONS / 2, PAPER_OPERATIONS);
        Setting {
            store,
            buffers,
            warm_up,
            operations,
            slower: 1.0,
            at_rest: false,
            costs: false,
            threads: WORKERS,
            program_micros: 0.0,
        }
    }

    /// Returns the same store with a cache of `paper_cache` bytes and `filter_bits_per_key`.
    pub(super) fn with_memory(self, paper_cache: u64, filter_bits_per_key: f64) -> Self {
        Setting { store: Scaled { paper_cache, filter_bits_per_key, ..self.store }, ..self }
    }

    /// Returns the same for `operations` operations, after half as many.
    pub(super) fn with_operations(self, operations: u64) -> Self {
        Setting { operations, warm_up: operations / 2, ..self }
    }

    /// Returns the operations here for `operations` of the paper's.
    fn scaled(self, operations: u64) -> u64 {
        (operations as f64 / self.store.factor()) as u64
    }

    /// Returns the data that designs are made for, if this share of the operations are updates.
    pub(super) fn data(self, updates: f64) -> Data {
        let operations = self.scaled(self.warm_up + self.operations);
        let updated = (operations as f64 * updates) as u64 / self.store.buffer_entries;
        let written = self.buffers + updated;
        let window = self.scaled(TUNING_WINDOW).max(TUNING_LEAST);
        Data { store: self.store, buffers: self.buffers, written, window }
    }

    pub(super) fn config(self, policy: PolicyOptions, operations: &Operations) -> Config {
        let Operations { mix, choice } = operations;
        let clients = Clients {
            mix: mix.clone(),
            choice: choice.clone(),
            scan_entries: SCAN_ENTRIES,
            ..Clients::default()
        };
        let warm = Phase {
            name: "warm-up".to_owned(),
            wait_until_idle: true,
            operations: self.scaled(self.warm_up),
            clients: vec![clients.clone()],
        };
        let phase = Phase {
            operations: self.scaled(self.operations),
            clients: vec![clients],
            ..Phase::default()
        };
        let load = self.buffers * self.store.buffer_entries;
        let workload = Workload { load, phases: vec![warm, phase], ..Workload::default() };
        let mut config = Config {
            workers: self.threads,
            l0_stop_trigger: LEVEL0_STOP,
            cores: CORES,
            window: self.scaled(PAPER_WINDOW),
            ..self.store.config(policy, workload)
        };
        config.device.merge_nanos_per_byte *= self.slower;
        config.device.program_micros = self.program_micros * self.store.factor();
        // Others are the same simulations as without.
        config.measured_costs =
            self.costs && matches!(config.policy, PolicyOptions::Vertiorizon(_));
        if self.at_rest {
            config.workload = config.workload.at_rate(REST);
        }
        config
    }

    /// Simulates a design.
    pub(super) fn run(
        self,
        case: &str,
        policy: PolicyOptions,
        operations: &Operations,
    ) -> Result<Measured, PapersError> {
        let report = simulate(case, self.config(policy, operations))?;
        let phase = report.phases.into_iter().find(|phase| phase.name == "operations");
        let found = phase.map_or(report.whole, |phase| phase.figures);
        let thousands = |rate: f64| rate * self.store.factor() / 1000.0;
        let stalled = found.stall_seconds.memtables + found.stall_seconds.level0;
        let latency = |kind| {
            let mean = found.latencies.get(&kind).map_or(0.0, |latency| latency.mean);
            mean * 1e6 / self.store.factor()
        };
        let mut measured = vec![
            (THROUGHPUT, thousands(found.throughput_mean)),
            (WORST, thousands(found.throughput_worst_window)),
            (SPACE, found.space_amp_peak - 1.0),
            (WRITES, found.write_amp.unwrap_or(0.0)),
            (READ, latency(Kind::Read).max(latency(Kind::Scan))),
            (UPDATE, latency(Kind::Update)),
            (BLOCKS, found.read_ios_per_get.max(found.read_ios_per_scan)),
            (RUNS, found.runs_mean),
            (STALLED, stalled / found.seconds),
        ];
        // What depends on the speed means nothing at rest.
        measured.retain(|(measure, _)| {
            !self.at_rest || [SPACE, WRITES, READ, BLOCKS, RUNS].contains(measure)
        });
        Ok(Measured(measured))
    }

    /// The same for the mean over several loads.
    pub(super) fn run_loads(
        self,
        case: &str,
        loads: &[u64],
        policy: impl Fn(Data) -> PolicyOptions,
        operations: &Operations,
    ) -> Result<Measured, PapersError> {
        let run = |&buffers: &u64| {
            let setting = Setting { buffers, ..self };
            setting.run(case, policy(setting.data(operations.mix.update)), operations)
        };
        Ok(Measured::mean(&loads.iter().map(run).collect::<Result<Vec<_>, _>>()?))
    }

    /// Describes the simulation.
    pub(super) fn description(self) -> String {
        format!(
            "{} entries a buffer, each for {:.0} of the paper's; a thread that merges and one that \
             flushes, level 0 stops at {LEVEL0_STOP} runs (RocksDB's defaults); one client (the \
             paper's number is not known), as fast as it may. After the load and {} operations of \
             the same mix to warm up, with which Vertiorizon tunes itself, {} are measured. The \
             slowest window is of {} operations",
            self.store.buffer_entries,
            self.store.factor(),
            millions(self.warm_up),
            millions(self.operations),
            PAPER_WINDOW,
        )
    }
}

fn millions(operations: u64) -> String {
    format!("{} million", operations / 1_000_000)
}

/// Measurements of a design.
pub(super) struct Measured(Vec<(&'static str, f64)>);

impl Measured {
    /// One of the numbers.
    pub(super) fn of(&self, measure: &str) -> f64 {
        self.0.iter().find(|(name, _)| *name == measure).map_or(0.0, |(_, value)| *value)
    }

    /// The means over several runs.
    pub(super) fn mean(runs: &[Measured]) -> Measured {
        let Some((Measured(first), rest)) = runs.split_first() else { return Measured(Vec::new()) };
        let mut sums = first.clone();
        for Measured(run) in rest {
            sums.iter_mut().zip(run).for_each(|((_, sum), (_, value))| *sum += value);
        }
        sums.iter_mut().for_each(|(_, sum)| *sum /= runs.len() as f64);
        Measured(sums)
    }

    /// Adds it to a figure.
    pub(super) fn add(&self, figure: &mut Figure, case: &str) {
        for (measure, value) in &self.0 {
            figure.found(case, measure, *value);
        }
    }
}
