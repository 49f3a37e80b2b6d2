//! Dayan, Weiss, Dashevsky, Pan, Bortnikov, Twitto: "Spooky: Granulating LSM-Tree Compactions
//! Correctly", PVLDB 15(11), 2022.
//!
//! * [`growth`] - figure 6 and figure 14 D: write and space amplification as the data or T grows.
//! * [`shapes`] - figure 14 A-C: lazy leveling and tiering.
//! * [`skew`] - figures 13 G and 11 A: skewed updates.
//! * [`flash`] - figures 13 A-D and G-H, 15 B and 1: with garbage collection of flash.
//!
//! The paper's store has buffers of 64 MB and entries of 528 bytes. Here an entry stands for many: what
//! matters is the number of buffers, and the size of files, erase units and requests in buffers. These
//! are the paper's; times are those of a machine that is slower by the factor by which the store is
//! smaller.

mod drive;
pub mod equations;
pub mod flash;
pub mod growth;
pub mod shapes;
pub mod skew;

use crate::{Figure, PapersError, Scale};
use terrane_policy::{Leveled, LeveledFull, PolicyOptions, Spooky};
use terrane_sim::{Config, Device, Report, Simulation, Workload};

/// The title of the report.
pub const TITLE: &str = "Spooky (PVLDB 15(11), 2022)";

/// All figures; `progress` is called with each simulation's name.
///
/// # Errors
/// A simulation that failed.
pub fn figures(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Vec<Figure>, PapersError> {
    Ok(vec![
        growth::over_data(scale, progress)?,
        growth::over_ratio(scale, progress)?,
        shapes::figure(scale, progress)?,
        skew::figure(scale, progress)?,
        flash::over_time(scale, progress)?,
        flash::under_skew(scale, progress)?,
        flash::over_utilisation(scale, progress)?,
    ])
}

/// Bytes of an entry, as in the paper: 16 of key, 512 of value.
const ENTRY: u64 = 528;

/// The paper's buffer.
const PAPER_BUFFER: u64 = 64 << 20;

/// A store whose buffer holds this many entries.
#[derive(Clone, Copy)]
struct Store {
    buffer_entries: u64,
}

impl Store {
    fn buffer(self) -> u64 {
        self.buffer_entries * ENTRY
    }

    /// B, a little below a buffer, so that a buffer with some overwritten entries still counts as one.
    fn base(self) -> u64 {
        self.buffer() - self.buffer() / 16
    }

    /// Full, preemptive merges.
    fn full(self, size_ratio: u64) -> PolicyOptions {
        let (level_base_bytes, target_file_bytes) = (self.base(), UNBOUNDED);
        PolicyOptions::LeveledFull(LeveledFull {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger: 1,
            dynamic_level_bytes: true,
            preemptive: true,
        })
    }

    /// Partial merges of the file that overlaps least; files have the size of a buffer.
    fn partial(self, size_ratio: u64) -> PolicyOptions {
        self.partial_of(size_ratio, 1)
    }

    /// Partial merges of files of this many buffers.
    fn partial_of(self, size_ratio: u64, buffers: u64) -> PolicyOptions {
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

    /// Spooky with X this many levels above L, and the G largest levels leveled; as in the paper, a
    /// file that reaches an empty level alone is rewritten.
    fn spooky(self, size_ratio: u64, levels_below: u64, leveled_levels: u64) -> PolicyOptions {
        PolicyOptions::Spooky(Spooky {
            size_ratio,
            level_base_bytes: self.base(),
            target_file_bytes: UNBOUNDED,
            l0_compaction_trigger: 1,
            levels_below,
            leveled_levels,
            trivial_moves: false,
        })
    }

    /// Spooky with X = L-2 and the policy's default: a file that overlaps nothing is moved.
    fn spooky_that_moves(self, size_ratio: u64) -> PolicyOptions {
        match self.spooky(size_ratio, 2, 64) {
            PolicyOptions::Spooky(spooky) => {
                PolicyOptions::Spooky(Spooky { trivial_moves: true, ..spooky })
            }
            other => other,
        }
    }

    /// The paper's machine, slower by the factor by which the store is smaller.
    fn device(self) -> Device {
        let factor = PAPER_BUFFER as f64 / self.buffer() as f64;
        let device = Device::default();
        Device {
            read_speed: device.read_speed / factor,
            write_speed: device.write_speed / factor,
            request_bytes: (device.request_bytes as f64 / factor) as u64,
            merge_nanos_per_byte: device.merge_nanos_per_byte * factor,
            write_micros: device.write_micros * factor,
            read_micros: device.read_micros * factor,
            ..device
        }
    }

    /// A store that is written to as fast as it accepts.
    fn config(self, policy: PolicyOptions, workload: Workload) -> Config {
        Config {
            policy,
            buffer_bytes: self.buffer(),
            device: self.device(),
            window: 10 * self.buffer_entries,
            workload,
            ..Config::default()
        }
    }

    /// A store that becomes idle after each buffer, as the paper's equations assume.
    fn at_rest(self, policy: PolicyOptions, workload: Workload) -> Config {
        Config { log: false, ..self.config(policy, workload.at_rate(1e-3)) }
    }
}

/// Files of any size.
const UNBOUNDED: u64 = 1 << 40;

fn simulate(case: &str, config: Config) -> Result<Report, PapersError> {
    let run = Simulation::new(config).and_then(Simulation::run);
    run.map_err(|why| PapersError::Simulation { case: case.to_owned(), why })
}
