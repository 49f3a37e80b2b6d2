//! A store on a flash device, and the machine that it runs on.
//!
//! The paper's device has 960 GB, 15 000 buffers of 64 MB. Here it has a third of these buffers, which
//! is as many levels; erase units of a 960th of the device (1 GB there), 7 % over-provisioning, pages of
//! a 32nd of a buffer. The client writes as fast as
//! the store accepts, with a log; 16 workers merge, on 16 cores that they share with it.

use crate::PapersError;
use crate::figure::Figure;
use crate::scaled::{Scaled, simulate};
use terrane_policy::PolicyOptions;
use terrane_sim::{
    Choice, Clients, Config, Figures, FlashOptions, Kind, Mix, SimulationError, Workload,
};

/// 1 if the data fits, else 0.
pub const FITS: &str = "fits";
/// Bytes written by flushes and merges per byte of the user's.
pub const TREE: &str = "write amp of the tree";
/// Bytes written to flash per byte written by the host.
pub const COLLECTION: &str = "write amp of garbage collection";
/// Their product.
pub const TOTAL: &str = "total write amp";
/// The peak size of all tables over the capacity of the device.
pub const PEAK: &str = "peak space, share of the device";

/// The most files at once.
pub const FILES: &str = "files, most";

const PAGES_OF_BUFFER: u64 = 32;
const UNITS: u64 = 960;
const OVER_PROVISIONING: f64 = 0.07;

/// A device of this many buffers, what is written to it, and by what.
#[derive(Clone, Copy)]
pub(super) struct Drive {
    pub(super) store: Scaled,
    pub(super) buffers: u64,
    pub(super) updates: Updates,
    pub(super) machine: Machine,
    /// Operations of a client beside the one that updates, if there is one.
    pub(super) beside: Option<Kind>,
}

/// Choice of the updated keys.
#[derive(Clone, Copy)]
pub(super) enum Updates {
    Uniform,
    /// Zipf with exponent 1: hot keys at random, and different ones after each fifth.
    MovingZipf,
}

/// Changes of the machine in experiments.
#[derive(Clone, Copy)]
pub(super) struct Machine {
    /// The most workers that share one of Spooky's or a full merge.
    pub(super) sharing: usize,
    /// The same of a partial merge.
    pub(super) partial_sharing: usize,
    /// Speeds of processor and device over the paper's.
    pub(super) processor: f64,
    pub(super) device: f64,
    /// Whether the device's garbage collection is simulated, and whether removed files are discarded on
    /// it.
    pub(super) collects: bool,
    pub(super) discard: bool,
    /// Time for which a die writes a page and holds up its reads, in microseconds.
    pub(super) program_micros: f64,
}

/// The paper's machine, as far as it is known. Its authors share large merges among workers; partial
/// merges are RocksDB's, which by default shares none.
pub(super) const MACHINE: Machine = Machine {
    sharing: 16,
    partial_sharing: 1,
    processor: 1.0,
    device: 1.0,
    collects: true,
    discard: true,
    program_micros: 0.0,
};

/// The paper's cores.
const CORES: usize = 16;

impl Drive {
    /// A device of this many buffers, on the paper's machine.
    pub(super) fn new(buffers: u64, updates: Updates) -> Self {
        Drive { store: super::store(32), buffers, updates, machine: MACHINE, beside: None }
    }

    pub(super) fn on(self, machine: Machine) -> Self {
        Drive { machine, ..self }
    }

    /// Describes the simulation.
    pub(super) fn setting(self, size_ratio: u64) -> String {
        let Drive { store, buffers, updates, .. } = self;
        let updates = match updates {
            Updates::Uniform => "uniformly",
            Updates::MovingZipf => {
                "by Zipf with exponent 1, hot keys anywhere and other ones after each fifth"
            }
        };
        format!(
            "T = {size_ratio}, a device of {buffers} buffers of {} entries (the paper: 15000), erase \
             units of 1/960 of it, 7 % over-provisioning (1/32 of a buffer a page), told of removed \
             files; 16 workers on 16 cores, which share full merges and Spooky's, at least a buffer each, \
             and of partial merges, as by RocksDB's default, none; a log, the writer as fast as it may. \
             Loaded once, then twice as much is updated {updates}; the numbers are those of the updates.",
            store.buffer_entries
        )
    }

    fn config(self, policy: PolicyOptions, utilisation: f64) -> Config {
        let Drive { store, buffers, updates, machine, beside } = self;
        let page_bytes = store.buffer() / PAGES_OF_BUFFER;
        let flash = FlashOptions {
            capacity_bytes: buffers * store.buffer(),
            over_provisioning: OVER_PROVISIONING,
            page_bytes,
            unit_pages: u32::try_from(buffers * PAGES_OF_BUFFER / UNITS).unwrap_or(u32::MAX).max(1),
            discard: machine.discard,
        };
        let load = ((buffers * store.buffer_entries) as f64 * utilisation) as u64;
        let operations = 2 * load;
        let choice = match updates {
            Updates::Uniform => Choice::Uniform,
            Updates::MovingZipf => Choice::Zipf { exponent: 1.0, move_every: operations / 5 },
        };
        let clients = Clients { choice, ..Clients::default() };
        let mut workload = Workload::then(load, operations, clients.clone());
        if let (Some(kind), Some(phase)) = (beside, workload.phases.first_mut()) {
            phase.clients.push(Clients { mix: Mix::only(kind), scan_entries: 1, ..clients });
        }
        let mut config = store.config(policy, workload);
        config.flash = machine.collects.then_some(flash);
        config.cores = CORES;
        config.subcompactions = match &config.policy {
            PolicyOptions::Leveled(_) => machine.partial_sharing,
            _ => machine.sharing,
        };
        let device = &mut config.device;
        device.merge_nanos_per_byte /= machine.processor;
        device.write_micros /= machine.processor;
        device.program_micros = machine.program_micros * store.factor();
        device.read_speed *= machine.device;
        device.write_speed *= machine.device;
        config
    }

    /// Adds whether data that takes this share of the device fits; returns what was measured of its
    /// updates, and its peak space, unless it does not fit.
    pub(super) fn run(
        self,
        figure: &mut Figure,
        case: &str,
        policy: PolicyOptions,
        utilisation: f64,
    ) -> Result<Option<Outcome>, PapersError> {
        let report = match simulate(case, self.config(policy, utilisation)) {
            Err(PapersError::Simulation { why: SimulationError::FlashFull { .. }, .. }) => {
                figure.found(case, FITS, 0.0);
                return Ok(None);
            }
            report => report?,
        };
        figure.found(case, FITS, 1.0);
        let capacity = (self.buffers * self.store.buffer()) as f64;
        let peak = report.whole.store_bytes_peak as f64 / capacity;
        let updates = report.phases.into_iter().find(|phase| phase.name == "operations");
        let updates = updates.map_or(report.whole, |phase| phase.figures);
        Ok(Some(Outcome { updates, peak }))
    }

    /// As [`Drive::run`], with what is written and the space that it takes in the figure.
    pub(super) fn measure(
        self,
        figure: &mut Figure,
        case: &str,
        policy: PolicyOptions,
        utilisation: f64,
    ) -> Result<Option<Outcome>, PapersError> {
        let outcome = self.run(figure, case, policy, utilisation)?;
        if let Some(outcome) = &outcome {
            figure.found(case, TREE, outcome.tree());
            figure.found(case, COLLECTION, outcome.collection());
            figure.found(case, TOTAL, outcome.total());
            figure.found(case, PEAK, outcome.peak);
            figure.found(case, FILES, outcome.updates.files_max as f64);
        }
        Ok(outcome)
    }
}

/// Measurements.
pub(super) struct Outcome {
    pub(super) updates: Figures,
    peak: f64,
}

impl Outcome {
    pub(super) fn tree(&self) -> f64 {
        self.updates.write_amp.unwrap_or(0.0)
    }

    pub(super) fn collection(&self) -> f64 {
        self.updates.write_amp_device.unwrap_or(1.0)
    }

    pub(super) fn total(&self) -> f64 {
        self.tree() * self.collection()
    }
}
