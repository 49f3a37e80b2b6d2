//! A store on a flash device.
//!
//! The device is the paper's, measured in buffers: 960 GB in buffers of 64 MB, erase units of a 960th
//! of the device (1 GB), 7 % over-provisioning, pages of a 32nd of a buffer. The client writes as fast as
//! the store accepts, with 16 workers and a log.

use super::{Store, simulate};
use crate::PapersError;
use crate::figure::Figure;
use terrane_policy::PolicyOptions;
use terrane_sim::{Choice, Clients, Config, FlashOptions, Report, SimulationError, Workload};

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

const PAGES_OF_BUFFER: u64 = 32;
const UNITS: u64 = 960;
const OVER_PROVISIONING: f64 = 0.07;

/// A device of this many buffers.
#[derive(Clone, Copy)]
pub(super) struct Drive {
    pub(super) store: Store,
    pub(super) buffers: u64,
    pub(super) updates: Updates,
}

/// Which keys are updated.
#[derive(Clone, Copy)]
pub(super) enum Updates {
    Uniform,
    /// Zipf with exponent 1: hot keys at random, and different ones after each fifth.
    MovingZipf,
}

impl Drive {
    /// What is simulated, in words.
    pub(super) fn setting(self, size_ratio: u64) -> String {
        let Drive { store, buffers, updates } = self;
        let updates = match updates {
            Updates::Uniform => "uniformly",
            Updates::MovingZipf => {
                "by Zipf with exponent 1, hot keys anywhere and other ones after each fifth"
            }
        };
        format!(
            "T = {size_ratio}, a device of {buffers} buffers of {} entries, erase units of 1/960 of \
             it, 7 % over-provisioning (1/32 of a buffer a page); 16 workers, a log, the writer as \
             fast as it may. Loaded once, then twice as much is updated {updates}; the numbers are \
             those of the updates.",
            store.buffer_entries
        )
    }

    fn config(self, policy: PolicyOptions, utilisation: f64) -> Config {
        let Drive { store, buffers, updates } = self;
        let page_bytes = store.buffer() / PAGES_OF_BUFFER;
        let flash = FlashOptions {
            capacity_bytes: buffers * store.buffer(),
            over_provisioning: OVER_PROVISIONING,
            page_bytes,
            unit_pages: u32::try_from(buffers * PAGES_OF_BUFFER / UNITS).unwrap_or(u32::MAX).max(1),
        };
        let load = ((buffers * store.buffer_entries) as f64 * utilisation) as u64;
        let operations = 2 * load;
        let choice = match updates {
            Updates::Uniform => Choice::Uniform,
            Updates::MovingZipf => Choice::Zipf { exponent: 1.0, move_every: operations / 5 },
        };
        let clients = Clients { choice, ..Clients::default() };
        let workload = Workload::then(load, operations, clients);
        Config { flash: Some(flash), ..store.config(policy, workload) }
    }

    /// Adds the results for data that takes this share of the device to the figure, and returns them
    /// unless the data does not fit.
    pub(super) fn measure(
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
        let outcome = Outcome::new(&report);
        let capacity = (self.buffers * self.store.buffer()) as f64;
        figure.found(case, FITS, 1.0);
        figure.found(case, TREE, outcome.tree);
        figure.found(case, COLLECTION, outcome.collection);
        figure.found(case, TOTAL, outcome.total());
        figure.found(case, PEAK, report.whole.store_bytes_peak as f64 / capacity);
        Ok(Some(outcome))
    }
}

/// What is written, and why.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub(super) tree: f64,
    pub(super) collection: f64,
}

impl Outcome {
    fn new(report: &Report) -> Self {
        let updates = report.phases.iter().find(|phase| phase.name == "operations");
        let figures = updates.map_or(&report.whole, |phase| &phase.figures);
        Outcome {
            tree: figures.write_amp.unwrap_or(0.0),
            collection: figures.gc_factor.unwrap_or(1.0),
        }
    }

    pub(super) fn total(self) -> f64 {
        self.tree * self.collection
    }
}
