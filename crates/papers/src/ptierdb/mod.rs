//! Liu, Zhou: "PTierDB: Building Better Read-Write Cost Balanced Key-Value Stores for Small Data on SSD".
//!
//! * [`ycsb`] - table I and figure 7: a load, then YCSB A, B, C, F and D; and E after a load of its own.
//! * [`items`] - figure 6: writes, then reads, of items of four sizes.
//! * [`hot`] - what reads cost over time, as merges within the deepest level go on.
//! * [`sweeps`] - prefixes and read limits, neither of which the paper states; and uneven prefixes.
//!
//! The paper's store has two memtables of 32 MB, filters of 10 bits, and LevelDB's defaults: 4 files in level 0,
//! 10 MB in level 1 and a size ratio of 10. Its baselines merge level by level into files of any size.

pub mod hot;
pub mod items;
pub mod sweeps;
pub mod ycsb;

use crate::scaled::{Scaled, UNBOUNDED};
use crate::{Paper, Scale};
use terrane_policy::{
    Filters, LazyLeveled, LeveledFull, PTier, Partitioning, PolicyOptions, Tiered,
};
use terrane_sim::{Config, KeyPrefixes, Workload};

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "ptierdb",
    title: "PTierDB (Liu and Zhou)",
    figures: &[
        ycsb::figure,
        items::figure,
        hot::figure,
        sweeps::prefixes,
        sweeps::read_limit,
        sweeps::uneven,
    ],
    left_out: &[
        (
            "Figures 1 and 3 to 5",
            "they explain the rules, and have no measurements. Tests of the policy compute them.",
        ),
        (
            "Figure 2",
            "its stores are leveled, tiered and lazy-leveled ones, as those here, at a size ratio of 6.",
        ),
        (
            "PebblesDB",
            "the simulator has no guards: its column of table I, 6.32 and 12.7 GB, is not reproduced.",
        ),
        ("SILK", "the simulator's merges do not pause for others: 17.54 and 10.5 GB."),
        ("WiscKey", "the simulator has no log of values: 2.8 and 27.2 GB."),
    ],
};

/// A store that the paper compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Full merges, one run a level.
    Leveled,
    /// One run in the deepest level.
    LazyLeveled,
    /// Several runs in every level.
    Tiered,
    /// The paper's.
    PTier,
}

/// All of them.
pub const DESIGNS: [Design; 4] =
    [Design::Leveled, Design::LazyLeveled, Design::Tiered, Design::PTier];

impl Design {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Design::Leveled => "leveled",
            Design::LazyLeveled => "lazy-leveled",
            Design::Tiered => "tiered",
            Design::PTier => "ptier",
        }
    }

    fn policy(self, store: Scaled) -> PolicyOptions {
        let (size_ratio, target_file_bytes, filters) = (10, UNBOUNDED, Filters::Uniform);
        // 1 MB of the paper's: the capacity of level 1 is ten times that.
        let level_base_bytes = store.buffer() / 32;
        let (l0_compaction_trigger, dynamic_level_bytes) = (4, false);
        match self {
            Design::Leveled => PolicyOptions::LeveledFull(LeveledFull {
                size_ratio,
                level_base_bytes,
                target_file_bytes,
                l0_compaction_trigger,
                dynamic_level_bytes,
                preemptive: false,
                filters,
            }),
            Design::LazyLeveled => PolicyOptions::LazyLeveled(LazyLeveled {
                size_ratio,
                level_base_bytes,
                target_file_bytes,
                l0_compaction_trigger,
                dynamic_level_bytes,
                leveled_levels: 1,
                filters,
            }),
            // Its levels are full by their runs: ten flushes in level 0, a hundred in level 1.
            Design::Tiered => PolicyOptions::Tiered(Tiered {
                size_ratio,
                level_base_bytes: store.buffer() / 2,
                target_file_bytes,
                filters,
                partitioning: Partitioning::DEFAULT,
            }),
            Design::PTier => PolicyOptions::PTier(ptier(store)),
        }
    }
}

/// The read limit of the figures.
pub const READ_LIMIT: u64 = 32;

/// Prefixes of the keys, alike: so few that the paper's order of write amplification holds (the sweep of
/// prefixes shows where it does not).
pub const PREFIXES: u64 = 8;

/// The paper's policy: `T_s` is 4 MB, and a table is at most 64 MB.
fn ptier(store: Scaled) -> PTier {
    PTier {
        size_ratio: 10,
        level_base_bytes: store.buffer() * 10 / 32,
        target_file_bytes: store.buffer() * 2,
        split_bytes: store.buffer() / 8,
        filters: Filters::Uniform,
        l0_compaction_trigger: 4,
        prefix_length: 2,
        prefix_delimiter: Vec::new(),
        read_limit: READ_LIMIT,
    }
}

/// The paper's store of items of this size, at a scale; an item has a key of 16 bytes.
fn store(scale: Scale, item: u64) -> Scaled {
    let buffer_entries = match scale {
        Scale::Ci => 64,
        Scale::Full => 512,
    };
    Scaled {
        buffer_entries,
        key_bytes: 16,
        value_bytes: item - 16,
        paper_buffer: 32 << 20,
        filter_bits_per_key: 10.0,
        paper_cache: 8 << 20,
        machine: "ptierdb",
    }
}

/// The same with buffers large enough for the capacities of the baselines, which are 1 KB at least.
fn comparable(scale: Scale, item: u64) -> Scaled {
    let bytes = match scale {
        Scale::Ci => 36 << 10,
        Scale::Full => 128 << 10,
    };
    Scaled { buffer_entries: bytes / item, ..store(scale, item) }
}

/// Entries here for so many of the paper's.
fn scaled(store: Scaled, operations: u64) -> u64 {
    (operations as f64 / store.factor()) as u64
}

/// The store under a policy: one thread merges, and values compress to half, as LevelDB's benchmark makes
/// them.
fn config(store: Scaled, policy: PolicyOptions, workload: Workload) -> Config {
    let prefixes = workload.prefixes.clone();
    let prefixes = prefixes.or(Some(KeyPrefixes { count: PREFIXES, exponent: 0.0 }));
    let workload = Workload { prefixes, ..workload };
    Config {
        workers: 1,
        cores: 20,
        l0_stop_trigger: 12,
        value_compression: 2.0,
        ..store.config(policy, workload)
    }
}

/// The setting in words.
fn setting(store: Scaled) -> String {
    format!(
        "A buffer of {} entries stands for the paper's of 32 MB, and everything else is as much smaller. \
         Values compress to half (assumed); keys have {PREFIXES} prefixes alike, of which ptier is told, and \
         its read limit is {READ_LIMIT} reads here (the paper states neither). T_s is 4 MB and a table at most \
         64 MB. One thread merges; writes stall at 12 files in level 0.",
        store.buffer_entries
    )
}
