//! The designs that the paper compares.

use crate::scaled::{Scaled, UNBOUNDED};
use terrane_policy::{
    Binomial, Filters, HorizontalLeveling, HorizontalTiering, LazyLeveled, Leveled, LeveledFull,
    MergeChoice, MinLatency, Pick, PolicyOptions, Tiered, TieredPartial, Universal, Vertiorizon,
};

/// T of all designs but the tuned RocksDB.
pub(super) const SIZE_RATIO: u64 = 6;

/// Vertical leveling with partial merges: RocksDB's default, but for T.
pub const VERTICAL_LEVELING_PARTIAL: &str = "vertical leveling, partial";
/// Vertical leveling with full merges.
pub const VERTICAL_LEVELING_FULL: &str = "vertical leveling, full";
/// Vertical tiering with partial merges.
pub const VERTICAL_TIERING_PARTIAL: &str = "vertical tiering, partial";
/// Vertical tiering with full merges.
pub const VERTICAL_TIERING_FULL: &str = "vertical tiering, full";
/// Horizontal leveling.
pub const HORIZONTAL_LEVELING: &str = "horizontal leveling";
/// Horizontal tiering.
pub const HORIZONTAL_TIERING: &str = "horizontal tiering";
/// Vertiorizon that always has a leveled horizontal part.
pub const VERTIORIZON_LEVELING: &str = "Vertiorizon, leveling";
/// Vertiorizon that always has a tiered horizontal part.
pub const VERTIORIZON_TIERING: &str = "Vertiorizon, tiering";
/// Vertiorizon that tunes itself.
pub const VERTIORIZON: &str = "Vertiorizon";
/// RocksDB's universal compaction.
pub const UNIVERSAL: &str = "universal";
/// The RocksDB that the authors tuned.
pub const ROCKSDB_TUNED: &str = "RocksDB, tuned";

/// The designs that the paper ranks, in the order of its table (figure 7 d).
pub const RANKED: [&str; 9] = [
    VERTICAL_LEVELING_PARTIAL,
    VERTICAL_LEVELING_FULL,
    VERTICAL_TIERING_PARTIAL,
    VERTICAL_TIERING_FULL,
    HORIZONTAL_LEVELING,
    HORIZONTAL_TIERING,
    VERTIORIZON_LEVELING,
    VERTIORIZON_TIERING,
    VERTIORIZON,
];

/// All designs.
pub const DESIGNS: [&str; 11] = [
    VERTICAL_LEVELING_PARTIAL,
    VERTICAL_LEVELING_FULL,
    VERTICAL_TIERING_PARTIAL,
    VERTICAL_TIERING_FULL,
    HORIZONTAL_LEVELING,
    HORIZONTAL_TIERING,
    VERTIORIZON_LEVELING,
    VERTIORIZON_TIERING,
    VERTIORIZON,
    UNIVERSAL,
    ROCKSDB_TUNED,
];

/// Runs that wait in level 0 before leveling merges them: RocksDB's default.
pub(super) const LEVEL0_RUNS: u64 = 4;

/// Data that designs are made for.
#[derive(Clone, Copy)]
pub(super) struct Data {
    pub(super) store: Scaled,
    /// Buffers that are loaded, and those that are written in all.
    pub(super) buffers: u64,
    pub(super) written: u64,
    /// Operations of the window for which Vertiorizon tunes itself.
    pub(super) window: u64,
}

impl Data {
    /// The levels of a vertical design: the least L with `T^L >= N/B`. Horizontal ones get as many.
    pub(super) fn levels(self) -> u64 {
        let enough = |levels: &u32| SIZE_RATIO.saturating_pow(*levels) >= self.buffers;
        (1..16).find(enough).map_or(16, u64::from)
    }

    /// A design by its name.
    pub(super) fn design(self, name: &str) -> PolicyOptions {
        match name {
            VERTICAL_LEVELING_FULL => self.leveling_full(SIZE_RATIO),
            VERTICAL_TIERING_PARTIAL => self.tiering_partial(SIZE_RATIO),
            VERTICAL_TIERING_FULL => self.tiering_full(SIZE_RATIO),
            HORIZONTAL_LEVELING => self.horizontal_leveling(self.levels()),
            HORIZONTAL_TIERING => self.horizontal_tiering(self.levels()),
            VERTIORIZON_LEVELING => self.vertiorizon_of(MergeChoice::Leveling),
            VERTIORIZON_TIERING => self.vertiorizon_of(MergeChoice::Tiering),
            VERTIORIZON => self.vertiorizon(MergeChoice::Tuned, 0),
            UNIVERSAL => self.universal(),
            ROCKSDB_TUNED => self.rocksdb_tuned(),
            _ => self.leveling_partial(SIZE_RATIO),
        }
    }

    pub(super) fn leveling_partial(self, size_ratio: u64) -> PolicyOptions {
        PolicyOptions::Leveled(Leveled {
            size_ratio,
            level_base_bytes: self.store.base(),
            target_file_bytes: self.store.buffer(),
            l0_compaction_trigger: LEVEL0_RUNS,
            dynamic_level_bytes: false,
            ..Leveled::default()
        })
    }

    pub(super) fn leveling_full(self, size_ratio: u64) -> PolicyOptions {
        PolicyOptions::LeveledFull(LeveledFull {
            size_ratio,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            l0_compaction_trigger: LEVEL0_RUNS,
            dynamic_level_bytes: false,
            preemptive: false,
            ..LeveledFull::default()
        })
    }

    pub(super) fn tiering_partial(self, size_ratio: u64) -> PolicyOptions {
        PolicyOptions::TieredPartial(TieredPartial {
            size_ratio,
            level_base_bytes: self.store.base(),
            target_file_bytes: self.store.buffer(),
            ..TieredPartial::default()
        })
    }

    pub(super) fn tiering_full(self, size_ratio: u64) -> PolicyOptions {
        PolicyOptions::Tiered(Tiered {
            size_ratio,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            ..Tiered::default()
        })
    }

    pub(super) fn horizontal_leveling(self, levels: u64) -> PolicyOptions {
        PolicyOptions::HorizontalLeveling(HorizontalLeveling {
            levels,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            ..HorizontalLeveling::default()
        })
    }

    /// Laid out for all that is going to be written, as the paper says.
    pub(super) fn horizontal_tiering(self, levels: u64) -> PolicyOptions {
        PolicyOptions::HorizontalTiering(HorizontalTiering {
            levels,
            data_bytes: self.written * self.store.buffer(),
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            ..HorizontalTiering::default()
        })
    }

    /// The stack policy that writes least with this many components.
    pub(super) fn min_latency(self, components: u64) -> PolicyOptions {
        PolicyOptions::MinLatency(MinLatency {
            components,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            ..MinLatency::default()
        })
    }

    /// The stack policy that grows slowly up to this many components.
    pub(super) fn binomial(self, components: u64) -> PolicyOptions {
        PolicyOptions::Binomial(Binomial {
            components,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            ..Binomial::default()
        })
    }

    /// A fixed horizontal part, of as many levels as are left of a vertical design's.
    fn vertiorizon_of(self, merge_policy: MergeChoice) -> PolicyOptions {
        self.vertiorizon(merge_policy, self.levels().saturating_sub(2).max(1))
    }

    /// Its vertical part is tiered if the horizontal part is always, and tuned if that is.
    pub(super) fn vertiorizon(self, merge_policy: MergeChoice, levels: u64) -> PolicyOptions {
        PolicyOptions::Vertiorizon(Vertiorizon {
            size_ratio: SIZE_RATIO,
            data_bytes: self.buffers * self.store.buffer(),
            levels,
            merge_policy,
            window: self.window,
            vertical_merge_policy: merge_policy,
            level_base_bytes: self.store.base(),
            target_file_bytes: self.store.buffer(),
            ..Vertiorizon::default()
        })
    }

    /// Lazy leveling with full merges: the largest level is one run, the others have several.
    pub(super) fn lazy_leveling(self, size_ratio: u64, filters: Filters) -> PolicyOptions {
        PolicyOptions::LazyLeveled(LazyLeveled {
            size_ratio,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            l0_compaction_trigger: 1,
            dynamic_level_bytes: true,
            leveled_levels: 1,
            filters,
        })
    }

    /// The same with Vertiorizon's horizontal part in place of the tiered levels.
    pub(super) fn backbone(self, size_ratio: u64, filters: Filters) -> PolicyOptions {
        PolicyOptions::Vertiorizon(Vertiorizon {
            size_ratio,
            data_bytes: self.buffers * self.store.buffer(),
            backbone: true,
            level_base_bytes: self.store.base(),
            target_file_bytes: UNBOUNDED,
            filters,
            ..Vertiorizon::default()
        })
    }

    fn universal(self) -> PolicyOptions {
        PolicyOptions::Universal(Universal {
            target_file_bytes: self.store.buffer(),
            ..Universal::default()
        })
    }

    fn rocksdb_tuned(self) -> PolicyOptions {
        PolicyOptions::Leveled(Leveled {
            size_ratio: 10,
            level_base_bytes: self.store.base(),
            target_file_bytes: self.store.buffer(),
            l0_compaction_trigger: LEVEL0_RUNS,
            dynamic_level_bytes: true,
            pick: Pick::Oldest,
            ..Leveled::default()
        })
    }
}
