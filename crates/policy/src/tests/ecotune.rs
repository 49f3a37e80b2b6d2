//! Rounds of merges: the dynamic program beside an exhaustive search, and what it decides for a mix.

use super::policies::growing::ECOTUNE;
use super::*;
use crate::policies::ecotune::model::{Costs, Rounds};

/// Returns the least cost of `arrivals` arrivals, trying every choice of each.
fn exhaustive(costs: Costs, stack: &[f64], arrivals: usize) -> f64 {
    if arrivals == 0 {
        return 0.0;
    }
    let merged_from = |from: usize| {
        let (left, taken) = stack.split_at(from);
        let size = taken.iter().sum::<f64>() + 1.0;
        let merge = if taken.is_empty() { 0.0 } else { size * costs.unit };
        let after = [left, &[size]].concat();
        merge + after.len() as f64 * costs.run + exhaustive(costs, &after, arrivals - 1)
    };
    (0..=stack.len()).map(merged_from).fold(f64::INFINITY, f64::min)
}

/// Decides about each arrival as the policy does, and returns the cost.
fn decided(costs: Costs, stack: &[f64], arrivals: usize) -> f64 {
    let rounds = Rounds::new(costs, arrivals);
    let (mut stack, mut cost) = (stack.to_vec(), 0.0);
    for left in (1..=arrivals).rev() {
        let merged =
            rounds.choices(&stack, left).last().filter(|last| last.now < last.later).copied();
        let from = merged.map_or(stack.len(), |choice| choice.run);
        let taken = stack.split_off(from);
        let size = taken.iter().sum::<f64>() + 1.0;
        cost += if taken.is_empty() { 0.0 } else { size * costs.unit };
        stack.push(size);
        cost += stack.len() as f64 * costs.run;
    }
    cost
}

const COSTS: [(f64, f64); 7] =
    [(1.0, 0.0), (0.0, 1.0), (1.0, 0.1), (1.0, 0.4), (1.0, 1.0), (1.0, 2.5), (0.3, 7.0)];

const STACKS: [&[f64]; 7] =
    [&[], &[1.0], &[3.0], &[9.0, 2.0], &[4.0, 1.0, 1.0], &[1.0, 5.0, 0.5], &[0.2, 0.2, 0.2, 8.0]];

#[test]
fn no_sequence_of_merges_costs_less() {
    for (run, unit) in COSTS {
        let costs = Costs { run, unit };
        for stack in STACKS {
            for arrivals in 0..=7 - stack.len() {
                let least = exhaustive(costs, stack, arrivals);
                // The runs that are there cost the same whatever is merged with them, while they are there.
                let found = Rounds::new(costs, arrivals).cost(stack, arrivals);
                assert!(
                    (found - least).abs() < 1e-9,
                    "{costs:?}, {stack:?}, {arrivals}: {found}, {least}"
                );
                let found = decided(costs, stack, arrivals);
                assert!(
                    (found - least).abs() < 1e-2,
                    "{costs:?}, {stack:?}, {arrivals}: {found}, {least}"
                );
            }
        }
    }
}

#[test]
fn a_long_round_costs_what_deciding_at_each_arrival_does() {
    for (run, unit) in COSTS {
        let costs = Costs { run, unit };
        for arrivals in [20, 60] {
            let planned = Rounds::new(costs, arrivals).cost(&[], arrivals);
            let found = decided(costs, &[], arrivals);
            assert!((found - planned).abs() <= 1e-3 * planned, "{costs:?}: {found}, {planned}");
        }
    }
}

#[test]
fn dearer_runs_are_fewer_and_rounds_for_them_shorter() {
    let runs = |run| {
        let rounds = Rounds::new(Costs { run, unit: 1.0 }, 64);
        let (mut stack, mut all) = (Vec::<f64>::new(), 0);
        for left in (1..=64).rev() {
            let last = rounds.choices(&stack, left).last().filter(|c| c.now < c.later).copied();
            let taken = stack.split_off(last.map_or(stack.len(), |choice| choice.run));
            stack.push(taken.iter().sum::<f64>() + 1.0);
            all += stack.len();
        }
        (all, rounds.best(64, 200.0))
    };
    let all: Vec<_> = [0.01, 0.1, 1.0, 10.0, 100.0].into_iter().map(runs).collect();
    assert!(all.windows(2).all(|two| two[0].0 > two[1].0 && two[0].1 >= two[1].1), "{all:?}");
    assert_eq!(all[0].0, 64 * 65 / 2, "nothing is merged");
    assert_eq!(all[4].0, 64, "everything is");
}

#[test]
fn admissions_that_shrink_end_a_round_by_their_number() {
    // A window of updates alone, and of costs that nothing measured.
    let numbers = [1000u64, 0, 0, 0, 0];
    let state = [&[0][..], numbers.map(u64::to_le_bytes).as_flattened()].concat();
    let mut model = Model::default();
    model.write(2, 1, 0..300);
    let (mut most, mut ended) = (0, 0);
    for _ in 0..60 {
        for _ in 0..3 {
            let run = model.fresh(&Running::default()).0;
            model.write(0, run, 0..3);
        }
        loop {
            let running = Running::default();
            let fresh = model.fresh(&running);
            let Some(plan) = propose(&ECOTUNE, &model.shape, &state, &running, fresh) else {
                break;
            };
            validate_plan(&model.shape, &running, &plan).unwrap();
            model = model.follow(&plan);
            let runs = model.shape.levels()[1].runs.len();
            ended += u64::from(most > 0 && runs == 0);
            most = most.max(runs);
        }
    }
    // Rounds of 8, with 9 bytes for each admission and 3 when it is merged.
    assert_eq!((most, ended), (16, 3));
    assert!(model.is_sound());
}
