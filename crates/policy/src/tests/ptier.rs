//! PTierDB: what merges and what moves, and that no place changes the order of versions.

mod naive;
mod options;
mod reads;

use super::*;
use proptest::prelude::*;

const RULE: PrefixRule = PrefixRule::Length(1);

/// Level 1 is over its capacity with two entries, and level 2 never.
const PTIER: PTier = PTier {
    size_ratio: 1_000_000,
    level_base_bytes: 1,
    target_file_bytes: 1000,
    split_bytes: 1,
    filters: Filters::Uniform,
    l0_compaction_trigger: 2,
    prefix_length: 1,
    prefix_delimiter: Vec::new(),
    read_limit: 5,
};

/// A key with this prefix.
fn key(prefix: u8, rest: u8) -> u16 {
    u16::from_be_bytes([prefix, rest])
}

impl Model {
    /// As [`Model::write`], and the table knows its prefixes.
    fn write_known(&mut self, level: usize, run: u64, keys: &[u16]) -> TableId {
        let id = self.write(level, run, keys.iter().copied());
        self.learn(id);
        id
    }

    fn learn(&self, id: TableId) {
        let mut builder = PrefixBuilder::new(RULE);
        self.held(id).keys().for_each(|key| builder.add(&key.to_be_bytes()));
        self.shape.table(id).unwrap().table.prefixes.learn(builder.finish());
    }

    /// Level 1 with a run for each of these tables, which hold two keys of each prefix, the oldest first;
    /// below it a table far away.
    fn of_level1(tables: &[&[u8]]) -> (Model, Vec<TableId>) {
        let mut model = Model::default();
        model.write(2, 1, [u16::MAX]);
        let write = |(age, prefixes): (usize, &&[u8])| {
            let keys: Vec<_> = prefixes.iter().flat_map(|p| [key(*p, 0), key(*p, 1)]).collect();
            model.write_known(1, 10 + age as u64, &keys)
        };
        let ids = tables.iter().enumerate().map(write).collect();
        (model, ids)
    }

    fn compaction_by(&self, policy: &PTier, running: &Running) -> Option<Compaction> {
        match propose(policy, &self.shape, &[], running, self.fresh(running))? {
            Plan::Compact(plan) => {
                validate(&self.shape, running, &plan).unwrap_or_else(|why| {
                    panic!("{why}: {plan:?} in {:?}", self.shape);
                });
                Some(plan)
            }
            Plan::Reshape(plan) => panic!("{plan:?}"),
        }
    }
}

/// The sets that a plan merges, each sorted.
fn merged(plan: &Compaction) -> Vec<Vec<TableId>> {
    let merges = plan.groups.iter().filter(|group| group.action != Action::Move);
    let mut sets: Vec<_> = merges.map(|group| group.inputs.clone()).collect();
    sets.iter_mut().for_each(|set| set.sort());
    sets.sort();
    sets
}

/// Returns the merges of tables with these prefixes, the oldest first, each counted from 1.
fn merges_of(tables: &[&[u8]]) -> Vec<Vec<usize>> {
    let (model, ids) = Model::of_level1(tables);
    let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
    assert_eq!(plan.groups.iter().flat_map(|group| &group.inputs).count(), ids.len());
    assert!(plan.groups.iter().all(|group| group.destination.level == 2));
    assert!(model.all_sound(&plan.groups));
    let place = |id: &TableId| ids.iter().position(|other| other == id).unwrap() + 1;
    merged(&plan).iter().map(|set| set.iter().map(place).collect()).collect()
}

#[test]
fn a_level_at_its_capacity_keeps_its_tables() {
    for (keys, goes) in [(&[key(b'a', 0)][..], false), (&[key(b'a', 0), key(b'a', 1)], true)] {
        let mut model = Model::default();
        model.write(2, 1, [u16::MAX]);
        model.write_known(1, 10, keys);
        let plan = model.compaction_by(&PTIER, &Running::default());
        assert_eq!(plan.is_some(), goes, "{keys:?}");
    }
}

#[test]
fn of_two_levels_over_capacity_the_fuller_goes_down() {
    let policy = PTier { size_ratio: 2, level_base_bytes: 4, ..PTIER };
    // 12 of 4 bytes in level 1, 17 of 8 in level 2.
    let mut model = Model::default();
    model.write(3, 1, [u16::MAX]);
    let keys = |prefix, count| (0..count).map(|rest| key(prefix, rest)).collect::<Vec<_>>();
    model.write_known(2, 2, &keys(b'a', 17));
    model.write_known(1, 3, &keys(b'b', 12));
    let plan = model.compaction_by(&policy, &Running::default()).unwrap();
    assert!(plan.groups.iter().all(|group| group.destination.level == 2), "{plan:?}");
}

#[test]
fn a_table_that_overlaps_nothing_moves() {
    assert_eq!(merges_of(&[b"a"]), [[0usize; 0]; 0]);
    assert_eq!(merges_of(&[b"ab"]), [[0usize; 0]; 0]);
    assert_eq!(merges_of(&[b"ab", b"cd", b"e"]), [[0usize; 0]; 0]);
}

#[test]
fn of_two_tables_two_of_a_kind_merge_and_one_of_each_move() {
    assert_eq!(merges_of(&[b"a", b"a"]), [[1, 2]]);
    assert_eq!(merges_of(&[b"ab", b"ac"]), [[1, 2]]);
    assert_eq!(merges_of(&[b"ad", b"bc"]), [[1, 2]], "the kind decides, not what they share");
    for two in [[&b"a"[..], b"ab"], [b"ab", b"a"], [b"ac", b"b"]] {
        assert_eq!(merges_of(&two), [[0usize; 0]; 0]);
    }
}

#[test]
fn of_three_tables_those_sharing_a_prefix_with_two_merge() {
    assert_eq!(merges_of(&[b"ab", b"ac", b"ad"]), [[1, 2, 3]]);
    assert_eq!(merges_of(&[b"a", b"a", b"a"]), [[1, 2, 3]]);
    assert_eq!(merges_of(&[b"a", b"ab", b"ac"]), [[1, 2, 3]], "the single-prefix one, too");
}

#[test]
fn of_three_tables_a_single_prefix_one_sharing_with_one_moves() {
    assert_eq!(merges_of(&[b"ac", b"a", b"b"]), [[0usize; 0]; 0]);
    assert_eq!(merges_of(&[b"b", b"ac", b"c"]), [[0usize; 0]; 0]);
}

#[test]
fn of_three_tables_two_of_a_kind_that_share_a_prefix_merge() {
    assert_eq!(merges_of(&[b"ac", b"b", b"b"]), [[2, 3]], "of single-prefix tables");
    assert_eq!(merges_of(&[b"b", b"ac", b"ad"]), [[2, 3]], "of multi-prefix tables");
}

#[test]
fn of_four_and_five_tables_each_prefix_decides_for_itself() {
    assert_eq!(merges_of(&[b"ab", b"a", b"ac", b"c"]), [[1, 2, 3]]);
    assert_eq!(merges_of(&[b"a", b"ac", b"ce", b"d"]), [[2, 3]]);
    assert_eq!(merges_of(&[b"ae", b"ab", b"df", b"dg", b"e"]), [vec![1, 2], vec![3, 4]]);
    assert_eq!(merges_of(&[b"ae", b"ab", b"bf", b"fg", b"e"]), [[1, 2, 3, 4]], "one after another");
}

#[test]
fn a_plan_says_how_many_tables_merge_and_how_many_move() {
    let (model, _) = Model::of_level1(&[b"ab", b"ac", b"e", b"pq", b"pr", b"x"]);
    let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
    let tables: usize = merged(&plan).iter().map(Vec::len).sum();
    assert_eq!((tables, merged(&plan).len()), (4, 2));
    let said = "4 tables of 16 B that share prefixes are merged, 2 tables moved into level 2";
    assert!(plan.reason.text.ends_with(said), "{}", plan.reason.text);
}

#[test]
fn a_table_without_a_set_holds_every_prefix_that_it_spans() {
    let merges = |known: bool| {
        let (mut model, _) = Model::of_level1(&[]);
        let keys = [key(b'a', 0), key(b'c', 0)];
        let first = model.write(1, 10, keys);
        if known {
            model.learn(first);
        }
        let rest = [11, 12].map(|run| model.write_known(1, run, &[key(b'b', 0), key(b'b', 1)]));
        let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
        (merged(&plan), [first, rest[0], rest[1]])
    };
    let (without, ids) = merges(false);
    assert_eq!(without, [ids.to_vec()]);
    let (with, [_, a, b]) = merges(true);
    assert_eq!(with, [[a, b]]);
}

#[test]
fn a_table_whose_set_is_of_another_rule_counts_as_one_without() {
    let (model, ids) = Model::of_level1(&[b"a", b"ab"]);
    let by_two = PTier { prefix_length: 2, ..PTIER };
    let plan = model.compaction_by(&by_two, &Running::default()).unwrap();
    assert_eq!(merged(&plan), [ids]);
}

/// The model with tables of these keys, by level-1 run; where each key has the prefix given for it.
fn placed(tables: &[(u64, &[u16])]) -> (Model, Vec<TableId>) {
    let mut model = Model::default();
    model.write(2, 1, [u16::MAX]);
    let mut ordered: Vec<_> = tables.iter().enumerate().collect();
    ordered.sort_by_key(|(_, (age, _))| *age);
    let mut ids = vec![TableId(0); tables.len()];
    for (at, (age, keys)) in ordered {
        ids[at] = model.write_known(1, 10 + age, keys);
    }
    (model, ids)
}

/// Checks that all of the tables are merged together, and that merging only the first `without` is
/// refused.
fn merges_all(model: &Model, ids: &[TableId], without: usize, run: u64) {
    let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
    let mut all = ids.to_vec();
    all.sort();
    assert_eq!(merged(&plan), [all]);
    assert!(model.all_sound(&plan.groups) && model.follow(&plan.clone().into()).is_sound());
    let rest = ids.iter().enumerate().filter(|(at, _)| *at != without);
    let shared: Vec<_> = rest.map(|(_, id)| *id).collect();
    let lifted = super::plan(vec![merge(&shared, 1, run)]);
    assert!(validate(&model.shape, &Running::default(), &lifted).is_err());
}

#[test]
fn a_merge_lifts_no_old_versions_past_a_table_between() {
    let (model, ids) = Model::of_level1(&[b"ab", b"b", b"ac", b"ad"]);
    merges_all(&model, &ids, 1, 13);
}

#[test]
fn a_merge_takes_in_what_stands_between_any_input_and_its_place() {
    let [one, four, five] = [key(b'1', 0), key(b'4', 0), key(b'5', 0)];
    let [seven, eight, nine] = [key(b'7', 0), key(b'7', 1), key(b'9', 0)];
    let (model, ids) = placed(&[
        (5, &[one, five]),
        (9, &[four, five, nine]),
        (3, &[five, seven, eight]),
        (6, &[seven, eight]),
    ]);
    merges_all(&model, &ids, 3, 19);
}

#[test]
fn a_merge_includes_tables_that_the_whole_output_overlaps() {
    let keys = |keys: &[(u8, u8)]| keys.iter().map(|(p, k)| key(*p, *k)).collect::<Vec<_>>();
    let (model, ids) = placed(&[
        (1, &keys(&[(b'a', 1), (b'b', 5)])),
        (1, &keys(&[(b'd', 18), (b'e', 22)])),
        (2, &keys(&[(b'b', 4), (b'd', 20)])),
        (2, &keys(&[(b'e', 21), (b'e', 30)])),
    ]);
    merges_all(&model, &ids, 3, 12);
}

#[test]
fn overlapping_tables_move_one_by_one_the_oldest_first() {
    let (model, ids) = Model::of_level1(&[b"ab", b"a"]);
    let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
    let [first, second] = plan.groups.as_slice() else { panic!("{plan:?}") };
    assert_eq!((&first.inputs, &second.inputs), (&vec![ids[0]], &vec![ids[1]]));
    assert_eq!((first.follows, second.follows), (None, Some(ids[0])));
    // The older goes into the newest run of the next level, the newer above it.
    assert_eq!(first.destination.run, RunId(1));
    assert!(second.destination.is_above(first.destination));
}

#[test]
fn disjoint_tables_that_move_above_the_same_one_join_one_run() {
    let (model, ids) = Model::of_level1(&[b"ac", b"a", b"b"]);
    let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
    let inputs: Vec<_> = plan.groups.iter().map(|group| group.inputs.clone()).collect();
    assert_eq!(inputs, [vec![ids[0]], vec![ids[1], ids[2]]]);
}

#[test]
fn what_overlaps_the_newest_run_of_the_next_level_goes_above_it() {
    let (mut model, ids) = Model::of_level1(&[b"a", b"c"]);
    model.write_known(2, 1, &[key(b'a', 0)]);
    let plan = model.compaction_by(&PTIER, &Running::default()).unwrap();
    let into = |id: TableId| {
        plan.groups.iter().find(|group| group.inputs.contains(&id)).unwrap().destination.run
    };
    assert_eq!(into(ids[1]), RunId(1));
    assert!(into(ids[0]) > RunId(1));
}

#[test]
fn level_0_is_merged_without_level_1_where_its_tables_overlap() {
    let mut model = Model::default();
    let below = model.write_known(1, 1, &[key(b'a', 0), key(b'b', 0)]);
    let old = model.write(0, 2, [key(b'a', 0), key(b'b', 1)]);
    assert_eq!(
        propose(
            &PTier { level_base_bytes: 100, ..PTIER },
            &model.shape,
            &[],
            &Running::default(),
            RunId(9)
        ),
        None
    );
    let new = model.write(0, 3, [key(b'b', 0), key(b'c', 0)]);
    let far = model.write(0, 4, [key(b'x', 0)]);
    let policy = PTier { level_base_bytes: 100, ..PTIER };
    let plan = model.compaction_by(&policy, &Running::default()).unwrap();
    assert_eq!(merged(&plan), [vec![old, new], vec![far]]);
    let split = PrefixSplit { rule: RULE, least_bytes: 1 };
    assert!(plan.groups.iter().all(|group| group.action == Action::split_merge(split, 1000)));
    let run = |id: TableId| {
        plan.groups.iter().find(|group| group.inputs.contains(&id)).unwrap().destination.run
    };
    assert!(run(old) > RunId(4), "above what it overlaps in level 1");
    assert_eq!(run(far), RunId(1));
    assert!(model.shape.table(below).is_some() && model.all_sound(&plan.groups));
}

#[test]
fn level_0_is_emptied_before_a_stall_though_below_its_trigger() {
    let policy = PTier { l0_compaction_trigger: 100, level_base_bytes: 1000, ..PTIER };
    let is_emptied = |runs: u64, l0_stop_trigger| {
        let mut model = Model::default();
        for run in 1..=runs {
            model.write(0, run, [key(b'a', run as u8)]);
        }
        let running = Running::default();
        let plan = policy.plan(&PlanContext {
            shape: &model.shape,
            state: &[],
            running: &running,
            observed: &Observed::default(),
            filter_bits: FilterBits::whole(10),
            workers: 1,
            l0_stop_trigger,
            oldest_snapshot: u64::MAX,
            fresh: RunId(99),
        });
        plan.is_some()
    };
    assert!(!is_emptied(5, 8) && is_emptied(6, 8));
    assert!(!is_emptied(0, 0), "nothing waits where no depth stalls writes");
}

#[test]
fn level_0_waits_only_for_a_group_that_writes_into_level_1() {
    let policy = PTier { size_ratio: 10, level_base_bytes: 1000, ..PTIER };
    for (level, run, is_emptied) in [(1, 3, false), (2, 50, true)] {
        let mut model = Model::default();
        model.write(3, 1, [u16::MAX]);
        let held = model.write_known(1, 3, &[key(b'a', 0)]);
        for run in [4, 5] {
            model.write(0, run, [key(b'b', run as u8)]);
        }
        let running = Running { compactions: vec![plan(vec![merge(&[held], level, run)])] };
        let next = model.compaction_by(&policy, &running);
        assert_eq!(next.is_some(), is_emptied, "{next:?}");
    }
}

#[test]
fn a_level_waits_only_for_groups_that_write_to_it_or_the_next() {
    let goes_down = |from: usize, into, run| {
        let mut model = Model::default();
        model.write(4, 1, [u16::MAX]);
        let below = model.write_known(2, 3, &[key(b'x', 0)]);
        let over = model.write_known(1, 10, &[key(b'a', 0), key(b'a', 1)]);
        let above = model.write(0, 11, [key(b'b', 0)]);
        let held = if from == 0 { above } else { below };
        let running = Running { compactions: vec![plan(vec![merge(&[held], into, run)])] };
        let next = model.compaction_by(&PTIER, &running)?;
        Some(next.groups.iter().flat_map(|group| &group.inputs).eq([&over]))
    };
    assert_eq!(goes_down(0, 1, 50), None, "level 0 into it");
    assert_eq!(goes_down(2, 2, 3), None, "the next level within itself");
    assert_eq!(goes_down(2, 3, 50), Some(true), "the next level into the one below");
}

#[test]
fn the_deepest_level_becomes_the_next_over_its_capacity() {
    let mut model = Model::default();
    model.write_known(1, 1, &[key(b'a', 0), key(b'a', 1), key(b'b', 0)]);
    let policy = PTier { size_ratio: 10, level_base_bytes: 2, ..PTIER };
    let Some(Plan::Reshape(plan)) =
        propose(&policy, &model.shape, &[], &Running::default(), RunId(9))
    else {
        panic!("no change of levels");
    };
    assert_eq!(plan.change, LevelChange::Add(1));
    let model = model.reshape(plan.change);
    assert_eq!(propose(&policy, &model.shape, &[], &Running::default(), RunId(9)), None);
    let capacities = policy.status(&model.shape, &[]).capacities;
    assert_eq!(capacities[0], Capacity { bytes: None, runs: Some(2) });
    assert_eq!(capacities[2], Capacity { bytes: Some(20), runs: None });
}

#[test]
fn a_table_of_tombstones_is_rewritten_at_the_bottom_only() {
    let rewrites = |tables: &[&[u8]], tombstones| {
        let (mut model, ids) = Model::of_level1(tables);
        model.shape = with_tombstones(&model.shape, tombstones);
        let merged = merged(&model.compaction_by(&PTIER, &Running::default()).unwrap());
        assert!(merged.iter().all(|set| *set == ids[..1]), "the oldest alone");
        merged.len()
    };
    assert_eq!([0, 2].map(|tombstones| rewrites(&[b"a"], tombstones)), [0, 1]);
    assert_eq!([0, 4].map(|tombstones| rewrites(&[b"ab", b"a"], tombstones)), [0, 1]);
}
