//! The adversarial policy proposes harm of every kind, and the validator withstands it.

use super::*;
use proptest::prelude::*;

/// Number of times that each outcome occurred.
#[derive(Debug, Default)]
struct Met {
    nothing: usize,
    accepted: usize,
    reshaped: usize,
    refused: BTreeMap<String, usize>,
}

fn walk(seed: u64, bytes: &[u8], met: &mut Met) {
    let policy = Adversarial { seed };
    let mut dice = Dice(bytes.iter());
    let mut model = dice.tree(3, 3, 12, true);
    let mut running = Running::default();
    for _ in 0..12 {
        let fresh = model.fresh(&running);
        let mut groups: Vec<_> = running.groups().cloned().collect();
        match propose(&policy, &model.shape, &[], &running, fresh) {
            None => met.nothing += 1,
            Some(plan) => match validate_plan(&model.shape, &running, &plan) {
                Ok(()) => {
                    met.accepted += 1;
                    match plan {
                        Plan::Compact(plan) if groups.len() + plan.groups.len() <= 6 => {
                            groups.extend(plan.groups.clone());
                            running.compactions.push(plan);
                        }
                        Plan::Compact(_) => {}
                        Plan::Reshape(plan) => {
                            model = model.reshape(plan.change);
                            met.reshaped += 1;
                        }
                    }
                    assert!(model.all_sound(&groups), "{groups:?} in {model:?}");
                }
                Err(refusal) => {
                    let kind = format!("{refusal:?}");
                    let name = kind.split([' ', '{']).next().unwrap_or_default();
                    *met.refused.entry(name.to_owned()).or_default() += 1;
                }
            },
        }
        let count = running.compactions.len();
        if dice.below(2) == 0
            && let Some(compaction) = running.compactions.get_mut(dice.below(count.max(1)))
        {
            let group = next_of(compaction, dice.below(compaction.groups.len()));
            compaction.groups.retain(|other| *other != group);
            running.compactions.retain(|c| !c.groups.is_empty());
            model = model.commit(&group, true).unwrap();
        }
        if dice.below(3) == 0 {
            model.write(0, model.fresh(&running).0, 0..4);
        }
    }
    assert!(model.is_sound());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn accepted_adversarial_plans_change_no_read(
        seed: u64,
        bytes in proptest::collection::vec(any::<u8>(), 300),
    ) {
        walk(seed, &bytes, &mut Met::default());
    }
}

#[test]
fn plans_of_every_kind_come_up() {
    let mut met = Met::default();
    for seed in 0..1500u64 {
        let bytes: Vec<_> =
            (0..300).map(|i| crate::toolkit::pick::mix(seed << 16 | i) as u8).collect();
        walk(seed, &bytes, &mut met);
    }
    assert!(met.nothing > 1000 && met.accepted > 1000 && met.reshaped > 50, "{met:?}");
    for kind in [
        "Levels",
        "Shifts",
        "NoInputs",
        "Stays",
        "Cuts",
        "TooDeep",
        "RunElsewhere",
        "Missing",
        "Taken",
        "Passes",
        "Lands",
        "Crosses",
        "Collides",
    ] {
        assert!(met.refused.get(kind).is_some_and(|n| *n > 5), "{kind}: {met:?}");
    }
}
