//! The next merge: the order of buckets, of level 0 and of the levels below.

use super::*;

#[test]
fn an_unfilled_bucket_goes_with_the_oldest_run_after_full_ones() {
    let mut tree = Tree::new(BUCKET);
    tree.policy.l0_compaction_trigger = 4;
    tree.flush(keys([1, 0, 0, 0]));
    for _ in 1..LEVEL0_RUNS_MAX - 1 {
        tree.flush(keys([0, 9, 0, 0]));
    }
    let full = tree.begin().unwrap();
    assert_eq!(full.inputs.len(), LEVEL0_RUNS_MAX - 1, "and one of level 1");
    assert_eq!(tree.begin(), None, "one table of a bucket waits");
    tree.flush(keys([0, 0, 9, 0]));
    let old = tree.begin().unwrap();
    assert!(tree.model.held(old.inputs[0]).contains_key(&0));
    assert_eq!(tree.begin(), None, "that of the last flush is not of the oldest run");
}

#[test]
fn a_trigger_beyond_the_depth_at_which_writes_stall_is_none() {
    let mut tree = Tree::new(BucketLsm { l0_compaction_trigger: 64, ..BUCKET });
    for round in 0..20 {
        tree.flush(keys([9, 9, 9, 9]));
        tree.settle();
        let depth = tree.model.shape.level0_depth();
        assert!(depth < LEVEL0_RUNS_MAX, "{depth} tables after {round}");
    }
}

#[test]
fn a_bucket_goes_down_at_three_quarters_of_the_stall_depth() {
    let mut tree = Tree::new(BucketLsm { l0_compaction_trigger: 64, ..BUCKET });
    while tree.begin().is_none() {
        tree.flush(keys([1, 0, 0, 0]));
    }
    assert_eq!(tree.model.shape.level0_depth(), LEVEL0_RUNS_MAX * 3 / 4);
}

#[test]
fn the_fullest_bucket_and_a_level_below_go_down_by_excess() {
    let policy = BucketLsm {
        l0_compaction_trigger: 2,
        level_base_bytes: 1,
        dynamic_level_bytes: false,
        ..BUCKET
    };
    // 15 of 10 bytes in level 1: before a bucket at its trigger, after one at twice as many tables.
    let goes_into = |depth| {
        let mut tree = Tree { model: Model::default(), ..Tree::new(policy.clone()) };
        tree.model.write(2, 1, [4000]);
        tree.model.write(1, 2, 3000..3015);
        for _ in 0..depth {
            tree.flush(keys([1, 0, 0, 0]));
        }
        tree.begin().unwrap().destination.level
    };
    assert_eq!([2, 4].map(goes_into), [2, 1]);
}

#[test]
fn level_1_waits_while_a_bucket_is_due_and_deeper_levels_do_not() {
    let policy = BucketLsm {
        l0_compaction_trigger: 2,
        level_base_bytes: 1,
        dynamic_level_bytes: false,
        ..BUCKET
    };
    // Twice as many tables as the trigger; 15 of 10 bytes in level 1; level 2 may have 100.
    let goes_into = |level2: u16| {
        let mut tree = Tree { model: Model::default(), ..Tree::new(policy.clone()) };
        tree.model.write(3, 1, [4000]);
        tree.model.write(2, 2, 3000..3000 + level2);
        tree.model.write(1, 3, 2000..2015);
        tree.begin_beside_waiting_bucket()
    };
    assert_eq!([100, 101].map(goes_into), [None, Some(3)]);
}

#[test]
fn the_last_level_deepens_at_its_capacity_or_sends_tables_on() {
    let next = |dynamic_level_bytes, bytes| {
        let policy = BucketLsm { level_base_bytes: 1, dynamic_level_bytes, ..BUCKET };
        let mut model = Model::default();
        model.write(1, 1, 0..bytes);
        propose(&policy, &model.shape, &[], &Running::default(), RunId(9))
    };
    assert_eq!([next(true, 9), next(false, 10)], [None, None]);
    let Some(Plan::Reshape(deeper)) = next(true, 10) else { panic!("level 1 is full") };
    assert_eq!(deeper.change, LevelChange::Add(1));
    let Some(Plan::Compact(down)) = next(false, 11) else { panic!("level 1 is over its capacity") };
    assert_eq!(down.groups[0].destination.level, 2);
}

#[test]
fn tables_that_wait_for_a_running_merge_are_merged_in_place() {
    let begun = |merge_waiting| {
        let mut tree = Tree::new(BucketLsm { merge_waiting, ..BUCKET });
        tree.policy.l0_compaction_trigger = 2;
        tree.flush(keys([8, 0, 0, 0]));
        tree.flush(keys([8, 0, 0, 0]));
        let down = tree.begin().unwrap();
        assert_eq!(down.destination.level, 1);
        tree.flush(keys([8, 0, 0, 0]));
        assert_eq!(tree.begin(), None, "one table waits");
        tree.flush(keys([8, 0, 9, 0]));
        (tree, down)
    };
    let (mut waits, _) = begun(false);
    assert_eq!(waits.begin(), None);
    let (mut tree, down) = begun(true);
    let newest = tree.model.shape.levels()[0].runs[0].id;
    let within = tree.begin().unwrap();
    assert_eq!((within.destination.level, within.destination.run), (0, newest));
    assert_eq!(within.inputs.len(), 2, "of the bucket whose merge runs");
    assert_eq!(tree.begin(), None);
    tree.install(&within);
    tree.install(&down);
    tree.flush(keys([8, 0, 0, 0]));
    let next = tree.begin().unwrap();
    assert_eq!(next.destination.level, 1, "the merged table counts once: two lie over a key");
}

#[test]
fn a_much_larger_table_is_left_out_of_a_merge_in_place() {
    let mut tree = Tree::new(BucketLsm { merge_waiting: true, ..BUCKET });
    tree.policy.l0_compaction_trigger = 2;
    tree.flush(keys([8, 0, 0, 0]));
    tree.flush(keys([8, 0, 0, 0]));
    tree.begin().unwrap();
    let large = tree.flush((0..90).map(|n| n * 11));
    assert!(large.is_empty());
    for _ in 0..2 {
        tree.flush(keys([8, 0, 0, 0]));
    }
    let within = tree.begin().unwrap();
    assert_eq!(within.inputs.len(), 2, "without the table of 90 keys");
}

#[test]
fn level_1_goes_down_beside_a_waiting_bucket_unless_it_waits() {
    let goes_into = |level_one_waits| {
        let policy = BucketLsm {
            l0_compaction_trigger: 2,
            level_base_bytes: 1,
            dynamic_level_bytes: false,
            level_one_waits,
            ..BUCKET
        };
        let mut tree = Tree { model: Model::default(), ..Tree::new(policy) };
        tree.model.write(1, 3, 2000..2015);
        tree.begin_beside_waiting_bucket()
    };
    assert_eq!([true, false].map(goes_into), [None, Some(2)]);
}

#[test]
fn all_buckets_are_due_once_one_is_if_they_are_eager() {
    let begun = |eager| {
        let mut tree = Tree::new(BucketLsm { eager, ..BUCKET });
        tree.policy.l0_compaction_trigger = 2;
        tree.flush(keys([4, 0, 4, 0]));
        assert_eq!(tree.begin(), None, "none is due");
        tree.flush(keys([4, 0, 0, 0]));
        std::iter::from_fn(|| tree.begin()).map(|group| group.inputs.len()).collect::<Vec<_>>()
    };
    assert_eq!(begun(false), [3]);
    assert_eq!(begun(true), [3, 2], "the fullest first");
}

#[test]
fn buckets_that_overlap_less_come_first_as_that_weighs_more() {
    let first = |overlap_percent| {
        let mut tree = Tree::new(BucketLsm { overlap_percent, ..BUCKET });
        // Two tables over ten keys of level 1, and one large table that makes little of as many.
        tree.flush(keys([2, 0, 90, 0]));
        tree.flush(keys([2, 0, 0, 0]));
        let group = tree.begin().unwrap();
        let least = group.inputs.iter().map(|id| *tree.model.held(*id).keys().next().unwrap());
        least.min().unwrap() / 1000
    };
    assert_eq!([0, 30, 90, 100].map(first), [0, 0, 2, 2]);
}
