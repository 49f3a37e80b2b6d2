//! Every policy in several configurations, with the invariants of its idle trees.

use super::*;
#[cfg(feature = "all")]
use crate::toolkit::partition::partitioned;

pub(crate) type Case = (Box<dyn Policy>, fn(&Shape));

/// Every policy in several configurations, and the invariants of its idle trees.
pub(crate) fn policies() -> Vec<Case> {
    let policies: Vec<Case> = vec![
        (Box::new(LEVELED), |shape| invariants::vertical(shape, EVERY_LEVEL, true)),
        (Box::new(Leveled { dynamic_level_bytes: false, ..LEVELED }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, false)
        }),
        (Box::new(Leveled { pick: Pick::Oldest, ..LEVELED }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, true)
        }),
        (Box::new(Leveled { pick: Pick::RoundRobin, ..LEVELED }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, true);
        }),
        (Box::new(Leveled { pick: Pick::Random, ..LEVELED }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, true)
        }),
        (Box::new(LEVELED_FULL), |shape| invariants::vertical(shape, EVERY_LEVEL, true)),
        (Box::new(LeveledFull { dynamic_level_bytes: false, ..LEVELED_FULL }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, false);
        }),
        (Box::new(LeveledFull { preemptive: false, ..LEVELED_FULL }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, true)
        }),
        (Box::new(LAZY), |shape| invariants::vertical(shape, 1, true)),
        (Box::new(LazyLeveled { leveled_levels: 2, ..LAZY }), |shape| {
            invariants::vertical(shape, 2, true)
        }),
        (Box::new(LazyLeveled { dynamic_level_bytes: false, ..LAZY }), |shape| {
            invariants::vertical(shape, 1, false)
        }),
        (Box::new(TIERED), invariants::tiered),
        (Box::new(TIERED_FULL), invariants::tiered_full),
        (Box::new(UNIVERSAL), invariants::universal),
        (Box::new(SPOOKY), |shape| invariants::spooky(shape, 1, EVERY_LEVEL)),
        (Box::new(Spooky { levels_below: 0, ..SPOOKY }), |shape| {
            invariants::spooky(shape, 0, EVERY_LEVEL)
        }),
        (Box::new(Spooky { levels_below: 2, ..SPOOKY }), |shape| {
            invariants::spooky(shape, 2, EVERY_LEVEL)
        }),
        (Box::new(Spooky { levels_below: 2, trivial_moves: false, ..SPOOKY }), |shape| {
            invariants::spooky(shape, 2, EVERY_LEVEL)
        }),
        (Box::new(Spooky { levels_below: 3, target_file_bytes: 10, ..SPOOKY }), |shape| {
            invariants::spooky(shape, 3, EVERY_LEVEL);
        }),
        (Box::new(Spooky { leveled_levels: 1, ..SPOOKY }), |shape| invariants::spooky(shape, 1, 1)),
        (Box::new(Spooky { leveled_levels: 0, levels_below: 2, ..SPOOKY }), |shape| {
            invariants::spooky(shape, 2, 0);
        }),
    ];
    policies.into_iter().chain(added()).collect()
}

#[cfg(not(feature = "all"))]
fn added() -> Vec<Case> {
    Vec::new()
}

/// Policies that only the build with all of them has.
#[cfg(feature = "all")]
fn added() -> Vec<Case> {
    let mut policies: Vec<Case> = vec![
        (Box::new(Leveled { pipelined: true, ..LEVELED }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, true)
        }),
        (Box::new(growing::TIERED_PARTIAL), invariants::tiered_partial),
        (Box::new(growing::LEVELING), invariants::horizontal),
        (Box::new(HorizontalLeveling { levels: 1, ..growing::LEVELING }), invariants::horizontal),
        (Box::new(growing::TIERING), invariants::admitting),
        (
            Box::new(HorizontalTiering { data_bytes: 2000, ..growing::TIERING }),
            invariants::admitting,
        ),
        (Box::new(growing::VERTIORIZON), invariants::admitting),
        (
            Box::new(Vertiorizon { levels: 2, skew: true, ..growing::VERTIORIZON }),
            invariants::admitting,
        ),
        (
            Box::new(Vertiorizon {
                merge_policy: MergeChoice::Tiering,
                vertical_merge_policy: MergeChoice::Tiering,
                ..growing::VERTIORIZON
            }),
            invariants::admitting,
        ),
        (Box::new(Vertiorizon { backbone: true, ..growing::VERTIORIZON }), invariants::admitting),
        (
            Box::new(Vertiorizon {
                vertical_merge_policy: MergeChoice::Tuned,
                ..growing::VERTIORIZON
            }),
            invariants::admitting,
        ),
        (Box::new(growing::BINOMIAL), invariants::stack),
        (Box::new(growing::MIN_LATENCY), invariants::stack),
        (Box::new(growing::BUCKET), invariants::bucket),
        (Box::new(growing::BUCKET_CODE), invariants::bucket),
        (Box::new(Leveled { merge_waiting: false, ..LEVELED }), |shape| {
            invariants::vertical(shape, EVERY_LEVEL, true);
        }),
        (Box::new(growing::PTIER), invariants::ptier),
        (Box::new(growing::fluid(&[3], &[1], 1)), |shape| invariants::fluid(shape, &[3], &[1], 1)),
        (Box::new(growing::fluid(&[3], &[3], 1)), |shape| invariants::fluid(shape, &[3], &[3], 1)),
        (Box::new(growing::fluid(&[9, 3, 3], &[9, 3, 2], 1)), |shape| {
            invariants::fluid(shape, &[9, 3, 3], &[9, 3, 2], 1);
        }),
        (Box::new(growing::fluid(&[4, 6], &[2, 3], 3)), |shape| {
            invariants::fluid(shape, &[4, 6], &[2, 3], 3);
        }),
    ];
    policies.push((Box::new(growing::ECOTUNE), invariants::ecotune));
    policies.extend(partitioned_policies());
    policies
}

/// Policies under each partitioner.
#[cfg(feature = "all")]
fn partitioned_policies() -> Vec<Case> {
    let mut policies = Vec::new();
    for (partitioner, join_percent, subcompactions) in [
        (Partitioner::None, 0, 0),
        (Partitioner::Size, 0, 1),
        (Partitioner::Size, 100, 0),
        (Partitioner::LocalRange, 0, 2),
        (Partitioner::LocalRangeByGroup, 50, 0),
        (Partitioner::GlobalRange, 0, 3),
    ] {
        let options =
            Partitioning { partitioner, join_percent, subcompactions, ..Partitioning::DEFAULT };
        let each: [Case; 7] = [
            (Box::new(LEVELED), |shape| invariants::vertical(shape, EVERY_LEVEL, true)),
            (Box::new(TIERED), invariants::tiered),
            (Box::new(UNIVERSAL), invariants::universal),
            (Box::new(growing::LEVELING), invariants::horizontal),
            (Box::new(growing::TIERING), invariants::admitting),
            (Box::new(growing::BINOMIAL), invariants::stack),
            (Box::new(growing::MIN_LATENCY), invariants::stack),
        ];
        for (policy, check) in each {
            policies.push((partitioned(policy, Some(&options), 6), check));
        }
    }
    policies
}
