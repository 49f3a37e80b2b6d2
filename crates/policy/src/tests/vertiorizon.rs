//! Vertiorizon: when it drains, how it grows, and what it is tuned to.

use super::growth::{B, Tree};
use super::*;
use crate::policies::vertiorizon::memory::Memory;
use crate::policies::vertiorizon::tuning::{Design, Workload, cheapest};

const T: u64 = 3;

/// Twelve buffers above two levels of 25 and 108.
const FIXED: Vertiorizon = Vertiorizon {
    size_ratio: T,
    buffers: 12,
    data_bytes: 0,
    levels: 2,
    merge_policy: MergeChoice::Leveling,
    vertical_merge_policy: MergeChoice::Leveling,
    window: 1 << 20,
    skew: false,
    backbone: false,
    level_base_bytes: B,
    target_file_bytes: B,
    filters: Filters::Uniform,
};

const TIERING: MergeChoice = MergeChoice::Tiering;

fn memory(tree: &Tree) -> Memory {
    Memory::read(&tree.state).unwrap()
}

/// One buffer more, and whatever follows; the level of its own merge.
fn admit(tree: &mut Tree) -> usize {
    let buffer = tree.buffers;
    tree.buffers += 1;
    tree.flush((0..B as u16).map(|key| key * 1024 + buffer));
    tree.rest().iter().find(|made| !made.before.levels()[0].runs.is_empty()).unwrap().level
}

/// Buffers in each level from 1 on.
fn sizes(tree: &Tree) -> Vec<u64> {
    tree.levels().iter().map(|runs| runs.iter().sum()).collect()
}

#[test]
fn the_horizontal_part_drains_at_n_buffers_and_cascades_before() {
    for (merge_policy, horizontal) in [
        (
            MergeChoice::Leveling,
            &HorizontalLeveling {
                levels: 2,
                level_base_bytes: B,
                target_file_bytes: B,
                filters: Filters::Uniform,
                partitioning: Partitioning::DEFAULT,
            } as &dyn Policy,
        ),
        (
            TIERING,
            &HorizontalTiering {
                levels: 2,
                data_bytes: 12 * B,
                level_base_bytes: B,
                target_file_bytes: B,
                filters: Filters::Uniform,
                partitioning: Partitioning::DEFAULT,
            },
        ),
    ] {
        let policy = Vertiorizon { merge_policy, ..FIXED };
        let mut tree = Tree::new(&policy);
        for _ in 0..2 {
            let mut alone = Tree::new(horizontal);
            for admission in 1..=12 {
                let level = admit(&mut tree);
                let expected = if admission == 12 { 3 } else { alone.admit().level };
                assert_eq!(level, expected, "admission {admission}");
            }
            assert_eq!(sizes(&tree)[..2], [0, 0]);
        }
    }
}

/// The level that a compaction of this shape goes into, if there is one.
fn goes_to(model: &Model, running: &Running) -> Option<usize> {
    let state = FIXED.adopt(&Shape::default());
    let plan = propose(&FIXED, &model.shape, &state, running, model.fresh(running))?;
    let Plan::Compact(plan) = plan else { panic!("{plan:?}") };
    Some(plan.groups[0].destination.level)
}

#[test]
fn an_admission_drains_at_the_buffer_that_is_nearest_to_n() {
    for (less, is_drain) in [(0, true), (1, false)] {
        let mut model = Model::default();
        model.write(1, 1, 0..(11 * B - B / 2 - less) as u16);
        model.write(0, 2, 1000..1000 + B as u16);
        assert_eq!(goes_to(&model, &Running::default()) == Some(3), is_drain, "{less} less");
    }
}

#[test]
fn a_drain_waits_while_the_first_vertical_level_goes_down() {
    let mut model = Model::default();
    let vertical = model.write(3, 1, 0..B as u16);
    model.write(1, 2, 0..(11 * B) as u16);
    model.write(0, 3, 1000..1000 + B as u16);
    assert_eq!(goes_to(&model, &Running::default()), Some(3));
    let mut running = Running::default();
    running.compactions.push(plan(vec![merge(&[vertical], 4, 9)]));
    assert_eq!(goes_to(&model, &running), None);
}

#[test]
fn the_first_vertical_level_goes_down_over_its_capacity() {
    // 12 buffers of 16 bytes, three times, by the root of 2: 407.3.
    for (bytes, level) in [(407, None), (408, Some(4))] {
        let mut model = Model::default();
        model.write(3, 1, 0..bytes);
        assert_eq!(goes_to(&model, &Running::default()), level, "{bytes} bytes");
    }
}

#[test]
fn near_its_stop_level_0_goes_before_the_first_vertical_level() {
    let near = (3 * LEVEL0_RUNS_MAX).div_ceil(4) as u16;
    for (runs, is_first) in [(1, false), (near - 1, false), (near, true)] {
        let mut model = Model::default();
        model.write(3, 1, 0..408);
        for run in 0..runs {
            let from = 1000 + run * B as u16;
            model.write(0, 2 + u64::from(run), from..from + B as u16);
        }
        let level = goes_to(&model, &Running::default()).unwrap();
        assert_eq!(level < 3, is_first, "{runs} runs: {level}");
    }
}

#[test]
fn tiering_drains_when_counted_down_even_before_n_buffers() {
    // Counters of two levels from 3 are 0 after six admissions. Half of them hold fewer bytes.
    let policy = Vertiorizon { buffers: 6, merge_policy: TIERING, ..FIXED };
    let mut tree = Tree::new(&policy);
    for admission in 1..=6u16 {
        tree.flush((0..12).map(|key| key * 1024 + admission));
        let level = tree.rest()[0].level;
        assert_eq!(level == 3, admission == 6, "admission {admission}");
    }
}

#[test]
fn n_grows_once_the_last_level_is_full_at_a_fixed_capacity() {
    for vertical_merge_policy in [MergeChoice::Leveling, MergeChoice::Tiering] {
        let policy = Vertiorizon { vertical_merge_policy, ..FIXED };
        let mut tree = Tree::new(&policy);
        let mut n = 12;
        for _ in 0..300 {
            let full = sizes(&tree).get(3).is_some_and(|v2| *v2 >= n * T * T);
            let level = admit(&mut tree);
            if level == 3 && full {
                n += n / T;
            }
            assert_eq!(memory(&tree).buffers, n);
            let v1 = sizes(&tree).get(2).copied().unwrap_or(0);
            assert!(v1 as f64 <= n as f64 * T as f64 / 2f64.sqrt() + 1.0, "{v1} at n = {n}");
            let runs = tree.levels().get(2).map_or(0, Vec::len);
            assert!(vertical_merge_policy == MergeChoice::Tiering || runs <= 1);
        }
        assert!(n > 12, "V2 was never full");
    }
}

#[test]
fn n_starts_at_the_declared_or_present_data() {
    let begun =
        |policy: &Vertiorizon, shape: &Shape| Memory::read(&policy.adopt(shape)).unwrap().buffers;
    let undeclared = Vertiorizon { buffers: 0, ..FIXED };
    assert_eq!(begun(&undeclared, &Shape::default()), T);
    let declared = Vertiorizon { data_bytes: 100 * B * T * T, ..undeclared.clone() };
    assert_eq!(begun(&declared, &Shape::default()), 100);
    let mut model = Model::default();
    model.write(4, 1, 0..(5 * B * T * T) as u16);
    assert_eq!(begun(&undeclared, &model.shape), 5);
}

#[test]
fn levels_are_added_and_dropped_when_another_number_costs_less() {
    let policy = Vertiorizon { levels: 0, merge_policy: TIERING, ..FIXED };
    let mut tree = Tree::new(&policy);
    let mut numbers = BTreeSet::new();
    for round in 0..6 {
        // Writes alone ask for one level of runs, reads alone for as many levels as there may be.
        let (updates, range_reads) = if round % 2 == 0 { (1 << 20, 0) } else { (0, 1 << 20) };
        tree.observed = Observed { updates, range_reads, ..Observed::default() };
        while admit(&mut tree) <= numbers.last().copied().unwrap_or(2).max(2) {
            if sizes(&tree).iter().take(memory(&tree).levels()).sum::<u64>() == 0 {
                break;
            }
        }
        let memory = memory(&tree);
        assert_eq!(memory.vertical, memory.levels() + 1);
        assert!(sizes(&tree)[memory.vertical - 1] > 0);
        numbers.insert(memory.levels());
        assert!(tree.model.is_sound());
    }
    assert!(numbers.len() > 1, "{numbers:?}");
}

/// Returns the buffers that a round of a fixed design writes by its plans, and its number of runs.
fn measured(levels: u64, merge: MergePolicy, buffers: u64) -> (u64, u64) {
    let merge_policy = match merge {
        MergePolicy::Leveling => MergeChoice::Leveling,
        MergePolicy::Tiering => TIERING,
    };
    let policy = Vertiorizon { levels, merge_policy, buffers, ..FIXED };
    let mut tree = Tree::new(&policy);
    let (mut written, mut runs) = (0, 0);
    for admission in 1..buffers {
        tree.buffers = admission as u16;
        tree.flush((0..B as u16).map(|key| key * 1024 + admission as u16));
        let made = tree.rest();
        written += made.iter().filter(|made| !made.moved).map(|made| made.buffers).sum::<u64>();
        runs += tree.runs().len() as u64;
    }
    (written, runs)
}

#[test]
fn the_choice_costs_at_most_2_percent_over_the_best_measured() {
    let buffers = 36;
    let (entries_of_a_page, false_positives) = (4.0, 0.09);
    let mut designs = Vec::new();
    for levels in 1..=5 {
        for merge in [MergePolicy::Leveling, MergePolicy::Tiering] {
            designs.push((levels, merge, measured(levels, merge, buffers)));
        }
    }
    let mut chosen = BTreeSet::new();
    for updates in 0..=20 {
        for points in 0..=20 - updates {
            let operations = [updates, points, 20 - updates - points];
            let [u, q, r] = operations.map(|n| n as f64 / 20.0);
            let cost = |written: u64, runs: u64| {
                let (written, runs) = (written as f64, runs as f64 / buffers as f64);
                u * written / (buffers as f64 * entries_of_a_page)
                    + (q * false_positives + r) * runs
            };
            let repeated = 0.0;
            let workload = Workload {
                operations,
                buffers,
                entries_of_a_page,
                false_positives,
                repeated,
                page: None,
                size_ratio: 6.0,
            };
            let choice =
                cheapest(&workload.designs(None, None, None), MergePolicy::Leveling).unwrap();
            let costs = || designs.iter().map(|(_, _, (written, runs))| cost(*written, *runs));
            let best = costs().min_by(f64::total_cmp).unwrap();
            let own = designs
                .iter()
                .find(|(levels, merge, _)| (*levels, *merge) == (choice.levels, choice.merge));
            let own = own.map(|(_, _, (written, runs))| cost(*written, *runs)).unwrap();
            assert!(own <= best * 1.02 + 1e-9, "{operations:?}: {choice:?} {own}, best {best}");
            chosen.insert((choice.levels, choice.merge == MergePolicy::Tiering));
        }
    }
    assert!(chosen.len() > 3, "{chosen:?}");
}

#[test]
fn the_window_follows_a_changing_mix_effective_at_a_drain() {
    let policy = Vertiorizon { levels: 0, merge_policy: MergeChoice::Tuned, window: 1600, ..FIXED };
    let mut tree = Tree::new(&policy);
    let design = |tree: &Tree| {
        let memory = memory(tree);
        (memory.levels(), memory.counters.merge)
    };
    let mut designs = Vec::new();
    for (updates, range_reads) in [(100, 0), (0, 100), (100, 0)] {
        tree.observed = Observed { updates, range_reads, ..Observed::default() };
        for _ in 0..40 {
            let before = design(&tree);
            let vertical = memory(&tree).vertical;
            let drained = admit(&mut tree) == vertical;
            assert!(drained || design(&tree) == before, "changed within a round");
        }
        let total: u64 = memory(&tree).learned.seen.operations().iter().sum();
        assert!((1600..1800).contains(&total), "{total} operations in a window of 1600");
        designs.push(design(&tree));
    }
    assert_eq!(designs[0], (1, MergePolicy::Tiering), "writes alone");
    assert_eq!(designs[1].1, MergePolicy::Leveling, "scans alone");
    assert_eq!(designs[2], designs[0]);
}

#[test]
fn repeated_keys_make_leveling_wait_and_others_do_not() {
    let policy = Vertiorizon { skew: true, buffers: 36, ..FIXED };
    let slack = |hot: u16| {
        let mut tree = Tree::new(&policy);
        for buffer in 0..180u16 {
            let hot_keys = (0..hot).map(|key| key * 7);
            let cold = (hot..B as u16).map(|key| 1000 + (key * 256 + buffer) % 60_000);
            tree.flush(hot_keys.chain(cold));
            tree.rest();
        }
        memory(&tree).counters.slack
    };
    let (none, much) = (slack(0), slack(12));
    assert_eq!(none, 0);
    assert!(much > 0);
}

#[test]
fn the_backbone_has_the_tiered_levels_of_lazy_leveling() {
    let policy = Vertiorizon { backbone: true, buffers: 9, levels: 0, ..FIXED };
    let mut tree = Tree::new(&policy);
    for _ in 0..200 {
        admit(&mut tree);
        let memory = memory(&tree);
        let (n, l) = (memory.buffers, memory.levels() as u32);
        assert!(T.pow(l) >= n && T.pow(l - 1) < n, "{l} levels for {n} buffers");
        assert_eq!(memory.counters.merge, MergePolicy::Tiering);
        let below: Vec<_> = tree.levels().into_iter().skip(l as usize).collect();
        assert!(below.len() <= 1 && below.iter().all(|runs| runs.len() == 1), "{below:?}");
    }
    assert!(memory(&tree).buffers > 9);
}

#[test]
fn a_tree_of_another_policy_is_drained_and_kept_below() {
    let mut model = Model::default();
    for (level, run) in [(5, 1), (4, 2), (3, 3), (2, 4), (2, 5), (1, 6)] {
        model.write(level, run, (0..200).map(|key| key * 7 + run as u16));
    }
    for merge_policy in [MergeChoice::Leveling, TIERING] {
        let policy = Vertiorizon { merge_policy, ..FIXED };
        let mut tree = Tree::new(&policy);
        tree.model = model.clone();
        tree.state = policy.adopt(&model.shape);
        assert!(!memory(&tree).counted);
        tree.rest();
        let memory = memory(&tree);
        assert!(memory.counted, "what comes now is its own");
        assert_eq!((memory.vertical, memory.levels()), (3, 2));
        assert_eq!(sizes(&tree)[..2], [0, 0]);
        assert!(tree.model.is_sound());
    }
}

#[test]
fn nothing_is_admitted_while_another_policys_levels_drain() {
    let mut model = Model::default();
    for (level, run) in [(4, 1), (1, 2)] {
        model.write(level, run, (0..40).map(|key| key * 7 + run as u16));
    }
    let state = FIXED.adopt(&model.shape);
    let mut running = Running::default();
    let Some(Plan::Compact(drain)) =
        propose(&FIXED, &model.shape, &state, &running, model.fresh(&running))
    else {
        panic!("level 1 is of another policy")
    };
    assert!(drain.groups.iter().all(|group| group.destination.level == 3), "{drain:?}");
    running.compactions.push(drain);
    // As much as is admitted, elsewhere.
    model.write(0, 3, 1000..1000 + 2 * B as u16);
    let next = propose(&FIXED, &model.shape, &state, &running, model.fresh(&running));
    assert_eq!(next, None);
}

#[test]
fn knowledge_of_operations_outlives_an_unplanned_compaction() {
    let tuned = MergeChoice::Tuned;
    let policy = Vertiorizon { buffers: 0, levels: 0, merge_policy: tuned, ..FIXED };
    let mut model = Model::default();
    model.write(4, 1, 0..(5 * B * T * T) as u16);
    let mut busy = Memory::read(&policy.adopt(&model.shape)).unwrap();
    busy.learned.repeated = 300;
    let writes = Observed { updates: 9000, point_reads: 10, ..Observed::default() };
    busy.learned.seen.observe(&writes, policy.window);
    let mut other = Model::default();
    other.write(2, 1, 0..(8 * B * T * T) as u16);
    let after = Memory::read(&policy.readopt(&busy.state(), &other.shape)).unwrap();
    assert_eq!(after.learned, busy.learned);
    // The rest is that of the new shape, tuned for these operations.
    let unlearned = Memory::read(&policy.adopt(&other.shape)).unwrap();
    assert_eq!((after.buffers, unlearned.buffers), (8, 8));
    assert_ne!(after.counters, unlearned.counters);
    // Nor does a state in another encoding stay.
    assert_eq!(policy.readopt(b"?", &other.shape), policy.adopt(&other.shape));
}

#[test]
fn a_state_that_is_none_is_made_of_the_shape() {
    let valid = FIXED.adopt(&Shape::default());
    assert!(Memory::read(&valid).is_some());
    for at in 0..valid.len() {
        let mut damaged = valid.clone();
        damaged[at] ^= 0xff;
        for state in [&damaged[..], &valid[..at]] {
            let mut tree = Tree::new(&FIXED);
            tree.state = state.to_vec();
            tree.flush(0..B as u16);
            if Memory::read(state).is_none() {
                assert_eq!(tree.rest()[0].level, 2);
            }
        }
    }
}

#[test]
fn of_equal_costs_fewer_levels_and_leveling_are_chosen() {
    let (leveling, tiering) = (MergePolicy::Leveling, MergePolicy::Tiering);
    let design = |levels, merge| Design { levels, merge, below: leveling, slack: 0, cost: 1.0 };
    let all = [design(1, leveling), design(1, tiering), design(2, leveling)];
    assert_eq!(cheapest(&all, leveling), Some(all[0]));
}

#[test]
fn each_drain_reports_the_mix_the_costs_and_the_choice() {
    let policy = Vertiorizon { levels: 0, merge_policy: MergeChoice::Tuned, ..FIXED };
    let mut tree = Tree::new(&policy);
    tree.observed = Observed { updates: 10, range_reads: 5, ..Observed::default() };
    for _ in 0..100 {
        let before = memory(&tree);
        tree.told.clear();
        let drained = admit(&mut tree) == before.vertical;
        assert_eq!(tree.told.len(), usize::from(drained));
        let Some(decision) = tree.told.first() else { continue };
        let after = memory(&tree);
        let fact = |wanted: &str| {
            let facts = decision.facts.iter();
            let mut values = facts.filter_map(|fact| match fact {
                Fact::Number { name, value, .. } if *name == wanted => Some(*value),
                _ => None,
            });
            values.next().unwrap()
        };
        assert_eq!(fact("levels"), after.levels() as u64);
        assert_eq!(fact("tiered") == 1, after.counters.merge == MergePolicy::Tiering);
        // What the plans after the drain saw is not in it yet.
        let seen = after.learned.seen.operations()[0];
        assert!(fact("updates") > before.learned.seen.operations()[0] && fact("updates") <= seen);
        assert_eq!(fact("updates"), 2 * fact("range-reads"));
        // All other designs cost at least as much: 1 to log2 12 levels, both merge policies.
        assert_eq!(decision.reason.terms.len(), 2 * 3 - 1);
        let holds = |term: &Term| term.relation == Relation::AtMost;
        assert!(decision.reason.terms.iter().all(holds), "{:?}", decision.reason);
    }
}

#[test]
fn capacities_are_reported_by_level() {
    let mut tree = Tree::new(&FIXED);
    for _ in 0..40 {
        admit(&mut tree);
    }
    let told = FIXED.status(&tree.model.shape, &tree.state).capacities;
    let n = memory(&tree).buffers * B;
    let v1 = (n as f64 * T as f64 / 2f64.sqrt()) as u64;
    let bytes: Vec<_> = told.iter().map(|capacity| capacity.bytes).collect();
    assert_eq!(bytes, [Some(B), None, None, Some(v1), Some(n * T * T)]);
    // One run where it merges, any number where it does not.
    for (merge_policy, horizontal) in [(MergeChoice::Leveling, Some(1)), (TIERING, None)] {
        let policy = Vertiorizon { merge_policy, ..FIXED };
        let told = policy.status(&Shape::default(), &[]).capacities;
        let runs: Vec<_> = told.iter().map(|capacity| capacity.runs).collect();
        assert_eq!(runs, [None, horizontal, horizontal, Some(1), Some(1)]);
    }
}

#[test]
fn a_tiered_last_level_merges_in_place_over_the_ratio_of_runs() {
    let policy = Vertiorizon { vertical_merge_policy: MergeChoice::Tiering, ..FIXED };
    let mut model = Model::default();
    for run in 1..=T + 1 {
        let state = policy.adopt(&model.shape);
        let running = Running::default();
        let next = propose(&policy, &model.shape, &state, &running, model.fresh(&running));
        assert_eq!(next, None, "{run}");
        model.write(4, run, (0..40).map(|key| key * 7 + run as u16));
    }
    let state = policy.adopt(&model.shape);
    let running = Running::default();
    let Some(Plan::Compact(plan)) =
        propose(&policy, &model.shape, &state, &running, model.fresh(&running))
    else {
        panic!("the last level has too many runs")
    };
    assert!(plan.groups.iter().all(|group| group.destination.level == 4), "{plan:?}");
}

#[test]
fn a_tiered_level_rewrites_tombstone_rich_data_at_the_bottom() {
    let policy = Vertiorizon { vertical_merge_policy: MergeChoice::Tiering, ..FIXED };
    for below in [false, true] {
        let mut model = Model::default();
        model.write(3, 1, 0..500);
        if below {
            model.write(4, 2, 600..610);
        }
        let (shape, state) = (with_tombstones(&model.shape, 300), policy.adopt(&Shape::default()));
        let running = Running::default();
        let next = propose(&policy, &shape, &state, &running, model.fresh(&running));
        let Some(Plan::Compact(next)) = next else { panic!("{next:?}") };
        assert_eq!(next.groups[0].destination.level, 4);
        assert_eq!(next.groups[0].action == Action::Move, below);
    }
}

#[test]
fn the_first_vertical_level_sends_tables_and_leaves_a_worker() {
    let mut model = Model::default();
    model.write(4, 1, [60_000]);
    // 30 buffers in a level of 25.
    let tables: Vec<_> =
        (0..30u16).map(|at| model.write(3, 2, at * 1000..at * 1000 + B as u16)).collect();
    let state = FIXED.adopt(&model.shape);
    let mut running = Running::default();
    let mut sent = BTreeSet::new();
    loop {
        let plan = FIXED.plan(&PlanContext {
            shape: &model.shape,
            state: &state,
            running: &running,
            observed: &Observed::default(),
            filter_bits: FilterBits::whole(10),
            workers: 4,
            l0_stop_trigger: LEVEL0_RUNS_MAX,
            oldest_snapshot: u64::MAX,
            fresh: model.fresh(&running),
        });
        let Some(plan) = plan else { break };
        assert_eq!(validate_plan(&model.shape, &running, &plan), Ok(()));
        let Plan::Compact(plan) = plan else { panic!("{plan:?}") };
        assert_eq!(plan.groups[0].destination.level, 4);
        sent.extend(plan.groups[0].inputs.clone());
        running.compactions.push(plan);
    }
    assert_eq!((running.compactions.len(), sent.len()), (3, 3));
    assert!(sent.iter().all(|id| tables.contains(id)));
}

#[test]
fn a_group_that_ends_below_an_admission_ends_no_admission() {
    let mut model = Model::default();
    let goes = model.write(3, 1, 0..4);
    let admitted = [0, 100].map(|key| model.write(0, 2, key..key + 8));
    let after = |steps: &[(TableId, usize, bool)]| {
        let mut state = FIXED.adopt(&Shape::default());
        for (table, level, ends) in steps {
            let group = merge(&[*table], *level, 9);
            let step = Step::Group { group: &group, outputs: &[], ends: *ends };
            state = FIXED.apply(&state, &unobserved(&model.shape, step));
        }
        Memory::read(&state).unwrap().counters
    };
    let [first, last] = [(admitted[0], 1, false), (admitted[1], 1, true)];
    let once = after(&[first, last]);
    assert_ne!(once, after(&[]));
    assert_eq!(once, after(&[(admitted[0], 1, true)]), "as of one group");
    assert_eq!(after(&[first, (goes, 4, true), last]), once);
}
