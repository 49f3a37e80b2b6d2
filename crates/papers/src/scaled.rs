//! A paper's store, made small: what matters is the number of buffers, and the sizes of files, erase
//! units and requests in buffers. An entry stands for many.
//!
//! Times are those of the paper's machine. One that is slower by the factor by which the buffer is
//! smaller takes as long for a buffer as the paper's does, and as long for an operation as that does for
//! the operations that this one stands for.

use crate::PapersError;
use crate::cases::started;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use terrane_policy::{Leveled, LeveledFull, PolicyOptions};
use terrane_sim::{Config, Device, Figures, Report, Simulation, SimulationError, Workload};

/// The shape of a paper's store, and the size at which it is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Scaled {
    /// Entries that a buffer holds here.
    pub(crate) buffer_entries: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
    /// Bytes of the paper's buffer.
    pub(crate) paper_buffer: u64,
    pub(crate) filter_bits_per_key: f64,
    /// Bytes of the paper's block cache.
    pub(crate) paper_cache: u64,
    /// The paper's machine, a preset of the simulator.
    pub(crate) machine: &'static str,
}

impl Scaled {
    pub(crate) fn entry(self) -> u64 {
        self.key_bytes + self.value_bytes
    }

    /// Bytes of a buffer here.
    pub(crate) fn buffer(self) -> u64 {
        self.buffer_entries * self.entry()
    }

    /// B, a little below a buffer, so that a buffer with some overwritten entries still counts as one.
    pub(crate) fn base(self) -> u64 {
        self.buffer() - self.buffer() / 16
    }

    /// Operations of the paper for which one stands here.
    pub(crate) fn factor(self) -> f64 {
        self.paper_buffer as f64 / self.buffer() as f64
    }

    /// Full, preemptive merges.
    pub(crate) fn full(self, size_ratio: u64) -> PolicyOptions {
        let (level_base_bytes, target_file_bytes) = (self.base(), UNBOUNDED);
        PolicyOptions::LeveledFull(LeveledFull {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger: 1,
            dynamic_level_bytes: true,
            preemptive: true,
            filters: terrane_policy::Filters::Uniform,
        })
    }

    /// Partial merges of the file that overlaps least; files have this many buffers.
    pub(crate) fn partial(self, size_ratio: u64, buffers: u64) -> PolicyOptions {
        let (level_base_bytes, target_file_bytes) = (self.base(), buffers * self.buffer());
        let l0_compaction_trigger = 1;
        PolicyOptions::Leveled(Leveled {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger,
            ..Leveled::default()
        })
    }

    fn device(self) -> Device {
        let (factor, device) = (self.factor(), Device::preset(self.machine).unwrap_or_default());
        Device {
            read_speed: device.read_speed / factor,
            write_speed: device.write_speed / factor,
            request_bytes: (device.request_bytes as f64 / factor) as u64,
            merge_nanos_per_byte: device.merge_nanos_per_byte * factor,
            flush_nanos_per_byte: device.flush_nanos_per_byte.map(|nanos| nanos * factor),
            write_micros: device.write_micros * factor,
            read_micros: device.read_micros * factor,
            block_micros: device.block_micros * factor,
            probe_micros: device.probe_micros * factor,
            program_micros: device.program_micros * factor,
            ..device
        }
    }

    /// A store that is written to as fast as it accepts, by one worker a merge.
    pub(crate) fn config(self, policy: PolicyOptions, workload: Workload) -> Config {
        Config {
            policy,
            buffer_bytes: self.buffer(),
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            filter_bits_per_key: self.filter_bits_per_key,
            cache_bytes: (self.paper_cache as f64 / self.factor()) as u64,
            device: self.device(),
            subcompaction_bytes: self.buffer(),
            window: WINDOW_BUFFERS * self.buffer_entries,
            // The papers' stores fetch a block of each run when a scan starts, unless a figure says otherwise. Without
            // scans the default stays, which configurations need not state.
            lazy_scans: !scans(&workload),
            workload,
            ..Config::default()
        }
    }

    /// A store that becomes idle after each buffer, as the papers' equations assume.
    pub(crate) fn at_rest(self, policy: PolicyOptions, workload: Workload) -> Config {
        Config { log: false, ..self.config(policy, workload.at_rate(1e-3)) }
    }
}

/// Whether any client of a workload scans.
fn scans(workload: &Workload) -> bool {
    let mut clients = workload.phases.iter().flat_map(|phase| &phase.clients);
    clients.any(|clients| clients.mix.scan > 0.0)
}

/// Files of any size.
pub(crate) const UNBOUNDED: u64 = 1 << 40;

/// Buffers of the window whose slowest is reported.
pub(crate) const WINDOW_BUFFERS: u64 = 50;

/// Runs a simulation to its end, or returns what it returned before: figures have many in common.
pub(crate) fn simulate(case: &str, config: Config) -> Result<Report, PapersError> {
    let config = started(config, true);
    type Outcome = Arc<OnceLock<Result<Report, SimulationError>>>;
    static KEPT: Mutex<BTreeMap<String, Outcome>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = Arc::clone(kept.entry(format!("{config:?}")).or_default());
    drop(kept);
    let outcome = outcome.get_or_init(|| Simulation::new(config).and_then(Simulation::run));
    outcome.clone().map_err(|why| PapersError::Simulation { case: case.to_owned(), why })
}

/// Starts a simulation that its caller advances.
pub(crate) fn start(case: &str, config: Config) -> Result<Simulation, PapersError> {
    let failed = |why| PapersError::Simulation { case: case.to_owned(), why };
    Simulation::new(started(config, false)).map_err(failed)
}

/// Tables in which a point read looks for its key: those whose filter it queries.
pub(crate) fn tables_a_read(figures: &Figures) -> f64 {
    let lookups: u64 = figures.by_level.iter().map(|level| level.lookups).sum();
    lookups as f64 / figures.gets.max(1) as f64
}
