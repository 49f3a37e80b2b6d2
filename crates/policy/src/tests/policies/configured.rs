//! Each policy with T = 3 and B = 12, so that trees of some hundred bytes have several levels.

use super::*;

/// The greatest number of levels.
pub(crate) const EVERY_LEVEL: usize = 64;

pub(crate) const LEVELED: Leveled = Leveled {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 3,
    dynamic_level_bytes: true,
    pick: Pick::LeastOverlap,
    seed: 7,
    filters: Filters::Uniform,
    max_subcompactions: 1,
    pipelined: false,
    merge_waiting: true,
    partitioning: Partitioning::DEFAULT,
};
pub(crate) const LEVELED_FULL: LeveledFull = LeveledFull {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: true,
    preemptive: true,
    filters: Filters::Uniform,
};
pub(crate) const TIERED: Tiered = Tiered {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};
pub(crate) const TIERED_FULL: TieredFull = TieredFull {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 1,
    filters: Filters::Uniform,
};
pub(crate) const LAZY: LazyLeveled = LazyLeveled {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 3,
    dynamic_level_bytes: true,
    leveled_levels: 1,
    filters: Filters::Uniform,
};
pub(crate) const UNIVERSAL: Universal = Universal {
    run_trigger: 4,
    size_ratio_percent: 1,
    min_merge_width: 2,
    max_merge_width: 64,
    space_percent: 200,
    target_file_bytes: 6,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};
pub(crate) const SPOOKY: Spooky = Spooky {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: u64::MAX,
    l0_compaction_trigger: 1,
    levels_below: 1,
    leveled_levels: EVERY_LEVEL as u64,
    trivial_moves: true,
    filters: Filters::Uniform,
};
#[cfg(feature = "all")]
pub(crate) mod growing {
    use super::*;

    const B: (u64, u64) = (12, 6);
    pub(crate) const TIERED_PARTIAL: TieredPartial = TieredPartial {
        size_ratio: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
    };
    pub(crate) const LEVELING: HorizontalLeveling = HorizontalLeveling {
        levels: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    pub(crate) const TIERING: HorizontalTiering = HorizontalTiering {
        levels: 3,
        data_bytes: 0,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    pub(crate) const VERTIORIZON: Vertiorizon = Vertiorizon {
        size_ratio: 3,
        buffers: 0,
        data_bytes: 0,
        levels: 0,
        merge_policy: MergeChoice::Tuned,
        vertical_merge_policy: MergeChoice::Leveling,
        window: 1024,
        skew: false,
        backbone: false,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
    };
    pub(crate) const BINOMIAL: Binomial = Binomial {
        components: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    pub(crate) const BUCKET: BucketLsm = BucketLsm {
        size_ratio: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        l0_compaction_trigger: 3,
        dynamic_level_bytes: true,
        buckets: 4,
        follow_workers: true,
        window: 3,
        split_percent: 200,
        join_percent: 50,
        min_buckets: 1,
        join_hot: false,
        count_present: false,
        only_empty: true,
        merge_waiting: false,
        level_one_waits: true,
        eager: false,
        overlap_percent: 0,
    };
    /// As the authors' code has it.
    pub(crate) const BUCKET_CODE: BucketLsm = BucketLsm {
        split_percent: 150,
        join_hot: true,
        count_present: true,
        only_empty: false,
        merge_waiting: true,
        level_one_waits: true,
        eager: true,
        overlap_percent: 50,
        ..BUCKET
    };
    pub(crate) const PTIER: PTier = PTier {
        size_ratio: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        split_bytes: 2,
        filters: Filters::Uniform,
        l0_compaction_trigger: 3,
        prefix_length: 1,
        prefix_delimiter: Vec::new(),
        read_limit: 5,
    };
    /// Levels of these ratios and runs.
    pub(crate) fn fluid(size_ratios: &[u64], runs: &[u64], largest_runs: u64) -> Fluid {
        Fluid {
            size_ratios: size_ratios.to_vec(),
            runs: runs.to_vec(),
            largest_runs,
            level_base_bytes: B.0,
            target_file_bytes: B.1,
            ..Fluid::default()
        }
    }
    /// Rounds of up to four admissions, or of a third of the last level.
    pub(crate) const ECOTUNE: EcoTune = EcoTune {
        size_ratio: 3,
        window: 1 << 10,
        page_percent: 100,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
    };
    pub(crate) const MIN_LATENCY: MinLatency = MinLatency {
        components: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
}
