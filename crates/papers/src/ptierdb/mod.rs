//! Liu, Zhou: "PTierDB: Building Better Read-Write Cost Balanced Key-Value Stores for Small Data on SSD".
//!
//! * [`ycsb`] - table I and figure 7: a load, then YCSB A, B, C, F and D; and E after a load of its own.
//! * [`items`] - figure 6: writes, then reads, of items of four sizes.
//! * [`seeks`] - table I and figure 7 with LevelDB's compactions by seeks, and with the machine's memory.
//! * [`changes`] - what their numbers depend on: one thing changed at a time.
//! * [`latencies`] and [`reads`] - the same of the latencies of figure 7, and of the reads of figure 6.
//! * [`hot`] - what reads cost over time, as merges within the deepest level continue.
//! * [`sweeps`] - prefixes and read limits, neither of which the paper states; and uneven prefixes.
//!
//! The paper's store has two memtables of 32 MB, filters of 10 bits, and LevelDB's defaults: 4 files in level 0,
//! 10 MB in level 1 and a size ratio of 10. Three of its baselines merge level by level into files of any size;
//! PebblesDB, SILK and WiscKey are what the simulator has of them.

pub mod changes;
pub mod hot;
pub mod items;
pub mod latencies;
pub mod reads;
pub mod seeks;
pub mod slower;
pub mod sweeps;
pub mod ycsb;

use crate::scaled::{Scaled, UNBOUNDED};
use crate::{Paper, Scale};
use terrane_policy::{
    Filters, LazyLeveled, Leveled, LeveledFull, PTier, Partitioning, PolicyOptions, Tiered,
};
use terrane_sim::{Config, Guards, KeyPrefixes, Workload};

/// The paper.
pub const PAPER: Paper = Paper {
    folder: "ptierdb",
    title: "PTierDB (Liu and Zhou)",
    figures: &[
        ("table-1-figure-7", ycsb::figure),
        ("figure-6", items::figure),
        ("seeks", seeks::figure),
        ("slower-merges", slower::figure),
        ("one-change", changes::figure),
        ("latencies", latencies::figure),
        ("reads", reads::figure),
        ("reads-over-time", hot::figure),
        ("prefixes", sweeps::prefixes),
        ("read-limit", sweeps::read_limit),
        ("uneven-prefixes", sweeps::uneven),
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
    /// Levels of several runs, cut at guards.
    PebblesDb,
    /// Partial merges, which pause for level 0.
    Silk,
    /// Pointers in tables, values in a log.
    WiscKey,
    /// The paper's.
    PTier,
}

/// All of them.
pub const DESIGNS: [Design; 7] = [
    Design::Leveled,
    Design::LazyLeveled,
    Design::Tiered,
    Design::PebblesDb,
    Design::Silk,
    Design::WiscKey,
    Design::PTier,
];

impl Design {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Design::Leveled => "leveled",
            Design::LazyLeveled => "lazy-leveled",
            Design::Tiered => "tiered",
            Design::PebblesDb => "pebblesdb",
            Design::Silk => "silk",
            Design::WiscKey => "wisckey",
            Design::PTier => "ptier",
        }
    }

    fn policy(self, scale: Scale, store: Scaled) -> PolicyOptions {
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
            // RocksDB's, from which SILK is made: 256 MB in level 1, files of 64 MB.
            Design::Silk => partial(store.buffer() * 8 / 10, store.buffer() * 2),
            // LevelDB's: 10 MB in level 1, files of 2 MB.
            Design::WiscKey | Design::PebblesDb => partial(level_base_bytes, store.buffer() / 16),
            Design::PTier => PolicyOptions::PTier(ptier(scale, store)),
        }
    }

    /// Its store; what it is beyond a policy.
    fn config(self, scale: Scale, store: Scaled, workload: Workload) -> Config {
        let config = config(store, self.policy(scale, store), workload);
        match self {
            Design::PebblesDb => Config { guards: Some(guards(store)), ..config },
            Design::Silk => Config { pause_deeper_merges: true, ..config },
            // Its memtable is LevelDB's, of 4 MB, and has no values.
            Design::WiscKey => {
                Config { value_pointer_bytes: 12, buffer_bytes: store.buffer() / 8, ..config }
            }
            Design::Leveled | Design::LazyLeveled | Design::Tiered | Design::PTier => config,
        }
    }
}

/// Partial merges as RocksDB and LevelDB do them: four files in level 0, a size ratio of 10.
fn partial(level_base_bytes: u64, target_file_bytes: u64) -> PolicyOptions {
    PolicyOptions::Leveled(Leveled {
        size_ratio: 10,
        level_base_bytes,
        target_file_bytes,
        l0_compaction_trigger: 4,
        dynamic_level_bytes: false,
        ..Leveled::default()
    })
}

/// PebblesDB's defaults: a key is a guard of level 1 by 27 bits of its hash, and of each next level by two less.
fn guards(store: Scaled) -> Guards {
    let keys = Guards::default().keys as f64 / store.factor();
    Guards { keys: (keys as u64).max(1), ..Guards::default() }
}

/// The read limit of the figures: as many of the paper's reads at each scale.
#[must_use]
pub fn read_limit(scale: Scale) -> u64 {
    sized(scale, 32)
}

/// A size or number at the ci scale, and as much larger at the full one.
fn sized(scale: Scale, at_ci: u64) -> u64 {
    match scale {
        Scale::Ci => at_ci,
        Scale::Full => at_ci * 32 / 9,
    }
}

/// Prefixes of the keys, alike: so few that at the ci scale the paper's order of write amplification holds.
pub const PREFIXES: u64 = 8;

/// The paper's policy: `T_s` is 4 MB, and a table is at most 64 MB.
fn ptier(scale: Scale, store: Scaled) -> PTier {
    PTier {
        size_ratio: 10,
        level_base_bytes: store.buffer() * 10 / 32,
        target_file_bytes: store.buffer() * 2,
        split_bytes: store.buffer() / 8,
        filters: Filters::Uniform,
        l0_compaction_trigger: 4,
        prefix_length: 2,
        prefix_delimiter: Vec::new(),
        read_limit: read_limit(scale),
    }
}

/// The paper's store of items of this size, at a scale; an item has a key of 16 bytes.
fn store(scale: Scale, item: u64) -> Scaled {
    Scaled {
        buffer_entries: sized(scale, 64),
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
    let bytes = sized(scale, 36 << 10);
    Scaled { buffer_entries: bytes / item, ..store(scale, item) }
}

/// Returns the entries here for `operations` of the paper's.
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
fn setting(scale: Scale, store: Scaled) -> String {
    format!(
        "A buffer of {} entries stands for the paper's of 32 MB, and everything else is smaller by the same factor. \
         Values compress to half (assumed); keys begin with one of {PREFIXES} prefixes, which are equally \
         frequent and whose length ptier is given, and its read limit is {} reads here (the paper states \
         neither). T_s is 4 MB and a table at most 64 MB. One thread merges; writes stall at 12 files in level 0.",
        store.buffer_entries,
        read_limit(scale),
    )
}
