//! The store, the trees that are compared, and what is measured of them.

use crate::figure::Figure;
use crate::scaled::{Scaled, simulate};
use crate::{PapersError, Scale};
use terrane_policy::fluid::Fluid;
use terrane_policy::fluid::model::{Mix as Shares, Store, Tree};
use terrane_policy::{MergeChoice, PolicyOptions, Vertiorizon};
use terrane_sim::{Clients, Config, Figures, Mix, Phase, Workload};

/// Number of times that merges write an entry.
pub const WRITES: &str = "writes of merges";
/// Sorted runs, on average.
pub const RUNS: &str = "runs";
/// Blocks that reads fetch and pages that merges write, for an operation.
pub const BLOCKS: &str = "blocks an operation";
/// Thousands of operations a second, of the size on the machine.
pub const THROUGHPUT: &str = "thousand operations a second";

/// Leveling, T = 4.
pub const LEVELING_4: &str = "leveling, T = 4";
/// Leveling, T = 10.
pub const LEVELING_10: &str = "leveling, T = 10";
/// Lazy leveling, T = 4.
pub const LAZY_4: &str = "lazy leveling, T = 4";
/// Lazy leveling, T = 10.
pub const LAZY_10: &str = "lazy leveling, T = 10";
/// Tiering, T = 4: four runs of every level.
pub const TIERING: &str = "tiering, T = 4";
/// A bush with ratios 4, 4, 16 and so on from the largest level up.
pub const BUSH: &str = "bush, T = 4";

/// The designs that are not tuned, for this number of buffers.
pub(crate) fn designs(buffers: u64) -> [(&'static str, Tree); 6] {
    let leveling = |ratio| Tree { size_ratios: vec![ratio], runs: vec![1], largest_runs: 1 };
    [
        (LEVELING_4, leveling(4)),
        (LEVELING_10, leveling(10)),
        (LAZY_4, Tree::lazy_leveling(4)),
        (LAZY_10, Tree::lazy_leveling(10)),
        (TIERING, Tree { largest_runs: 4, ..Tree::lazy_leveling(4) }),
        (BUSH, Tree::bush(4, buffers + buffers / 5)),
    ]
}

/// Entries of a page.
const ENTRIES_OF_A_PAGE: f64 = 4.0;
pub(crate) const PAGE: f64 = 4096.0;
const FILTER_BITS: f64 = 10.0;
/// Number of times that the data is overwritten: before what is measured, and with it.
const WARM_UP: u64 = 1;
const OVERWRITES: u64 = 4;

/// A store of `buffers` buffers of data.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) buffers: u64,
    pub(crate) store: Scaled,
}

/// Clients whose operations have these shares, with short scans.
pub(crate) fn clients(mix: &Shares) -> Clients {
    Clients {
        mix: Mix {
            update: mix.writes,
            read: mix.reads,
            read_missing: mix.missing_reads,
            scan: mix.scans,
            ..Mix::default()
        },
        scan_entries: 1,
        ..Clients::default()
    }
}

impl Setting {
    pub(crate) fn new(scale: Scale) -> Self {
        let (buffers, buffer_entries) = if scale == Scale::Ci { (200, 32) } else { (800, 64) };
        let store = Scaled {
            buffer_entries,
            key_bytes: 24,
            value_bytes: 1000,
            paper_buffer: 2 << 20,
            filter_bits_per_key: FILTER_BITS,
            paper_cache: 0,
            machine: "vertiorizon",
        };
        Setting { buffers, store }
    }

    /// B, a little below a buffer, so that a buffer with an overwritten entry still counts as one.
    pub(crate) fn base(self) -> u64 {
        self.store.buffer() - self.store.buffer() / 32
    }

    /// The store, for the closed forms, where a page that is merged has this price in blocks.
    pub(crate) fn of_the_model(self, page: f64) -> Store {
        Store {
            buffers: self.buffers_to_hold(),
            entries_of_a_page: ENTRIES_OF_A_PAGE,
            filter_bits: FILTER_BITS,
            page,
        }
    }

    /// The data over B.
    pub(crate) fn buffers_to_hold(self) -> f64 {
        (self.buffers * self.store.buffer()) as f64 / self.base() as f64
    }

    pub(crate) fn policy(self, tree: Tree) -> PolicyOptions {
        let fluid = Fluid {
            level_base_bytes: self.base(),
            target_file_bytes: 4 * self.store.buffer(),
            ..Fluid::from(tree)
        };
        PolicyOptions::Fluid(fluid)
    }

    /// Vertiorizon for this data, which tunes itself.
    pub(crate) fn vertiorizon(self) -> PolicyOptions {
        PolicyOptions::Vertiorizon(Vertiorizon {
            level_base_bytes: self.store.base(),
            target_file_bytes: 4 * self.store.buffer(),
            data_bytes: self.buffers * self.store.buffer(),
            window: self.window(),
            vertical_merge_policy: MergeChoice::Tuned,
            ..Vertiorizon::default()
        })
    }

    /// The operations that policies consider, half as many as there are entries.
    pub(crate) fn window(self) -> u64 {
        (self.entries() / 2).max(1 << 10)
    }

    /// The entries of the load.
    pub(crate) fn entries(self) -> u64 {
        self.buffers * self.store.buffer_entries
    }

    /// A workload on this store, with one thread that merges.
    pub(crate) fn simulated(
        self,
        policy: PolicyOptions,
        workload: Workload,
        at_rest: bool,
    ) -> Config {
        let config = match at_rest {
            true => self.store.at_rest(policy, workload),
            false => self.store.config(policy, workload),
        };
        Config { workers: 1, ..config }
    }

    fn config(self, policy: PolicyOptions, mix: &Shares, at_rest: bool) -> Config {
        let (clients, load) = (clients(mix), self.entries());
        let shares = mix.writes + mix.reads + mix.missing_reads + mix.scans;
        let operations = |times: u64| ((times * load) as f64 * shares / mix.writes) as u64;
        let warm_up = Phase {
            name: "warm-up".to_owned(),
            operations: operations(WARM_UP),
            clients: vec![clients.clone()],
            ..Phase::default()
        };
        let phase = Phase {
            operations: operations(OVERWRITES),
            clients: vec![clients],
            ..Phase::default()
        };
        let workload = Workload { load, phases: vec![warm_up, phase], ..Workload::default() };
        let measured_costs = matches!(policy, PolicyOptions::Vertiorizon(_));
        Config { measured_costs, ..self.simulated(policy, workload, at_rest) }
    }

    /// Simulates a design under a mix.
    pub(crate) fn run(
        self,
        case: &str,
        policy: PolicyOptions,
        mix: &Shares,
        at_rest: bool,
    ) -> Result<Measured, PapersError> {
        let report = simulate(case, self.config(policy, mix, at_rest))?;
        let found = report.phases.into_iter().find(|phase| phase.name == "operations");
        let found: Figures = found.map_or(report.whole, |phase| phase.figures);
        let blocks = found.merge_written_bytes as f64 / PAGE
            + found.gets as f64 * found.read_ios_per_get
            + found.scans as f64 * found.read_ios_per_scan;
        Ok(Measured {
            writes: found.merge_written_bytes as f64 / found.user_bytes.max(1) as f64,
            runs: found.runs_mean,
            blocks: blocks / found.operations.max(1) as f64,
            throughput: found.throughput_mean * self.store.factor() / 1000.0,
        })
    }

    /// Describes the simulation.
    pub(crate) fn description(self) -> String {
        format!(
            "{} buffers of {} entries of 1 KiB, each for {:.0} of 2 MiB; filters of {FILTER_BITS} bits, no cache. \
             All keys are loaded, then overwritten uniformly: once before what is measured, and \
             {OVERWRITES} times with it",
            self.buffers,
            self.store.buffer_entries,
            self.store.factor(),
        )
    }
}

/// Measurements of a design.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) writes: f64,
    pub(crate) runs: f64,
    pub(crate) blocks: f64,
    pub(crate) throughput: f64,
}

impl Measured {
    /// Adds some of them to a figure.
    pub(crate) fn add(self, figure: &mut Figure, case: &str, measures: &[&'static str]) {
        for measure in measures {
            let value = match *measure {
                WRITES => self.writes,
                RUNS => self.runs,
                BLOCKS => self.blocks,
                _ => self.throughput,
            };
            figure.found(case, measure, value);
        }
    }
}
