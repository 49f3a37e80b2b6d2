//! Admissions to policies of horizontal growth: what counts as one, and trees that they adopt.

use super::*;

/// The policies that admit.
fn admitting() -> [Box<dyn Policy>; 4] {
    let (level_base_bytes, target_file_bytes) = (B, u64::MAX);
    [
        Box::new(leveling(3)),
        Box::new(tiering(3, 40)),
        Box::new(min_latency(3)),
        Box::new(Binomial {
            components: 3,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }),
    ]
}

#[test]
fn flushes_that_waited_are_admitted_one_buffer_at_a_time() {
    for policy in admitting() {
        let mut tree = Tree::new(&*policy);
        for buffer in 0..5 {
            tree.flush((0..B as u16).map(|key| key * 256 + buffer));
        }
        let merges = tree.rest();
        assert_eq!(merges.len(), 5, "{}", policy.name());
        let mut other = Tree::new(&*policy);
        (0..5).for_each(|_| drop(other.admit()));
        assert_eq!(tree.runs(), other.runs(), "{}", policy.name());
        assert_eq!(tree.state, other.state, "{}", policy.name());
    }
}

#[test]
fn tiny_flushes_count_once_together() {
    for policy in admitting() {
        let mut tree = Tree::new(&*policy);
        for key in 0..4 * B as u16 {
            tree.flush([key * 7 % 64]);
            tree.rest();
        }
        let mut other = Tree::new(&*policy);
        // Three quarters of a buffer are admitted.
        (0..5).for_each(|_| drop(other.admit()));
        assert_eq!(tree.state, other.state, "{}", policy.name());
    }
}

#[test]
fn an_admission_of_several_groups_counts_once() {
    let vertiorizon: Box<dyn Policy> = Box::new(Vertiorizon {
        levels: 3,
        merge_policy: MergeChoice::Leveling,
        level_base_bytes: B,
        target_file_bytes: u64::MAX,
        ..Vertiorizon::default()
    });
    for policy in admitting().into_iter().chain([vertiorizon]) {
        let mut tree = Tree::new(&*policy);
        let state = tree.state.clone();
        // Two tables: one overlaps a run below, the other moves.
        tree.flush(0..16);
        tree.rest();
        let run = tree.model.fresh(&Running::default()).0;
        tree.model.write(0, run, 0..8);
        tree.model.write(0, run, 100..108);
        tree.rest();
        let mut other = Tree::new(&*policy);
        (0..2).for_each(|_| drop(other.admit()));
        assert_eq!(tree.state, other.state, "{}", policy.name());
        assert_ne!(tree.state, state);
    }
}

#[test]
fn an_adopted_tree_continues_as_one_of_its_sizes() {
    for l in 1..=3 {
        let policy = leveling(l);
        let mut tree = Tree::new(&policy);
        for _ in 0..40 {
            tree.admit();
            let counters = |state: &[u8]| -> Vec<u64> {
                let numbers = numbers(&policy, &tree.model.shape, state);
                numbers.into_iter().map(|(_, _, value)| value).collect()
            };
            let (kept, adopted) = (counters(&tree.state), counters(&[]));
            // The last counter is exact while the levels above it are empty.
            assert!(adopted.is_sorted(), "{adopted:?}");
            if tree.runs().len() == 1 {
                assert_eq!(kept, adopted);
            }
        }
    }
}

#[test]
fn admissions_are_counted_not_the_bytes_left_by_overwriting() {
    let binomial = Binomial {
        components: 3,
        level_base_bytes: B,
        target_file_bytes: u64::MAX,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    for policy in [&min_latency(3) as &dyn Policy, &binomial] {
        let mut tree = Tree::new(policy);
        for t in 1..=20 {
            tree.flush(0..B as u16);
            tree.rest();
            let admissions = numbers(policy, &tree.model.shape, &tree.state);
            assert_eq!(admissions, [("admissions", Of::Tree, t)], "{}", policy.name());
        }
    }
    let policy = leveling(2);
    let (mut tree, mut other) = (Tree::new(&policy), Tree::new(&policy));
    for _ in 0..20 {
        tree.flush(0..B as u16);
        tree.rest();
        other.admit();
        let counters = |tree: &Tree| numbers(&policy, &tree.model.shape, &tree.state);
        assert_eq!(counters(&tree), counters(&other));
    }
}

#[test]
fn another_policys_tree_counts_an_admission_for_each_buffer() {
    let mut model = Model::default();
    model.write(1, 1, 0..5 * B as u16 + 1);
    assert_eq!(numbers(&min_latency(3), &model.shape, &[]), [("admissions", Of::Tree, 6)]);
}

#[test]
fn two_runs_of_a_level_become_one_of_the_last() {
    let united = after(&leveling(2), &tree(&[&[], &[16, 16]]));
    assert_eq!(united, [vec![], vec![], vec![16]]);
}

#[test]
fn a_tree_about_to_become_one_run_of_the_last_level_counts_so() {
    let mut model = Model::default();
    model.write(3, 1, 0..6 * B as u16);
    let counters = numbers(&leveling(2), &model.shape, &[]);
    let counters: Vec<_> = counters.into_iter().map(|(_, _, value)| value).collect();
    // Level 2 holds C(c + 1, 2) buffers after c arrivals.
    let arrivals = (1..).find(|c| choose(c + 1, 2) >= 6).unwrap();
    assert_eq!(counters, [0, arrivals]);
}
