//! The rules of the full and of the lazy policies, on trees small enough to follow by hand: T is 3
//! and B is 12, so fixed capacities are 36, 108 and 324.

use super::*;

const LEVELED_FULL: LeveledFull = LeveledFull {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: u64::MAX,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: false,
    preemptive: true,
    filters: Filters::Uniform,
};

const TIERED_FULL: TieredFull = TieredFull {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: u64::MAX,
    l0_compaction_trigger: 1,
    filters: Filters::Uniform,
};

const LAZY: LazyLeveled = LazyLeveled {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: u64::MAX,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: true,
    leveled_levels: 1,
    filters: Filters::Uniform,
};

/// A tree of one table a run, `sizes[level]` newest first; every table starts at key 0.
pub(super) fn tree(sizes: &[&[u16]]) -> Model {
    let mut model = Model::default();
    for (level, runs) in sizes.iter().enumerate().rev() {
        for size in runs.iter().rev() {
            let run = model.fresh(&Running::default());
            model.write(level, run.0, 0..*size);
        }
    }
    model
}

/// The tree after the policy's next plan.
pub(super) fn after(policy: &dyn Policy, model: &Model) -> Vec<Vec<u64>> {
    let running = Running::default();
    let plan = propose(policy, &model.shape, &[], &running, model.fresh(&running));
    let mut next = model.clone();
    if let Some(plan) = plan {
        assert_eq!(validate_plan(&model.shape, &running, &plan), Ok(()));
        next = next.follow(&plan);
    }
    next.shape.levels().iter().map(|l| l.runs.iter().map(Run::bytes).collect()).collect()
}

#[test]
fn a_full_merge_targets_the_smallest_level_that_fits() {
    let into_1 = after(&LEVELED_FULL, &tree(&[&[12], &[20], &[60], &[200]]));
    assert_eq!(into_1, [vec![], vec![20], vec![60], vec![200]]);
    // 12 + 30 do not fit into 36, but with 60 into 108.
    let into_2 = after(&LEVELED_FULL, &tree(&[&[12], &[30], &[60], &[200]]));
    assert_eq!(into_2, [vec![], vec![], vec![60], vec![200]]);
    // Level 2 could take level 1, but would overflow with what is above: it is emptied as well.
    let into_3 = after(&LEVELED_FULL, &tree(&[&[12], &[30], &[70], &[200]]));
    assert_eq!(into_3, [vec![], vec![], vec![], vec![200]]);
}

#[test]
fn the_last_level_takes_what_no_level_fits_and_deepens_if_full() {
    let merged = after(&LEVELED_FULL, &tree(&[&[12], &[30], &[105]]));
    assert_eq!(merged, [vec![], vec![], vec![105]]);
    let deeper = after(&LEVELED_FULL, &tree(&[&[], &[], &[108]]));
    assert_eq!(deeper, [vec![], vec![], vec![], vec![108]]);
}

#[test]
fn light_runs_of_level_0_merge_with_older_ones_up_to_fourfold() {
    // The base is so large that nothing goes down.
    let waiting = LeveledFull { level_base_bytes: 1000, ..LEVELED_FULL };
    let merged = |runs: &[u16]| after(&waiting, &tree(&[runs, &[20]])).swap_remove(0);
    assert_eq!(merged(&[5, 5, 5]), [5, 5, 5], "they are few");
    assert_eq!(merged(&[5, 5, 5, 5]), [5]);
    assert_eq!(merged(&[5, 200, 5, 5]), [200], "the newest two in any case");
    assert_eq!(merged(&[10, 10, 80, 5]), [80]);
    assert_eq!(merged(&[10, 10, 81, 5]), [10, 81, 5]);
    assert_eq!(merged(&[10, 10, 80, 401, 5]), [80, 401, 5]);
    let more = LeveledFull { l0_compaction_trigger: 5, ..waiting };
    assert_eq!(after(&more, &tree(&[&[5, 5, 5, 5]])).swap_remove(0), [5, 5, 5, 5]);
    assert_eq!(after(&more, &tree(&[&[5, 5, 5, 5, 5]])).swap_remove(0), [5]);
}

#[test]
fn a_run_that_is_read_ends_a_merge_within_level_0() {
    let waiting = LeveledFull { level_base_bytes: 1000, ..LEVELED_FULL };
    let model = tree(&[&[5, 5, 5, 5, 5, 5], &[20]]);
    let runs = &model.shape.levels()[0].runs;
    let ids =
        |runs: &[Run]| runs.iter().map(|run| run.tables().first().unwrap().id).collect::<Vec<_>>();
    let reading = |at: usize| Running {
        compactions: vec![plan(vec![merge(&ids(&runs[at..at + 1]), 0, runs[at].id.0)])],
    };
    let inputs = |running: &Running| match propose(
        &waiting,
        &model.shape,
        &[],
        running,
        model.fresh(running),
    ) {
        Some(Plan::Compact(plan)) => plan.groups.into_iter().flat_map(|g| g.inputs).collect(),
        _ => Vec::new(),
    };
    assert_eq!(inputs(&reading(3)), ids(&runs[..3]));
    assert_eq!(inputs(&reading(2)), ids(&runs[..2]));
    assert_eq!(inputs(&reading(1)), []);
}

#[test]
fn a_full_tiered_merge_adds_a_run_to_the_level_that_fits() {
    let into_1 = after(&TIERED_FULL, &tree(&[&[12], &[12, 12], &[40]]));
    assert_eq!(into_1, [vec![], vec![12, 12, 12], vec![40]]);
    let into_2 = after(&TIERED_FULL, &tree(&[&[12], &[12, 10, 8], &[40]]));
    assert_eq!(into_2, [vec![], vec![], vec![12, 40]]);
    let too_much = after(&TIERED_FULL, &tree(&[&[12], &[16, 14], &[40]]));
    assert_eq!(too_much, [vec![], vec![], vec![16, 40]]);
    let too_many = after(&TIERED_FULL, &tree(&[&[12], &[4, 4, 4], &[40]]));
    assert_eq!(too_many, [vec![], vec![], vec![12, 40]]);
    // Each level has three runs: the whole tree becomes one run, in place.
    let all = after(&TIERED_FULL, &tree(&[&[12], &[12, 10, 8], &[20, 20, 40]]));
    assert_eq!(all, [vec![], vec![], vec![40]]);
}

#[test]
fn lazy_leveling_adds_runs_above_and_merges_into_the_last() {
    let upper = after(&LAZY, &tree(&[&[], &[4, 4, 4], &[20], &[200]]));
    assert_eq!(upper, [vec![], vec![], vec![4, 20], vec![200]]);
    let last = after(&LAZY, &tree(&[&[], &[], &[20, 10, 10], &[200]]));
    assert_eq!(last, [vec![], vec![], vec![], vec![200]]);
    // The capacity of level 1 is 90 / 3 bytes.
    let heavy = after(&LAZY, &tree(&[&[], &[31], &[90]]));
    assert_eq!(heavy, [vec![], vec![], vec![90]]);
}

#[test]
fn lazy_leveling_rewrites_only_overlaps_in_the_last_level() {
    let mut model = Model::default();
    let far = model.write(2, 1, 100..190);
    let near = model.write(2, 1, 0..10);
    let runs = [4, 3, 2].map(|run| model.write(1, run, [5, 20 + run as u16]));
    let running = Running::default();
    let Some(Plan::Compact(plan)) = propose(&LAZY, &model.shape, &[], &running, RunId(9)) else {
        panic!("three runs stand in level 1")
    };
    let inputs: BTreeSet<_> = plan.groups.iter().flat_map(|g| &g.inputs).copied().collect();
    assert_eq!(inputs, runs.into_iter().chain([near]).collect());
    assert!(!inputs.contains(&far));
}

#[test]
fn more_leveled_levels_make_a_lazy_tree_leveled_higher_up() {
    let two = LazyLeveled { leveled_levels: 2, ..LAZY };
    let upper = after(&two, &tree(&[&[], &[4, 4, 4], &[20], &[200]]));
    assert_eq!(upper, [vec![], vec![], vec![20], vec![200]]);
}

#[test]
fn a_full_last_level_sends_tables_down_or_becomes_the_next() {
    let mut model = Model::default();
    for key in (0..42).step_by(6) {
        model.write(1, 1, key..key + 6);
    }
    let adaptive = Leveled {
        size_ratio: 3,
        level_base_bytes: 12,
        target_file_bytes: 6,
        l0_compaction_trigger: 1,
        dynamic_level_bytes: true,
        pick: Pick::LeastOverlap,
        seed: 0,
        filters: Filters::Uniform,
        max_subcompactions: 1,
        pipelined: false,
        merge_waiting: true,
        partitioning: Partitioning::DEFAULT,
    };
    assert_eq!(after(&adaptive, &model), [vec![], vec![], vec![42]]);
    assert_eq!(after(&LAZY, &model), [vec![], vec![], vec![42]]);
    let fixed = Leveled { dynamic_level_bytes: false, ..adaptive };
    assert_eq!(after(&fixed, &model), [vec![], vec![36], vec![6]]);
}

#[test]
fn a_leveled_level_of_a_lazy_tree_sends_one_table_down() {
    let mut model = Model::default();
    model.write(2, 1, 100..190);
    for key in (0..36).step_by(6) {
        model.write(1, 2, key..key + 6);
    }
    // Level 1 may have 90 / 3 bytes.
    let two = LazyLeveled { leveled_levels: 2, ..LAZY };
    assert_eq!(after(&two, &model), [vec![], vec![30], vec![96]]);
}

#[test]
fn a_level_of_full_merges_stays_at_its_capacity() {
    for preemptive in [true, false] {
        let policy = LeveledFull { preemptive, ..LEVELED_FULL };
        let full = after(&policy, &tree(&[&[], &[36], &[30]]));
        assert_eq!(full, [vec![], vec![36], vec![30]]);
        let over = after(&policy, &tree(&[&[], &[37], &[30]]));
        assert_eq!(over, [vec![], vec![], vec![37]]);
    }
}

#[test]
fn a_plans_terms_are_the_comparisons_that_led_to_it() {
    let model = tree(&[&[12], &[30], &[60], &[200]]);
    let running = Running::default();
    let plan = propose(&LEVELED_FULL, &model.shape, &[], &running, model.fresh(&running));
    let Some(Plan::Compact(plan)) = plan else { panic!("{plan:?}") };
    let down_to = |level, bytes| Quantity::levels("bytes", 0, level, bytes);
    let capacity = |level, bytes| Quantity::level("capacity", level, bytes);
    let terms = plan.reason.terms.iter().map(|t| (t.left, t.relation, t.right));
    let room = [
        (down_to(1, 12 + 30), Relation::Greater, capacity(1, 3 * 12)),
        (down_to(2, 12 + 30 + 60), Relation::AtMost, capacity(2, 9 * 12)),
    ];
    let due = [
        (
            Quantity::level("waiting-runs", 0, 1),
            Relation::AtLeast,
            Quantity::new("l0-compaction-trigger", 1),
        ),
        (
            Quantity::level("waiting-bytes", 0, 12),
            Relation::AtLeast,
            Quantity::new("level-base-bytes", 12),
        ),
    ];
    assert_eq!(terms.collect::<Vec<_>>(), due.into_iter().chain(room).collect::<Vec<_>>());
}

#[test]
fn a_policy_reports_the_bytes_and_runs_a_level_may_hold() {
    let capacities = |policy: &dyn Policy, sizes: &[&[u16]]| {
        let capacities = policy.status(&tree(sizes).shape, &[]).capacities;
        capacities.into_iter().map(|c| (c.bytes.unwrap(), c.runs.unwrap())).collect::<Vec<_>>()
    };
    let sizes: &[&[u16]] = &[&[12], &[20], &[60], &[200]];
    assert_eq!(capacities(&LEVELED_FULL, sizes), [(12, 1), (36, 1), (108, 1), (324, 1)]);
    assert_eq!(capacities(&TIERED_FULL, sizes), [(12, 1), (36, 3), (108, 3), (324, 3)]);
    // Those above L follow what it holds: 200 / 9 and 200 / 3.
    assert_eq!(capacities(&LAZY, sizes), [(12, 1), (22, 3), (66, 3), (324, 1)]);
}

#[test]
fn a_tiered_level_over_its_bytes_or_runs_goes_down_and_says_so() {
    let heavy = tree(&[&[], &[40], &[10]]);
    assert_eq!(after(&TIERED_FULL, &heavy), [vec![], vec![], vec![40, 10]]);
    let crowded = tree(&[&[], &[5, 6, 7, 8], &[20]]);
    assert_eq!(after(&TIERED_FULL, &crowded), [vec![], vec![], vec![8, 20]]);
    // The last becomes one run.
    assert_eq!(after(&TIERED_FULL, &tree(&[&[], &[20, 30]])), [vec![], vec![30]]);
    for model in [heavy, crowded] {
        let running = Running::default();
        let plan = propose(&TIERED_FULL, &model.shape, &[], &running, model.fresh(&running));
        let Some(Plan::Compact(plan)) = plan else { panic!("level 1 goes down") };
        let (runs, bytes) =
            (model.shape.levels()[1].runs.len() as u64, model.shape.levels()[1].bytes());
        let leaves = plan.reason.terms.iter().filter(|t| t.effect == Some(Effect::Leaves(1)));
        let terms: Vec<_> =
            leaves.map(|term| (term.left.of, term.left.value, term.right.value)).collect();
        let of = Of::Levels(1, 1);
        let expected = [(of, bytes, 36), (of, runs, 3)].into_iter().filter(|(_, a, b)| a > b);
        assert_eq!(terms, expected.collect::<Vec<_>>(), "the one that is exceeded");
        assert!(plan.reason.text.starts_with("level 1 has"), "{}", plan.reason.text);
    }
}

#[test]
fn the_last_tiered_level_deepens_once_nothing_goes_into_it() {
    let mut model = tree(&[&[], &[40]]);
    assert_eq!(after(&TIERED_FULL, &model), [vec![], vec![], vec![40]]);
    let arriving = model.write(0, 9, 50..52);
    let running = Running { compactions: vec![plan(vec![move_to(&[arriving], 1, 9)])] };
    assert_eq!(propose(&TIERED_FULL, &model.shape, &[], &running, RunId(20)), None);
}

#[test]
fn a_full_merge_says_which_level_it_is_made_for() {
    let said = |sizes: &[&[u16]]| {
        let model = tree(sizes);
        let running = Running::default();
        let plan = propose(&LEVELED_FULL, &model.shape, &[], &running, model.fresh(&running));
        let Some(Plan::Compact(plan)) = plan else { panic!("{plan:?}") };
        let Term { left, relation, right, .. } = plan.reason.terms[0];
        assert_eq!(relation, Relation::Greater);
        (plan.reason.text.split(": ").next().unwrap().to_owned(), left, right)
    };
    let (text, left, right) = said(&[&[], &[40], &[30]]);
    assert!(text.starts_with("level 1 has 40 B over 36 B"), "{text}");
    assert_eq!(
        (left, right),
        (Quantity::level("bytes", 1, 40), Quantity::level("capacity", 1, 36))
    );
    let (text, left, right) = said(&[&[], &[10], &[20, 30]]);
    assert!(text.starts_with("level 2 has 2 runs, not one"), "{text}");
    assert_eq!((left, right), (Quantity::level("runs", 2, 2), Quantity::new("leveled", 1)));
}

#[test]
fn a_level_of_full_tiering_stays_at_its_capacity_with_t_runs() {
    for sizes in [&[&[][..], &[5, 6, 7], &[20]][..], &[&[], &[36], &[20]]] {
        let model = tree(sizes);
        let running = Running::default();
        let plan = propose(&TIERED_FULL, &model.shape, &[], &running, model.fresh(&running));
        assert_eq!(plan, None, "{sizes:?}");
    }
}
