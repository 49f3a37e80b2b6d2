//! Mao, Hristidis: "Increase Merge Efficiency in LSM Trees Through Coordinated Partitioning of Sorted
//! Runs".
//!
//! * [`loads`] - figures 5 to 12: a load of keys alike everywhere, and of skewed ones; then reads.
//! * [`switches`] - figure 5 again, with each thing that the paper or its public store says switched on alone.
//! * [`device`] - figure 5 again on faster storage, which the paper does not name.
//! * [`tables`] - how many tables a run becomes, by its size: what figures 6 and 12 can show.
//! * [`workers`] - what bounds the time of a load: workers, and flushes that span the key space.
//! * [`order`] - keys in order and nearly in order, section VI.
//!
//! The paper's store has flushes and tables of 64 MB and entries of 1024 bytes; the number of flushes
//! here is the paper's at the full scale.

pub mod device;
pub mod loads;
pub mod order;
pub mod switches;
pub mod tables;
pub mod workers;

use crate::scaled::Scaled;
use crate::{Paper, Scale};
use terrane_policy::{Leveled, Partitioner, Partitioning, PolicyOptions, Universal};
use terrane_sim::{Config, Workload};

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "partitioning",
    title: "Coordinated partitioning (Mao and Hristidis)",
    figures: &[
        ("figures-5-8", loads::random),
        ("figures-9-12", loads::skewed),
        ("switches", switches::figure),
        ("device", device::figure),
        ("tables", tables::figure),
        ("workers", workers::figure),
        ("order", order::figure),
    ],
    left_out: &[(
        "Figures 1 to 4",
        "they explain the rule, and have no measurements. Tests of the policies compute them.",
    )],
};

/// A way to cut runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Its name.
    pub name: &'static str,
    /// Its partitioner; leveling, by size, without one.
    partitioner: Option<Partitioner>,
    /// Whether flushes are cut.
    cuts_flushes: bool,
}

const fn universal(name: &'static str, partitioner: Partitioner, cuts_flushes: bool) -> Design {
    Design { name, partitioner: Some(partitioner), cuts_flushes }
}

/// One table a run.
pub const NONE: Design = universal("none", Partitioner::None, false);
/// By size.
pub const SIZE: Design = universal("size", Partitioner::Size, false);
/// Halves of the output run's key range.
pub const LOCAL: Design = universal("local-range", Partitioner::LocalRange, false);
/// Halves of the key space.
pub const GLOBAL: Design = universal("global-range", Partitioner::GlobalRange, false);
/// Halves of the output run's key range, also of flushes.
pub const LOCAL_CUT: Design = universal("local-range, cut flushes", Partitioner::LocalRange, true);
/// Halves of the key space, also of flushes.
pub const GLOBAL_CUT: Design =
    universal("global-range, cut flushes", Partitioner::GlobalRange, true);
/// Leveling by size.
pub const LEVELED: Design = Design { name: "leveled", partitioner: None, cuts_flushes: false };

/// Parts of a flush that is cut.
const FLUSH_PARTS: u64 = 16;

/// The paper's store, at a scale; with the number of its flushes.
fn store(scale: Scale) -> (Scaled, u64) {
    let (buffer_entries, flushes) = match scale {
        Scale::Ci => (128, 160),
        Scale::Full => (512, 640),
    };
    let store = Scaled {
        buffer_entries,
        key_bytes: 8,
        value_bytes: 1016,
        paper_buffer: 64 << 20,
        filter_bits_per_key: 10.0,
        paper_cache: 32 << 20,
        machine: "coordinated",
    };
    (store, flushes)
}

impl Design {
    /// RocksDB's defaults, with tables of a buffer.
    fn policy(self, store: Scaled) -> PolicyOptions {
        let target_file_bytes = store.buffer();
        let Some(partitioner) = self.partitioner else {
            return PolicyOptions::Leveled(Leveled {
                level_base_bytes: 4 * store.base(),
                target_file_bytes,
                ..Leveled::default()
            });
        };
        let flush_floor_bytes =
            if self.cuts_flushes { store.buffer() / (2 * FLUSH_PARTS) } else { 0 };
        PolicyOptions::Universal(Universal {
            target_file_bytes,
            partitioning: Partitioning {
                partitioner,
                flush_floor_bytes,
                subcompactions: 16,
                ..Partitioning::DEFAULT
            },
            ..Universal::default()
        })
    }

    /// Returns the store under this design on the paper's machine, with `workers` workers.
    fn config(self, scale: Scale, workload: Workload, workers: usize) -> Config {
        Machine::PAPER.set(scale, self.bare(scale, workload, workers))
    }

    /// Returns the store under this design without what the paper's machine has.
    fn bare(self, scale: Scale, workload: Workload, workers: usize) -> Config {
        let (store, _) = store(scale);
        Config {
            workers,
            cores: workers,
            // RocksDB shares merges of leveling; in the paper universal's groups take their place.
            subcompactions: if self == LEVELED { workers } else { 1 },
            l0_stop_trigger: 36,
            ..store.config(self.policy(store), workload)
        }
    }
}

/// Properties of the paper's machine and store that no design decides.
#[derive(Clone, Copy)]
struct Machine {
    /// Whether one compaction runs at a time, as by RocksDB's default number of jobs.
    one_compaction: bool,
    /// Whether files are read through a page cache of the machine's memory.
    page_cache: bool,
    /// Microseconds of a put.
    put_micros: f64,
}

/// Flushes that fit into memory: four fifths of the load's, as the 32 GB of the paper's machine are of its 40 GB.
const fn memory(flushes: u64) -> u64 {
    flushes * 4 / 5
}

impl Machine {
    /// All that the paper had. The time of a put is an assumption: it is what its store takes for one, with its log.
    const PAPER: Machine = Machine { one_compaction: true, page_cache: true, put_micros: 10.0 };
    /// None of it: as many compactions as the policy plans, files read past the page cache, and the time of a put
    /// that the simulator's presets share.
    const BARE: Machine = Machine { one_compaction: false, page_cache: false, put_micros: 2.0 };

    fn set(self, scale: Scale, config: Config) -> Config {
        let (store, flushes) = store(scale);
        let mut device = config.device;
        device.write_micros = self.put_micros * store.factor();
        Config {
            max_compactions: usize::from(self.one_compaction),
            page_cache_bytes: if self.page_cache { memory(flushes) * store.buffer() } else { 0 },
            device,
            ..config
        }
    }
}

/// The setting in words.
fn setting(store: Scaled, flushes: u64) -> String {
    format!(
        "{flushes} flushes (the paper: 640) of {} entries (the paper: 65536) of 8 + 1016 bytes, by one client that \
         takes {} us for each; tables of a flush; universal with RocksDB's defaults, at most 16 groups of a \
         compaction at once, and leveled with T = 10, whose merges are shared; one compaction at a time; writes stall \
         at 36 runs in level 0; a page cache of four fifths of figure 5's load (the paper's machine has 32 GB). \
         Flushes are whole, or cut into about {FLUSH_PARTS} parts where the case says so.",
        store.buffer_entries,
        Machine::PAPER.put_micros
    )
}
