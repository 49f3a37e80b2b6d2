//! Partitioning: worked examples of the paper's rule, and what holds of any keys.

mod histograms;

use super::*;
use crate::toolkit::partition::{Cell, Points, halve, join, partitioned};
use proptest::prelude::*;

/// Entries that fit into a table, in the examples.
const THETA: u64 = 3;

/// The keys of a run, cut as a merge of all of them would be.
fn parts(keys: &[u8], partitioner: Partitioner, theta: u64, domain: [u8; 2]) -> Vec<Vec<u8>> {
    if partitioner == Partitioner::Size {
        return keys.chunks(theta as usize).map(<[u8]>::to_vec).collect();
    }
    let bytes: Vec<_> = keys.iter().map(|key| [*key]).collect();
    let points = Points::new(bytes.iter().map(|key| (&key[..], 1)));
    let ends = match partitioner {
        Partitioner::GlobalRange => domain,
        _ => [keys[0], keys[keys.len() - 1]],
    };
    let cuts = halve(&points, Cell::between(&ends[..1], &ends[1..]), theta, 1);
    let part = |key: &u8| cuts.partition_point(|cut| *cut <= vec![*key]);
    keys.chunk_by(|a, b| part(a) == part(b)).map(<[u8]>::to_vec).collect()
}

/// The groups of the next compaction of a policy that merges all runs of level 0, each of tables with
/// these keys: the keys of the inputs of every merge, and those of tables that move.
type Groups = (BTreeSet<Vec<Vec<u8>>>, BTreeSet<Vec<u8>>);

fn groups(runs: &[Vec<Vec<u8>>], partitioner: Partitioner, theta: u64) -> Groups {
    let options = Partitioning { partitioner, ..Partitioning::DEFAULT };
    let all = Universal { run_trigger: 2, space_percent: 1, ..Universal::default() };
    let policy = partitioned(Box::new(all), Some(&options), theta);
    let mut model = Model::default();
    for (run, tables) in runs.iter().enumerate() {
        for keys in tables {
            model.write(0, run as u64 + 1, keys.iter().map(|key| u16::from(*key) << 8));
        }
    }
    let running = Running::default();
    let fresh = model.fresh(&running);
    let Some(Plan::Compact(plan)) = propose(&*policy, &model.shape, &[], &running, fresh) else {
        panic!("all runs are merged")
    };
    assert_eq!(validate(&model.shape, &running, &plan), Ok(()));
    let keys_of =
        |id: &TableId| model.held(*id).keys().map(|key| (key >> 8) as u8).collect::<Vec<_>>();
    let (mut merges, mut moves) = (BTreeSet::new(), BTreeSet::new());
    for group in &plan.groups {
        let mut inputs: Vec<_> = group.inputs.iter().map(keys_of).collect();
        inputs.sort();
        match group.action {
            Action::Move => moves.extend(inputs),
            Action::Merge { .. } => assert!(merges.insert(inputs)),
        }
    }
    (merges, moves)
}

/// Figure 2 of the paper.
#[test]
fn size_chains_two_runs_where_global_range_moves_and_merges() {
    let (a, b) = ([1, 3, 5, 7, 9, 11, 13], [4, 6, 8, 10, 12, 14]);
    let runs = |partitioner| [&a[..], &b].map(|run| parts(run, partitioner, THETA, [0, 15]));
    let chained = runs(Partitioner::Size);
    let (merges, moves) = groups(&chained, Partitioner::Size, THETA);
    assert_eq!((merges.len(), moves.len()), (1, 0));
    assert_eq!(merges.first().unwrap().len(), 5);

    let aligned = runs(Partitioner::GlobalRange);
    assert_eq!(aligned[0], [vec![1, 3], vec![5, 7], vec![9, 11, 13]]);
    assert_eq!(aligned[1], [vec![4, 6], vec![8, 10], vec![12, 14]]);
    let (merges, moves) = groups(&aligned, Partitioner::GlobalRange, THETA);
    assert_eq!(moves, BTreeSet::from([vec![1, 3]]));
    assert_eq!(
        merges,
        BTreeSet::from([
            vec![vec![4, 6], vec![5, 7]],
            vec![vec![8, 10], vec![9, 11, 13], vec![12, 14]]
        ])
    );
}

/// Returns the cuts of halving the range of these one-byte keys: the last key of each part but the
/// last, as if every key were there.
fn splits(least: u8, greatest: u8, keys: &[u8], most: u64) -> Vec<u8> {
    let bytes: Vec<_> = keys.iter().map(|key| [*key]).collect();
    let points = Points::new(bytes.iter().map(|key| (&key[..], 1)));
    let cuts = halve(&points, Cell::between(&[least], &[greatest]), most, 1);
    let last = |cut: &Vec<u8>| (0..=255).rfind(|key| vec![*key] < *cut).unwrap();
    cuts.iter().map(last).collect()
}

/// Figure 3 of the paper: forty keys of a byte, tables of ten.
#[test]
fn local_range_halves_the_runs_span_global_range_the_key_space() {
    // Ten keys in each quarter of both ranges, the first at 4 and the last at 254.
    let keys: Vec<u8> = [(4, 6), (68, 6), (130, 6), (200, 6)]
        .iter()
        .flat_map(|(from, step)| (0..10).map(move |k| from + k * step))
        .collect();
    assert_eq!((keys[0], keys[39]), (4, 254));
    assert_eq!(splits(4, 254, &keys, 10), [66, 129, 191]);
    assert_eq!(splits(0, 255, &keys, 10), [63, 127, 191]);
    for (partitioner, domain) in
        [(Partitioner::LocalRange, [0, 0]), (Partitioner::GlobalRange, [0, 255])]
    {
        let parts = parts(&keys, partitioner, 10, domain);
        assert!(parts.len() == 4 && parts.iter().all(|part| part.len() <= 10));
    }
}

#[test]
fn a_table_between_two_that_merge_moves_if_it_overlaps_neither() {
    let runs = [vec![vec![6, 15]], vec![vec![1, 10], vec![21, 30]]];
    let (merges, moves) = groups(&runs, Partitioner::GlobalRange, THETA);
    assert_eq!(merges, BTreeSet::from([vec![vec![1, 10], vec![6, 15]]]));
    assert_eq!(moves, BTreeSet::from([vec![21, 30]]));
}

/// Figure 4 of the paper, of which only the kind is known: three runs.
#[test]
fn three_runs_are_one_group_by_local_range_several_by_global() {
    let runs: [Vec<u8>; 3] = [
        (3..=240).step_by(11).collect(),
        (18..=255).step_by(9).collect(),
        (1..=229).step_by(7).collect(),
    ];
    let found = |partitioner| {
        let runs = runs.each_ref().map(|run| parts(run, partitioner, 8, [0, 255]));
        let (merges, moves) = groups(&runs, partitioner, 8);
        merges.len() + moves.len()
    };
    assert_eq!((found(Partitioner::Size), found(Partitioner::LocalRange)), (1, 1));
    assert!(found(Partitioner::GlobalRange) > 2);
}

#[test]
fn a_cut_is_the_shortest_key_there_past_a_shared_prefix() {
    let keys: Vec<Vec<u8>> = (0..8u8).map(|k| [&b"user/"[..], &[k << 5, 7]].concat()).collect();
    let points = Points::new(keys.iter().map(|key| (&key[..], 1)));
    let cuts = halve(&points, Cell::between(&[], &[]), 2, 1);
    assert_eq!(cuts, [0x40, 0x80, 0xc0].map(|byte| [&b"user/"[..], &[byte]].concat()));
}

#[test]
fn keys_with_equal_fractions_stay_in_one_table() {
    let keys: Vec<Vec<u8>> = (0..20).map(|zeros| [&b"a"[..], &vec![0; zeros]].concat()).collect();
    let points = Points::new(keys.iter().map(|key| (&key[..], 1)));
    for root in
        [Cell::between(&[], &[]), Cell::between(&keys[0], &keys[19]), Cell::between(b"b", b"c")]
    {
        assert_eq!(halve(&points, root, 2, 1), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn a_run_of_none_is_one_table() {
    let runs = [vec![vec![1, 2], vec![3, 4]], vec![vec![9, 10]]];
    let (merges, moves) = groups(&runs, Partitioner::None, THETA);
    assert_eq!((merges.len(), moves.len()), (1, 0));
    assert_eq!(merges.first().unwrap().len(), 3);
}

#[test]
fn small_groups_are_joined_up_to_their_share_of_a_table() {
    let joined = |percent| {
        let options = Partitioning {
            partitioner: Partitioner::Size,
            join_percent: percent,
            ..Partitioning::DEFAULT
        };
        let universal = Universal { run_trigger: 2, space_percent: 1, ..Universal::default() };
        let policy = partitioned(Box::new(universal), Some(&options), 10);
        let mut model = Model::default();
        for (run, keys) in [(1, [1, 11, 21]), (2, [2, 12, 22])] {
            for key in keys {
                model.write(0, run, [key - 1, key]);
            }
        }
        let running = Running::default();
        let fresh = model.fresh(&running);
        let plan = propose(&*policy, &model.shape, &[], &running, fresh);
        let Some(Plan::Compact(plan)) = plan else { panic!("two runs are merged") };
        plan.groups.len()
    };
    // Three groups of 4 bytes: two of them fit into 80 %.
    assert_eq!([0, 79, 80, 100].map(joined), [3, 3, 2, 2]);
}

/// Returns the cuts of a flush into an empty tree by halving the key space, in parts of at least 100
/// bytes.
fn cuts_of_flush(domain: [&[u8]; 2], bytes: u64, keys: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let [domain_least, domain_greatest] = domain.map(<[u8]>::to_vec);
    let options = Partitioning {
        partitioner: Partitioner::GlobalRange,
        flush_floor_bytes: 100,
        domain_least,
        domain_greatest,
        ..Partitioning::DEFAULT
    };
    let context = PlanContext {
        shape: &Shape::default(),
        state: &[],
        running: &Running::default(),
        observed: &Observed::default(),
        filter_bits: FilterBits::whole(10),
        workers: 1,
        l0_stop_trigger: 8,
        oldest_snapshot: u64::MAX,
        fresh: RunId(1),
    };
    let policy = partitioned(Box::new(Universal::default()), Some(&options), 1000);
    policy.flush(&context, &KeySample { entries: bytes, bytes, keys }).cuts
}

#[test]
fn a_flush_is_cut_in_parts_of_the_floor_at_the_least() {
    let flush = |keys: &[u8], bytes| {
        let keys = keys.iter().map(|key| vec![*key]).collect();
        cuts_of_flush([&[], &[]], bytes, keys)
    };
    let even: Vec<u8> = (0..=255).collect();
    assert_eq!(flush(&even, 850), [[0x20], [0x40], [0x60], [0x80], [0xa0], [0xc0], [0xe0]]);
    assert_eq!(flush(&even, 199), Vec::<Vec<u8>>::new());
    // Of 36 keys only three are in the upper half, less than the floor.
    let skewed: Vec<u8> = (0..33).chain([130, 190, 250]).collect();
    assert_eq!(flush(&skewed, 350), [[0x10]]);
}

#[test]
fn any_number_of_groups_run_at_once_or_as_many_as_are_allowed() {
    let orders = [(0, Order::Parallel), (1, Order::Sequential), (16, Order::AtMost(16))];
    for (subcompactions, order) in orders {
        let partitioner = Partitioner::Size;
        let options = Partitioning { partitioner, subcompactions, ..Partitioning::DEFAULT };
        let universal = Universal { run_trigger: 2, space_percent: 1, ..Universal::default() };
        let policy = partitioned(Box::new(universal), Some(&options), THETA);
        let mut model = Model::default();
        model.write(0, 1, 0..2);
        model.write(0, 2, 1..3);
        let plan = propose(&*policy, &model.shape, &[], &Running::default(), RunId(9));
        let Some(Plan::Compact(plan)) = plan else { panic!("two runs are merged") };
        assert_eq!(plan.order, order);
    }
}

#[test]
fn a_plan_reports_its_points_and_the_error_of_sizes() {
    let partitioner = Partitioner::GlobalRange;
    let options = Partitioning { partitioner, ..Partitioning::DEFAULT };
    let universal = Universal { run_trigger: 2, space_percent: 1, ..Universal::default() };
    let policy = partitioned(Box::new(universal), Some(&options), THETA);
    let mut model = Model::default();
    model.write(0, 1, 0..9);
    model.write(0, 2, 4..6);
    let plan = propose(&*policy, &model.shape, &[], &Running::default(), RunId(9));
    let Some(Plan::Compact(plan)) = plan else { panic!("two runs are merged") };
    // A point for each entry of a byte: either table may be wrong by one of them.
    let partitions = plan.groups[0].action.cuts().len() + 1;
    let outcome = format!("{partitions} partitions, from 11 points, with errors of at most 2 B");
    assert!(plan.reason.text.contains(&outcome), "{}", plan.reason.text);
}

/// A policy with one plan.
struct Planned(Compaction);

impl Policy for Planned {
    fn name(&self) -> &'static str {
        "planned"
    }

    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        Some(self.0.clone().into())
    }
}

#[test]
fn a_lone_table_rich_in_tombstones_is_rewritten_at_the_bottom() {
    let options = Partitioning { partitioner: Partitioner::Size, ..Partitioning::DEFAULT };
    let goes_into = Destination { level: 1, run: RunId(5) };
    // Where another table is, whether it is merged, and whether it is older.
    for (level, run, goes, is_older) in [
        (0, 3, false, false),
        (1, 5, false, false),
        (1, 6, false, false),
        (1, 4, false, true),
        (2, 8, false, true),
        (2, 8, true, false),
    ] {
        let mut model = Model::default();
        let rich = model.write(0, 9, 0..4);
        let other = model.write(level, run, 100..104);
        let inputs = if goes { vec![rich, other] } else { vec![rich] };
        let merged = merge(&inputs, goes_into.level, goes_into.run.0);
        let policy = partitioned(Box::new(Planned(plan(vec![merged]))), Some(&options), THETA);
        let shape = with_tombstones(&model.shape, 2);
        let next = propose(&*policy, &shape, &[], &Running::default(), RunId(20));
        let Some(Plan::Compact(plan)) = next else { panic!("there is a plan") };
        let group = plan.groups.iter().find(|group| group.inputs.contains(&rich)).unwrap();
        assert_eq!(group.action == Action::Move, is_older, "{level} {run} {goes}");
    }
}

#[test]
fn the_default_partitioner_leaves_plans_as_they_are() {
    let mut model = Model::default();
    let tables = [0, 2].map(|key| model.write(0, 1, [key, key + 1]));
    let planned = plan(vec![merge(&tables, 1, 5)]);
    let policy =
        partitioned(Box::new(Planned(planned.clone())), Some(&Partitioning::DEFAULT), THETA);
    let next = propose(&*policy, &model.shape, &[], &Running::default(), RunId(20));
    assert_eq!(next, Some(planned.into()));
}

#[test]
fn range_partitioners_read_histograms_and_cut_flushes_by_floor() {
    for (partitioner, halves) in [
        (Partitioner::None, false),
        (Partitioner::Size, false),
        (Partitioner::LocalRange, true),
        (Partitioner::LocalRangeByGroup, true),
        (Partitioner::GlobalRange, true),
    ] {
        for flush_floor_bytes in [0, 1] {
            let options = Partitioning { partitioner, flush_floor_bytes, ..Partitioning::DEFAULT };
            let policy = partitioned(Box::new(Universal::default()), Some(&options), 1000);
            assert_eq!(policy.reads_histograms(), halves, "{partitioner:?}");
            assert_eq!(policy.plans_flushes(), halves && flush_floor_bytes > 0, "{partitioner:?}");
            assert!(!policy.watches_reads());
        }
    }
}

#[test]
fn the_bytes_of_a_flush_lie_between_its_sampled_keys() {
    // A half between the first two, a half between the last two: twice the floor.
    let cuts = |bytes| cuts_of_flush([&[], &[]], bytes, [0, 64, 255].map(|k| vec![k]).into());
    assert_eq!(cuts(200), [[0x80]]);
    assert!(cuts(199).is_empty());
}

#[test]
fn keys_beyond_the_domain_or_a_long_prefix_are_distinguished() {
    let single = |prefix: &[u8], root: Cell| {
        let keys: Vec<_> = [0x11, 0x51, 0x91, 0xd1].map(|byte| [prefix, &[byte]].concat()).into();
        let points = Points::new(keys.iter().map(|key| (&key[..], 1)));
        let cuts = halve(&points, root, 1, 1);
        let part = |key: &Vec<u8>| cuts.partition_point(|cut| cut <= key);
        assert_eq!(keys.iter().map(part).collect::<Vec<_>>(), [0, 1, 2, 3], "{cuts:?}");
        cuts
    };
    for root in
        [Cell::between(&[0xe0], &[0xe2]), Cell::between(&[0], &[2]), Cell::between(&[0xe0], &[])]
    {
        single(&[], root);
    }
    let prefix = b"a prefix of some length/";
    let cuts = single(prefix, Cell::between(&[], &[]));
    assert_eq!(cuts, [0x40, 0x80, 0xc0].map(|byte| [&prefix[..], &[byte]].concat()));
}

#[test]
fn global_range_halves_the_domain_that_is_declared() {
    for (least, greatest, ends) in [(0x40, 0x58, true), (0x3a, 0x5e, true), (0x40, 0xff, false)] {
        let keys: Vec<_> = (least..=greatest).map(|key| vec![key]).collect();
        let domain: [&[u8]; 2] = [&[least], if ends { &[greatest] } else { &[] }];
        let cuts = cuts_of_flush(domain, 300, keys.clone());
        let [cut] = cuts.as_slice() else { panic!("{cuts:?}") };
        let last = keys.iter().rfind(|key| *key < cut).unwrap();
        assert_eq!(*last, [least.midpoint(greatest)]);
    }
}

/// The next compaction under a partitioner, with tables of ten bytes.
fn next(
    policy: impl Policy + 'static,
    partitioner: Partitioner,
    model: &Model,
    running: &Running,
) -> Option<Compaction> {
    let options = Partitioning { partitioner, ..Partitioning::DEFAULT };
    let policy = partitioned(Box::new(policy), Some(&options), 10);
    let plan = propose(&*policy, &model.shape, &[], running, model.fresh(running))?;
    assert_eq!(validate_plan(&model.shape, running, &plan), Ok(()));
    let Plan::Compact(compaction) = plan else { panic!("{plan:?}") };
    Some(compaction)
}

#[test]
fn outputs_are_cut_at_halves_of_run_group_or_key_space() {
    let mut model = Model::default();
    model.write(1, 1, 5..15);
    for run in 2..5 {
        model.write(0, run, 100..140);
    }
    let infos: Vec<_> = model.shape.levels()[0].tables().collect();
    let points = Points::of(&infos);
    let [least, first, last] = [5, 100, 139].map(u16::bytes);
    let mut met = BTreeSet::new();
    for (partitioner, name, cell) in [
        (Partitioner::LocalRange, "local-range", Cell::between(&least, &last)),
        (Partitioner::LocalRangeByGroup, "local-range-by-group", Cell::between(&first, &last)),
        (Partitioner::GlobalRange, "global-range", Cell::between(&[], &[])),
    ] {
        let policy = Leveled { level_base_bytes: 100, ..super::policies::configured::LEVELED };
        let plan = next(policy, partitioner, &model, &Running::default()).unwrap();
        let [group] = plan.groups.as_slice() else { panic!("{plan:?}") };
        let cuts = group.action.cuts();
        assert_eq!(cuts, halve(&points, cell, 10, 1), "{partitioner:?}");
        met.insert(cuts.to_vec());
        let text = plan.reason.text;
        assert!(text.contains(&format!("; {name} makes 1 group of it")), "{text}");
    }
    assert_eq!(met.len(), 3);
}

#[test]
fn a_lone_table_moves_into_the_run_or_stays_there() {
    let mut model = Model::default();
    model.write(1, 1, 5..15);
    let coming: Vec<_> = (2..5).map(|run| model.write(0, run, 100..140)).collect();
    let alone = model.write(0, 4, 300..310);
    let leveled = Leveled { level_base_bytes: 100, ..super::policies::configured::LEVELED };
    let plan = next(leveled, Partitioner::Size, &model, &Running::default()).unwrap();
    let [merges, moves] = plan.groups.as_slice() else { panic!("{plan:?}") };
    assert_eq!(merges.inputs.iter().collect::<BTreeSet<_>>(), coming.iter().collect());
    assert_eq!((&moves.inputs, &moves.action), (&vec![alone], &Action::Move));

    let mut model = Model::default();
    let mut runs: Vec<_> = (1..4).map(|run| model.write(1, run, 0..5)).collect();
    model.write(1, 3, 200..205);
    let tiered = super::policies::configured::TIERED;
    let plan = next(tiered, Partitioner::Size, &model, &Running::default()).unwrap();
    let [merges] = plan.groups.as_slice() else { panic!("{plan:?}") };
    assert_eq!(merges.destination, Destination { level: 1, run: RunId(3) });
    let mut inputs = merges.inputs.clone();
    inputs.sort();
    runs.sort();
    assert_eq!(inputs, runs);
}

#[test]
fn nothing_joins_a_run_of_one_table_while_it_is_written() {
    let mut model = Model::default();
    model.write(2, 1, 200..206);
    let tables: Vec<_> = (0..48).step_by(6).map(|key| model.write(1, 2, key..key + 6)).collect();
    let running = Running { compactions: vec![plan(vec![move_to(&tables[..1], 2, 1)])] };
    for (partitioner, waits) in [(Partitioner::None, true), (Partitioner::Size, false)] {
        let fixed = Leveled { dynamic_level_bytes: false, ..super::policies::configured::LEVELED };
        assert_eq!(next(fixed, partitioner, &model, &running).is_none(), waits);
    }
}
