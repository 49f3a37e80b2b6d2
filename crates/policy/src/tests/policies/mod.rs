//! The policies from any shape, and under load: every plan is legal, they become idle, and then
//! their invariants hold.

mod cases;
pub(super) mod configured;
pub(super) mod invariants;

use super::executor::Executor;
use super::*;
use configured::*;
use proptest::prelude::*;

pub(super) use cases::policies;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_becomes_idle_from_any_shape(
        bytes in proptest::collection::vec(any::<u8>(), 2000),
        order in proptest::collection::vec(0..policies().len(), 3),
    ) {
        let mut dice = Dice(bytes.iter());
        let model = dice.tree(5, 5, 120, true);
        let mut executor = Executor::new(model, &mut dice);
        let policies = policies();
        for (policy, check) in order.into_iter().map(|i| &policies[i]) {
            executor.state = policy.adopt(&executor.model.shape);
            executor.rest(&**policy);
            check(&executor.model.shape);
        }
    }

    #[test]
    fn plans_stay_legal_under_load_and_bounds_hold_when_idle(
        bytes in proptest::collection::vec(any::<u8>(), 2000),
        which in 0..policies().len(),
    ) {
        let (policy, check) = policies().swap_remove(which);
        let policy = &*policy;
        let mut dice = Dice(bytes.iter());
        let mut executor = Executor::new(Model::default(), &mut dice);
        for _ in 0..60 {
            executor.flush();
            for _ in 0..executor.dice.below(6) {
                executor.step(policy);
            }
        }
        executor.rest(policy);
        check(&executor.model.shape);
    }
}

/// Loads flushes of `flush` keys each, until the tree is idle after each one.
pub(super) fn load(
    policy: &dyn Policy,
    flushes: u16,
    keys_of: impl Fn(u16) -> Vec<u16>,
) -> (Model, u64) {
    let mut model = Model::default();
    let mut written = 0;
    for flush in 0..flushes {
        let run = model.fresh(&Running::default()).0;
        model.write(0, run, keys_of(flush));
        loop {
            let running = Running::default();
            let fresh = model.fresh(&running);
            let Some(plan) = propose(policy, &model.shape, &[], &running, fresh) else { break };
            let before = model.last_table;
            model = model.follow(&plan);
            let new = model.data.iter().filter(|(id, _)| id.0 > before);
            written += new.map(|(_, v)| v.len() as u64).sum::<u64>();
        }
    }
    (model, written)
}

#[test]
fn overwriting_the_same_keys_adds_no_level_to_either_tree() {
    for (policy, check) in policies() {
        let (model, _) = load(&*policy, 200, |f| (0..12).map(|k| f % 4 * 12 + k).collect());
        // Horizontal growth has all its levels at once, Vertiorizon two more.
        let most = match policy.name() {
            "horizontal-leveling" | "horizontal-tiering" => 3,
            "vertiorizon" => 4,
            // What it holds twice in the deepest level stays there until it is read: 2400 bytes here,
            // which fit into level 6.
            "ptier" => 6,
            _ => 2,
        };
        assert!(model.shape.deepest() <= most, "{}: {:?}", policy.name(), model.shape);
        check(&model.shape);
    }
}

#[test]
fn full_merges_add_a_level_even_while_level_0_has_runs() {
    for policy in [&LEVELED_FULL as &dyn Policy, &TIERED_FULL] {
        let mut model = Model::default();
        model.write(1, 1, 0..36);
        model.write(0, 2, 0..12);
        let running = Running::default();
        let plan = propose(policy, &model.shape, &[], &running, model.fresh(&running));
        assert!(matches!(plan, Some(Plan::Reshape(_))), "{}: {plan:?}", policy.name());
    }
}

#[test]
fn tiering_writes_an_entry_about_once_a_level_leveling_more() {
    let scattered =
        |f: u16| (0..12).map(|k| (u32::from(f * 12 + k) * 3203 % 8009) as u16).collect();
    let (model, tiered) = load(&TIERED, 200, scattered);
    let levels = model.shape.deepest() as u64;
    assert!(tiered <= 2400 * levels, "{tiered} in {levels} levels");
    let (_, leveled) = load(&LEVELED, 200, scattered);
    assert!(leveled > tiered, "{leveled} {tiered}");
}
