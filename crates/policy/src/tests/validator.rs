//! The validator against the model: what it accepts never changes a read, and it refuses no more
//! than it must.

use super::*;
use proptest::prelude::*;

/// Whether a refusal is about the order of data, not about the plan's form.
fn is_about_order(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Passes { .. }
            | Refusal::Lands { .. }
            | Refusal::Crosses { .. }
            | Refusal::Collides { .. }
    )
}

/// The outcomes of a random walk.
#[derive(Debug, Default)]
struct Met {
    accepted: usize,
    accepted_merges: usize,
    accepted_pairs: usize,
    accepted_beside_running: usize,
    accepted_followers: usize,
    refused: usize,
}

/// Proposes plans, starts those that are accepted and, in a sparse tree, commits some groups. In a
/// dense tree a plan must be accepted exactly when every state is sound; in a sparse one, where
/// ranges overlap that share no key, only if.
fn walk(bytes: &[u8], dense: bool, met: &mut Met) {
    let mut dice = Dice(bytes.iter());
    let mut model = dice.tree(3, 2, 10, dense);
    let mut running = Running::default();
    for _ in 0..5 {
        let compaction = dice.compaction(&model);
        let mut groups: Vec<_> = running.groups().cloned().collect();
        let beside = groups.len();
        groups.extend(compaction.groups.clone());
        match validate(&model.shape, &running, &compaction) {
            Ok(()) => {
                assert!(model.all_sound(&groups), "accepted {groups:?} in {model:?}");
                met.accepted += 1;
                met.accepted_merges += usize::from(compaction.groups[0].inputs.len() > 1);
                met.accepted_pairs += usize::from(compaction.groups.len() > 1);
                let follows = compaction.groups.iter().any(|group| group.follows.is_some());
                met.accepted_followers += usize::from(follows);
                met.accepted_beside_running += usize::from(beside > 0);
                check_tombstones(&model, &groups);
                if groups.len() <= 5 {
                    running.compactions.push(compaction);
                }
            }
            Err(refusal) if dense && is_about_order(&refusal) => {
                assert!(!model.all_sound(&groups), "{refusal}: {groups:?} in {model:?}");
                met.refused += 1;
            }
            Err(_) => met.refused += 1,
        }
        if !dense && dice.below(2) == 0 {
            let count = running.compactions.len();
            if let Some(compaction) = running.compactions.get_mut(dice.below(count.max(1))) {
                let group = next_of(compaction, dice.below(compaction.groups.len()));
                if dice.below(4) == 0 {
                    let abandoned = with_followers(&group, &compaction.groups);
                    compaction.groups.retain(|group| !abandoned.contains(group));
                } else {
                    compaction.groups.retain(|other| *other != group);
                    model = model.commit(&group, true).unwrap();
                }
                running.compactions.retain(|c| !c.groups.is_empty());
            }
        }
    }
}

/// Checks that a group that may drop a tombstone leaves out no older version of the key that could
/// show then, whatever else has committed.
fn check_tombstones(model: &Model, groups: &[Group]) {
    let running = Running { compactions: vec![plan(groups.to_vec())] };
    for (number, group) in groups.iter().enumerate() {
        let mut rule = TombstoneRule::new(&model.shape, &running, group);
        for key in 0..10 {
            let versions = group.inputs.iter().filter_map(|id| model.held(*id).get(&key));
            let Some(oldest) = versions.flatten().min() else { continue };
            if !rule.may_drop(&key.to_be_bytes()) {
                continue;
            }
            for (done, state) in model.states(groups) {
                if done.contains(&number) {
                    let state = state.unwrap();
                    let mut all = state.versions(key).into_iter().flat_map(|(_, s)| s);
                    assert!(all.all(|s| s >= oldest), "{key} of {group:?} resurrects in {model:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn an_accepted_plan_changes_no_read_in_any_commit_order(
        bytes in proptest::collection::vec(any::<u8>(), 200)
    ) {
        walk(&bytes, false, &mut Met::default());
    }

    #[test]
    fn over_dense_tables_exactly_the_safe_plans_are_accepted(
        bytes in proptest::collection::vec(any::<u8>(), 200)
    ) {
        walk(&bytes, true, &mut Met::default());
    }
}

#[test]
fn random_plans_are_both_accepted_and_refused_often() {
    let mut met = Met::default();
    for seed in 0..500u64 {
        let mut state = seed;
        let mut byte = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let bytes: Vec<_> = (0..200).map(|_| byte()).collect();
        walk(&bytes, seed % 2 == 0, &mut met);
    }
    println!("{met:?}");
    assert!(met.accepted > 250 && met.refused > 250, "{met:?}");
    assert!(met.accepted_merges > 100 && met.accepted_pairs > 25, "{met:?}");
    assert!(met.accepted_beside_running > 50, "{met:?}");
    assert!(met.accepted_followers > 25, "{met:?}");
}
