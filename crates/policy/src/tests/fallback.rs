//! The fallback: legal beside any plan, and at rest once one run is left.

use super::executor::Executor;
use super::policies::configured::LEVELED;
use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn the_fallback_is_legal_beside_any_plan_and_ends_in_one_run(
        bytes in proptest::collection::vec(any::<u8>(), 400),
    ) {
        let mut dice = Dice(bytes.iter());
        let model = dice.tree(3, 4, 10, true);
        let adversarial = dice.compaction(&model);
        let mut executor = Executor::new(model, &mut dice);
        if validate(&executor.model.shape, &executor.running, &adversarial).is_ok() {
            executor.running.compactions.push(adversarial);
        }
        loop {
            let fresh = executor.model.fresh(&executor.running);
            match fallback(&executor.model.shape, &executor.running, fresh) {
                Some(Plan::Reshape(plan)) => panic!("{plan:?}"),
                Some(Plan::Compact(plan)) => {
                    let mut groups: Vec<_> = executor.running.groups().cloned().collect();
                    groups.extend(plan.groups.clone());
                    prop_assert!(executor.model.all_sound(&groups));
                    let runs = |shape: &Shape| shape.levels().iter().map(|l| l.runs.len()).sum::<usize>();
                    let before = runs(&executor.model.shape);
                    executor.model = executor.model.commit(&plan.groups[0], true).unwrap();
                    prop_assert!(runs(&executor.model.shape) < before);
                }
                None if executor.commit(&LEVELED) => {}
                None => break,
            }
        }
        let runs = executor.model.shape.levels().iter().map(|l| l.runs.len()).sum::<usize>();
        prop_assert!(runs <= 1);
    }
}

#[test]
fn the_fallback_waits_for_a_plan_that_writes_into_its_block() {
    let mut model = Model::default();
    let rising = model.write(1, 1, 4..6);
    model.write(0, 10, 0..2);
    model.write(0, 20, 8..10);
    let busy = Running { compactions: vec![plan(vec![move_to(&[rising], 0, 20)])] };
    assert_eq!(fallback(&model.shape, &busy, RunId(30)), None);
    assert!(fallback(&model.shape, &Running::default(), RunId(30)).is_some());
}
