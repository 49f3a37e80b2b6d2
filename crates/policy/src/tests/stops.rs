//! Writes stall at a number of runs in level 0, so compacting it must not wait for levels that are far
//! over their capacities.

use super::*;

const B: u64 = 16;

/// The policies, with level 0 due at two runs or soon after.
fn policies() -> Vec<Box<dyn Policy>> {
    let (
        size_ratio,
        level_base_bytes,
        target_file_bytes,
        l0_compaction_trigger,
        dynamic_level_bytes,
    ) = (4, B, B, 2, true);
    let (pick, seed, leveled_levels, levels_below) = (Pick::LeastOverlap, 0, 2, 1);
    let (universal, trivial_moves) = (Universal::default(), true);
    vec![
        Box::new(Leveled {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger,
            dynamic_level_bytes,
            pick,
            seed,
            filters: Filters::Uniform,
            max_subcompactions: 1,
            pipelined: false,
            merge_waiting: true,
            partitioning: Partitioning::DEFAULT,
        }),
        Box::new(LeveledFull {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger,
            dynamic_level_bytes,
            preemptive: true,
            filters: Filters::Uniform,
        }),
        Box::new(Tiered {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }),
        Box::new(TieredFull {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger,
            filters: Filters::Uniform,
        }),
        Box::new(LazyLeveled {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger,
            dynamic_level_bytes,
            leveled_levels,
            filters: Filters::Uniform,
        }),
        Box::new(Universal { target_file_bytes, ..universal }),
        Box::new(Spooky {
            size_ratio,
            level_base_bytes,
            target_file_bytes: 1 << 30,
            l0_compaction_trigger,
            levels_below,
            leveled_levels: 64,
            trivial_moves,
            filters: Filters::Uniform,
        }),
        #[cfg(feature = "all")]
        Box::new(TieredPartial {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
        }),
        #[cfg(feature = "all")]
        Box::new(HorizontalLeveling {
            levels: 3,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }),
        #[cfg(feature = "all")]
        Box::new(HorizontalTiering {
            levels: 3,
            data_bytes: 0,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }),
        #[cfg(feature = "all")]
        Box::new(Vertiorizon {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            ..Vertiorizon::default()
        }),
        #[cfg(feature = "all")]
        Box::new(Binomial {
            components: 3,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }),
        #[cfg(feature = "all")]
        Box::new(PTier {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            split_bytes: 1,
            l0_compaction_trigger,
            ..PTier::default()
        }),
        #[cfg(feature = "all")]
        Box::new(Fluid {
            size_ratios: vec![size_ratio],
            runs: vec![2],
            level_base_bytes,
            target_file_bytes,
            ..Fluid::default()
        }),
        #[cfg(feature = "all")]
        Box::new(EcoTune { size_ratio, level_base_bytes, target_file_bytes, ..EcoTune::default() }),
        #[cfg(feature = "all")]
        Box::new(MinLatency {
            components: 3,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }),
    ]
}

const KEYS: u16 = 4000;

/// Level 1 hundreds of times over its bound, in tables of 16 keys over a nearly empty level 2.
fn overfull() -> Model {
    let mut model = Model::default();
    model.write(2, 1, [0, KEYS]);
    for from in (0..KEYS).step_by(16) {
        model.write(1, 2, from..from + 16);
    }
    model
}

/// A flush of keys over the whole space.
fn flush(model: &mut Model, running: &Running) {
    let run = model.fresh(running).0;
    model.write(0, run, (0..=KEYS).step_by(250));
}

fn level0(model: &Model) -> usize {
    model.shape.levels().first().map_or(0, |level| level.runs.len())
}

/// Starts what the policy proposes, legally; a change of levels is made at once.
fn begin(model: &mut Model, running: &mut Running, policy: &dyn Policy) -> bool {
    let fresh = model.fresh(running);
    let Some(plan) = propose(policy, &model.shape, &[], running, fresh) else { return false };
    validate_plan(&model.shape, running, &plan).unwrap();
    match plan {
        Plan::Compact(plan) => running.compactions.push(plan),
        Plan::Reshape(plan) => *model = model.reshape(plan.change),
    }
    true
}

/// Commits every group of the running compaction at `at`.
fn commit(model: &mut Model, running: &mut Running, at: usize) {
    for group in running.compactions.remove(at).groups {
        *model = model.commit(&group, false).unwrap();
    }
}

#[test]
fn level_0_goes_down_before_a_level_far_over_its_bound() {
    for policy in policies() {
        let (mut model, mut running) = (overfull(), Running::default());
        let mut plans = 0;
        // Two workers, while one run fewer arrives than stalls writes.
        while level0(&model) + 1 < LEVEL0_RUNS_MAX {
            flush(&mut model, &running);
        }
        let before = level0(&model);
        while level0(&model) >= before {
            while running.compactions.len() < 2 && begin(&mut model, &mut running, &*policy) {
                plans += 1;
            }
            commit(&mut model, &mut running, 0);
            assert!(plans < 6, "{}: {plans} plans, and level 0 waits", policy.name());
        }
    }
}

#[test]
fn level_0_stays_below_the_stop_beside_a_long_merge() {
    for policy in policies() {
        // Its merge of level 0 reads nothing else, so it cannot be long.
        if ["tiered", "tiered-partial", "ptier"].contains(&policy.name()) {
            continue;
        }
        let (mut model, mut running) = (overfull(), Running::default());
        let is_long = |c: &Compaction| c.groups.iter().any(|g| g.destination.level > 0);
        for _ in 0..40 {
            assert!(level0(&model) < LEVEL0_RUNS_MAX, "{}: {running:?}", policy.name());
            flush(&mut model, &running);
            while running.compactions.len() < 3 && begin(&mut model, &mut running, &*policy) {}
            // Merges below level 0 do not end.
            while let Some(at) = running.compactions.iter().position(|c| !is_long(c)) {
                commit(&mut model, &mut running, at);
                begin(&mut model, &mut running, &*policy);
            }
        }
        assert!(running.compactions.iter().any(is_long), "{}", policy.name());
    }
}
