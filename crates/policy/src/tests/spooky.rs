//! Spooky, on trees small enough to follow by hand, and over loads. T is 3 and B is 12, X is the
//! second largest level unless a test says otherwise.

use super::examples::{after, tree};
use super::executor::Executor;
use super::policies::configured::SPOOKY;
use super::*;
use proptest::prelude::*;

fn plan_beside(policy: &Spooky, model: &Model, running: &Running) -> Option<Plan> {
    let plan = propose(policy, &model.shape, &[], running, model.fresh(running))?;
    assert_eq!(validate_plan(&model.shape, running, &plan), Ok(()));
    Some(plan)
}

fn next(policy: &Spooky, model: &Model) -> Option<Plan> {
    plan_beside(policy, model, &Running::default())
}

/// The next plan's groups, which are of this order.
fn groups(policy: &Spooky, model: &Model, order: Order) -> Vec<Group> {
    let Some(Plan::Compact(plan)) = next(policy, model) else { panic!("nothing is due") };
    assert_eq!(plan.order, order, "{}", plan.reason.text);
    plan.groups
}

fn change(policy: &Spooky, model: &Model) -> Option<LevelChange> {
    let Some(Plan::Reshape(plan)) = next(policy, model) else { return None };
    Some(plan.change)
}

/// The first and last key of each file of a level.
fn files(model: &Model, level: usize) -> Vec<(u8, u8)> {
    model.shape.levels()[level].tables().map(|t| (t.smallest[1], t.largest[1])).collect()
}

/// The nine files of the largest level in the paper's Figure 5; the others are made up around the
/// two that it gives.
const FIGURE_5: [(u16, u16); 9] =
    [(0, 12), (13, 25), (26, 38), (39, 50), (51, 60), (61, 70), (71, 80), (81, 90), (91, 99)];

fn figure_5() -> Model {
    let mut model = Model::default();
    for (from, to) in FIGURE_5 {
        model.write(2, 1, from..=to);
    }
    model
}

#[test]
fn figure_5_no_edge_is_merged_superfluously() {
    let updates = || (0..100).step_by(3);
    let mut model = figure_5();
    model.write(0, 9, updates());
    // A file of level 2 may have 20 bytes: with what is newer none is cut or joined.
    let policy = Spooky { size_ratio: 5, ..SPOOKY };
    model = model.follow(&next(&policy, &model).unwrap());
    assert_eq!(files(&model, 1).len(), FIGURE_5.len());
    let groups = groups(&policy, &model, Order::Sequential);
    let inputs = |g: &Group| {
        let tables = model.shape.tables().filter(|(_, _, t)| g.inputs.contains(&t.id));
        tables.map(|(level, _, t)| (level, t.smallest[1], t.largest[1])).collect::<Vec<_>>()
    };
    for (group, (from, to)) in groups.iter().zip(FIGURE_5) {
        let [(1, first, last), below] = inputs(group)[..] else { panic!("{group:?}") };
        assert_eq!(below, (2, from as u8, to as u8));
        assert!(from as u8 <= first && last <= to as u8);
    }
    let before = model.last_table;
    let merged = groups.iter().fold(model.clone(), |m, g| m.commit(g, false).unwrap());
    let written = |model: &Model, before: u64| {
        let new = model.data.iter().filter(|(id, _)| id.0 > before);
        new.map(|(_, v)| v.len()).sum::<usize>()
    };
    assert_eq!(written(&merged, before), 100, "each entry of the largest level once");

    // Files cut by size share files of the level below: those are rewritten more than once.
    let mut partial = figure_5();
    let cut: Vec<_> = updates().collect();
    for keys in cut.chunks(12) {
        partial.write(1, 8, keys.iter().copied());
    }
    let before = partial.last_table;
    for id in partial.shape.levels()[1].tables().map(|t| t.id).collect::<Vec<_>>() {
        let tables = || partial.shape.tables().map(|(_, _, t)| t);
        let sent = tables().find(|t| t.id == id).unwrap();
        let below = partial.shape.levels()[2].tables().filter(|t| t.overlaps(sent)).map(|t| t.id);
        let group = merge(&below.chain([id]).collect::<Vec<_>>(), 2, 1);
        partial = partial.commit(&group, false).unwrap();
    }
    assert!(written(&partial, before) > 100);
}

#[test]
fn a_dividing_merge_cuts_at_the_largest_levels_boundaries() {
    let mut model = Model::default();
    for (from, to) in [(0, 40), (50, 70), (80, 89), (90, 99)] {
        model.write(3, 1, from..=to);
    }
    model.write(2, 2, [5, 45, 95]);
    model.write(0, 3, (0..100).step_by(8));
    let policy = Spooky { level_base_bytes: 10, ..SPOOKY };
    // Level 1 may have max(B, 82 / 9) bytes, which is less than there is; level 2 has 27.
    let divided = model.follow(&next(&policy, &model).unwrap());
    assert_eq!(files(&divided, 2), [(0, 48), (56, 72), (80, 88), (95, 96)]);

    let wide = Spooky { level_base_bytes: 13, ..policy };
    let full = model.follow(&next(&wide, &model).unwrap());
    assert_eq!((files(&full, 1), files(&full, 2)), (vec![(0, 96)], vec![(5, 95)]));
}

/// Figure 10: X is the third largest level, and of 300 bytes level 2 may have 100, level 1 33.
#[test]
fn a_partitioned_merge_targets_the_smallest_level_that_fits() {
    let policy = Spooky { levels_below: 2, ..SPOOKY };
    let tree = |second: u16| {
        let mut model = Model::default();
        for file in 0..3 {
            let from = file * 100;
            model.write(3, 1, from..from + 100);
            model.write(2, 2, (from..from + 100).take(usize::from(second) / 3));
            model.write(1, 3, from..from + 11);
        }
        model
    };
    let levels = |second| {
        let model = tree(second);
        let groups = groups(&policy, &model, Order::Sequential);
        assert_eq!(groups.len(), 3);
        groups.iter().map(|g| (g.inputs.len(), g.destination.level)).collect::<Vec<_>>()
    };
    assert_eq!(levels(66), [(2, 2); 3]);
    assert_eq!(levels(78), [(3, 3); 3]);
}

#[test]
fn files_move_into_an_empty_level_unless_moves_are_off() {
    let mut model = Model::default();
    for file in 0..3 {
        let from = file * 100;
        model.write(3, 1, from..from + 100);
        model.write(1, 3, from..from + 11);
    }
    let groups = |trivial_moves| {
        let policy = Spooky { levels_below: 2, trivial_moves, ..SPOOKY };
        let groups = groups(&policy, &model, Order::Sequential);
        assert!(groups.iter().all(|g| g.destination.level == 2));
        groups.iter().map(|g| (g.inputs.len(), g.action == Action::Move)).collect::<Vec<_>>()
    };
    assert_eq!(groups(true), [(3, true)]);
    assert_eq!(groups(false), [(1, false); 3]);
}

#[test]
fn a_file_with_nothing_newer_above_it_is_not_rewritten() {
    let mut model = figure_5();
    let hot = model.write(1, 2, 26..=38);
    model.write(1, 2, 40..=50);
    model.write(1, 2, [13, 14, 15, 16, 17, 18, 19, 20, 21, 22]);
    let policy = Spooky { level_base_bytes: 34, ..SPOOKY };
    let groups = groups(&policy, &model, Order::Sequential);
    assert_eq!(groups.iter().map(|g| g.inputs.len()).collect::<Vec<_>>(), [2; 3]);
    assert!(groups.iter().any(|g| g.inputs.contains(&hot)));
    let untouched: BTreeSet<_> = [0, 4, 5, 6, 7, 8].map(|at| TableId(at + 1)).into();
    let after = groups.iter().fold(model, |m, g| m.commit(g, false).unwrap());
    let left: BTreeSet<_> = after.shape.tables().map(|(_, _, t)| t.id).collect();
    assert!(untouched.is_subset(&left));
}

#[test]
fn large_files_are_cut_equally_and_small_neighbours_joined() {
    let mut model = Model::default();
    // Level 1, of 90 bytes, may have 30, and so may a file of level 2.
    for (from, to) in [(0, 50), (100, 105), (110, 115), (120, 150)] {
        model.write(2, 1, from..to);
        model.write(1, 2, (from..to).step_by(2));
    }
    let after = groups(&SPOOKY, &model, Order::Sequential);
    let after = after.iter().fold(model, |m, g| m.commit(g, false).unwrap());
    assert_eq!(files(&after, 2), [(0, 16), (17, 32), (33, 49), (100, 114), (120, 134), (135, 149)]);
}

#[test]
fn spooky_rewrites_sequential_keys_once_in_the_largest_level() {
    let mut model = Model::default();
    let mut written = 0;
    for flush in 0..200u16 {
        let run = model.fresh(&Running::default()).0;
        model.write(0, run, flush * 12..flush * 12 + 12);
        while let Some(plan) = next(&SPOOKY, &model) {
            if let Plan::Compact(plan) = &plan {
                for group in plan.groups.iter().filter(|g| g.action != Action::Move) {
                    assert_eq!(
                        group.destination.level,
                        model.shape.deepest(),
                        "{}",
                        plan.reason.text
                    );
                }
            }
            let before = model.last_table;
            model = model.follow(&plan);
            let new = model.data.iter().filter(|(id, _)| id.0 > before);
            written += new.map(|(_, v)| v.len()).sum::<usize>();
        }
        assert!(model.shape.levels()[0].runs.is_empty());
    }
    assert!(written <= 2400, "{written}");
    let above = &model.shape.levels()[1];
    assert!(above.tables().count() > 1 && above.tables().all(|t| t.bytes == 12), "small files");
}

#[test]
fn a_level_change_is_not_undone_by_the_next_plan() {
    let mut model = Model::default();
    model.write(2, 1, 0..108);
    assert_eq!(change(&SPOOKY, &model), Some(LevelChange::Add(2)));
    model = model.reshape(LevelChange::Add(2));
    assert_eq!(next(&SPOOKY, &model), None);

    let mut small = Model::default();
    let file = small.write(3, 1, 0..107);
    assert_eq!(change(&SPOOKY, &small), Some(LevelChange::Drop(2)));
    assert_eq!(next(&SPOOKY, &small.reshape(LevelChange::Drop(2))), None);
    // Not while anything stands or is written between.
    let writing = Running { compactions: vec![plan(vec![merge(&[file], 3, 1)])] };
    assert_eq!(plan_beside(&SPOOKY, &small, &writing), None);
    small.write(2, 2, 0..10);
    assert_eq!(next(&SPOOKY, &small), None);
}

#[test]
fn an_undivided_file_is_cut_before_a_partitioned_merge() {
    let mut model = figure_5();
    model.write(1, 2, (0..100).step_by(2));
    let cut = groups(&SPOOKY, &model, Order::Sequential);
    assert_eq!(cut.len(), 1);
    model = model.commit(&cut[0], false).unwrap();
    assert_eq!(files(&model, 1).len(), 9);
    let merges = groups(&SPOOKY, &model, Order::Sequential);
    assert_eq!(merges.iter().map(|g| g.destination.level).collect::<BTreeSet<_>>(), [2].into());
    assert!(merges.iter().all(|g| g.inputs.len() % 2 == 0), "a file and the one below it");
}

#[test]
fn tiered_levels_take_runs_cut_at_the_oldest_run_of_the_last() {
    let lazy = Spooky { leveled_levels: 1, ..SPOOKY };
    let mut model = figure_5();
    for run in 2..=3 {
        model.write(0, run * 10, (0..100).step_by(8));
        model = model.follow(&next(&lazy, &model).unwrap());
    }
    assert_eq!(model.shape.levels()[1].runs.len(), 2);
    model.write(0, 90, (0..100).step_by(8));
    model = model.follow(&next(&lazy, &model).unwrap());
    assert_eq!(
        model.shape.levels()[1].runs.iter().map(|r| r.tables().len()).collect::<Vec<_>>(),
        [9; 3]
    );
    let merges = groups(&lazy, &model, Order::Sequential);
    assert!(merges.iter().all(|g| g.inputs.len() % 4 == 0), "one file of each run");

    let tiered = Spooky { leveled_levels: 0, level_base_bytes: 16, ..SPOOKY };
    let merges = groups(&tiered, &model, Order::Sequential);
    assert!(merges.iter().all(|g| g.inputs.len() == 3 && g.destination.run != RunId(1)));
    let after = merges.iter().fold(model, |m, g| m.commit(g, false).unwrap());
    assert_eq!(
        after.shape.levels()[2].runs.iter().map(|r| r.tables().len()).collect::<Vec<_>>(),
        [9; 2]
    );
}

#[test]
fn files_of_a_tiered_tree_move_to_a_new_run_or_are_rewritten() {
    let mut model = figure_5();
    // A newer file of level 2 may cross where the oldest are cut.
    model.write(2, 2, [5, 95]);
    for (from, to) in &FIGURE_5[..3] {
        model.write(1, 3, *from..=*to);
    }
    // 39 of 34 bytes in level 1; level 2 may have 144.
    let groups = |trivial_moves| {
        let policy = Spooky { leveled_levels: 0, level_base_bytes: 16, trivial_moves, ..SPOOKY };
        let groups = groups(&policy, &model, Order::Sequential);
        assert!(groups.iter().all(|g| g.destination.level == 2 && g.destination.run > RunId(3)));
        groups.iter().map(|g| (g.inputs.len(), g.action == Action::Move)).collect::<Vec<_>>()
    };
    assert_eq!(groups(true), [(3, true)]);
    assert_eq!(groups(false), [(1, false); 3]);
}

/// With 270 bytes in the last level, level 2 may have 90 and level 1 30, and each of them three
/// runs.
#[test]
fn a_tiered_level_goes_down_over_its_bytes_or_runs() {
    let full = Spooky { leveled_levels: 1, ..SPOOKY };
    let upper = |level1: &[u16]| after(&full, &tree(&[&[], level1, &[], &[270]]));
    assert_eq!(upper(&[10, 10, 10]), [vec![], vec![10, 10, 10], vec![], vec![270]]);
    assert_eq!(upper(&[31]), [vec![], vec![], vec![31], vec![270]]);
    assert_eq!(upper(&[1, 1, 1, 1]), [vec![], vec![], vec![1], vec![270]]);
    // A level with three runs has no place for another.
    let flushed = |level1: &[u16]| after(&full, &tree(&[&[12], level1, &[], &[270]]));
    assert_eq!(flushed(&[2, 2]), [vec![], vec![12, 2, 2], vec![], vec![270]]);
    assert_eq!(flushed(&[2, 2, 2]), [vec![], vec![], vec![12], vec![270]]);

    // What the dividing level has goes down with its third run, what a level below it has with more.
    let partitioned = Spooky { levels_below: 2, ..full };
    let lower =
        |level1: &[u16], level2: &[u16]| after(&partitioned, &tree(&[&[], level1, level2, &[270]]));
    assert_eq!(lower(&[2, 2], &[]), [vec![], vec![2, 2], vec![], vec![270]]);
    assert_eq!(lower(&[2, 2, 2], &[]), [vec![], vec![], vec![2], vec![270]]);
    assert_eq!(lower(&[], &[30, 30, 30]), [vec![], vec![], vec![30, 30, 30], vec![270]]);
    assert_eq!(lower(&[], &[91]), [vec![], vec![], vec![], vec![270]]);
    assert_eq!(lower(&[], &[1, 1, 1, 1]), [vec![], vec![], vec![], vec![270]]);
}

#[test]
fn a_tiered_last_level_becomes_one_run_over_its_limits() {
    let tiered = Spooky { leveled_levels: 0, levels_below: 0, ..SPOOKY };
    let next = |last: &[u16]| after(&tiered, &tree(&[&[], last]));
    assert_eq!(next(&[10, 10, 10]), [vec![], vec![10, 10, 10]]);
    assert_eq!(next(&[20, 17]), [vec![], vec![20]], "37 of 36 bytes");
    assert_eq!(next(&[1, 1, 1, 1]), [vec![], vec![1]]);
}

#[test]
fn a_merge_names_its_level_over_limits_and_how_it_found_another() {
    let says = |levels_below, sizes: &[&[u16]], why: &str, effect: &str| {
        let plan = next(&Spooky { levels_below, ..SPOOKY }, &tree(sizes)).expect(why);
        let Plan::Compact(Compaction { reason, .. }) = plan else { panic!("{plan:?}") };
        assert!(reason.text.starts_with(why) && reason.text.contains(effect), "{}", reason.text);
    };
    let over = "level 1 has 31 B over 30 B: all down to level 2";
    says(1, &[&[], &[31], &[], &[270]], over, "is cut at 0 keys of level 3");
    let due = "level 0 has 1 run: all down to level 1";
    says(1, &[&[12], &[2], &[], &[270]], due, "becomes part of it");
    says(0, &[&[12], &[10]], due, "becomes part of it");

    let policy = Spooky { levels_below: 2, ..SPOOKY };
    let plan = next(&policy, &tree(&[&[], &[30], &[70], &[270]]));
    let Some(Plan::Compact(plan)) = plan else { panic!("level 1 is full") };
    let bytes = |to, bytes| Quantity::levels("bytes", 1, to, bytes);
    let capacity = |level, bytes| Quantity::level("capacity", level, bytes);
    let terms = plan.reason.terms.iter().map(|t| (t.left, t.relation, t.right, t.effect));
    // Level 3 takes what level 2 cannot, as it is the last.
    let (full, passes) = (Some(Effect::Leaves(1)), Some(Effect::Passes(2)));
    let room = [
        (Quantity::level("bytes", 1, 30), Relation::AtLeast, capacity(1, 270 / 9), full),
        (bytes(2, 30 + 70), Relation::Greater, capacity(2, 270 / 3), passes),
    ];
    assert_eq!(terms.collect::<Vec<_>>(), room);
}

#[test]
fn waiting_runs_are_merged_within_level_0_one_at_a_time() {
    let mut model = figure_5();
    model.write(0, 2, (0..100).step_by(4));
    let Some(Plan::Compact(dividing)) = next(&SPOOKY, &model) else { panic!("level 0 is due") };
    let mut running = Running { compactions: vec![dividing] };
    for run in 10..14 {
        assert_eq!(plan_beside(&SPOOKY, &model, &running), None, "too few to be worth it");
        model.write(0, run, (0..100).step_by(4));
    }
    let Some(Plan::Compact(within)) = plan_beside(&SPOOKY, &model, &running) else {
        panic!("four runs wait")
    };
    assert_eq!(within.groups[0].destination, Destination { level: 0, run: RunId(13) });
    running.compactions.push(within);
    for run in 20..24 {
        model.write(0, run, 0..20);
    }
    assert_eq!(plan_beside(&SPOOKY, &model, &running), None);
}

/// With 270 bytes in the last level, level 2, which divides, may have 90 and level 1 30.
#[test]
fn level_0_goes_down_beside_a_partitioned_not_a_dividing_merge() {
    let mut model = tree(&[&[], &[], &[20], &[270]]);
    let [upper, last] = [2, 3].map(|level| model.shape.levels()[level].tables().next().unwrap().id);
    let older = model.write(0, 10, 300..312);
    model.write(0, 11, 0..12);
    let beside = |group| {
        let running = Running { compactions: vec![plan(vec![group])] };
        let Some(Plan::Compact(plan)) = plan_beside(&SPOOKY, &model, &running) else { return None };
        Some(plan.groups[0].destination.level)
    };
    assert_eq!(beside(merge(&[upper, last], 3, 1)), Some(1));
    assert_eq!(beside(move_to(&[older], 2, 2)), None);
}

#[test]
fn level_0_merges_in_place_while_it_waits_or_is_light() {
    let inputs = |level0: &[u16]| {
        let model = tree(&[level0, &[20], &[90]]);
        let [upper, last] =
            [1, 2].map(|level| model.shape.levels()[level].tables().next().unwrap().id);
        let running = Running { compactions: vec![plan(vec![merge(&[upper, last], 2, 1)])] };
        let Some(Plan::Compact(plan)) = plan_beside(&SPOOKY, &model, &running) else { return 0 };
        assert_eq!(plan.groups[0].destination.level, 0);
        plan.groups[0].inputs.len()
    };
    assert_eq!(inputs(&[12, 12, 12, 12]), 4, "it waits");
    assert_eq!(inputs(&[12, 12, 12, 25]), 0, "they are not alike");
    assert_eq!(inputs(&[1, 1, 2, 4]), 4, "less than 12 bytes");
}

#[test]
fn level_0_never_merges_runs_of_unlike_size() {
    let mut model = figure_5();
    model.write(0, 2, (0..100).step_by(4));
    let Some(Plan::Compact(dividing)) = next(&SPOOKY, &model) else { panic!("level 0 is due") };
    let running = Running { compactions: vec![dividing] };
    for (run, keys) in [(10, 90), (11, 40), (12, 16), (13, 7), (14, 7), (15, 7)] {
        model.write(0, run, 0..keys);
        assert_eq!(plan_beside(&SPOOKY, &model, &running), None);
    }
    model.write(0, 16, 0..7);
    let Some(Plan::Compact(within)) = plan_beside(&SPOOKY, &model, &running) else {
        panic!("four alike wait")
    };
    assert_eq!(within.groups[0].inputs.len(), 4);
}

/// The kinds of Spooky's compactions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    WithinLevel0,
    Full,
    Dividing,
    Partitioned,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn spooky_runs_one_merge_of_each_kind_at_a_time(
        bytes in proptest::collection::vec(any::<u8>(), 2000),
        levels_below in 1..3u64,
    ) {
        let policy = Spooky { levels_below, ..SPOOKY };
        let mut dice = Dice(bytes.iter());
        let mut executor = Executor::new(Model::default(), &mut dice);
        // The first input names a compaction's group; the kinds of those that run, by group.
        let mut kinds: BTreeMap<TableId, Kind> = BTreeMap::new();
        for _ in 0..80 {
            executor.flush();
            for _ in 0..executor.dice.below(6) {
                let last = executor.model.shape.deepest().max(1);
                let divided = last.saturating_sub(levels_below as usize).max(1);
                executor.step(&policy);
                let going: BTreeSet<_> = executor.running.groups().map(|g| g.inputs[0]).collect();
                kinds.retain(|input, _| going.contains(input));
                let mut running = Vec::new();
                for compaction in &executor.running.compactions {
                    let kind = |g: &Group| match g.destination.level {
                        _ if compaction.order == Order::Sequential => Kind::Partitioned,
                        0 => Kind::WithinLevel0,
                        level if level < divided => Kind::Full,
                        _ => Kind::Dividing,
                    };
                    let of = |g: &Group| *kinds.entry(g.inputs[0]).or_insert(kind(g));
                    let of: Vec<_> = compaction.groups.iter().map(of).collect();
                    prop_assert!(of.iter().all(|kind| *kind == of[0]));
                    running.push(of[0]);
                }
                let count = |kinds: &[Kind]| running.iter().filter(|k| kinds.contains(k)).count();
                prop_assert!(count(&[Kind::WithinLevel0]) <= 1, "{running:?}");
                prop_assert!(count(&[Kind::Full, Kind::Dividing]) <= 1, "{running:?}");
                prop_assert!(count(&[Kind::Partitioned, Kind::Dividing]) <= 1, "{running:?}");
            }
        }
    }
}
