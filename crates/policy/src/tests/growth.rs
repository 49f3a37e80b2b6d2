//! Horizontal growth and the stack policies: what they write and how many runs they leave, admission by
//! admission, against closed forms, against each other, and against the best of all sequences.

mod admissions;

use super::examples::{after, tree};
use super::*;
use crate::policies::{binomial, min_latency};
use crate::toolkit::stack::Stack;
use std::collections::HashMap;
use terrane_types::inputs_of;

/// B, in entries of one byte.
pub(super) const B: u64 = 16;

/// `C(n, k)`, by Pascal's triangle.
pub(super) fn choose(n: u64, k: u64) -> u64 {
    let mut row = vec![1u64];
    for _ in 0..n {
        let next = |i: usize| row.get(i).unwrap_or(&0) + i.checked_sub(1).map_or(0, |i| row[i]);
        row = (0..=row.len()).map(next).collect();
    }
    row.get(k as usize).copied().unwrap_or(0)
}

/// A plan's merge: the level that it ends in, and the shape that it was made for.
pub(super) struct Made {
    pub(super) level: usize,
    pub(super) before: Shape,
    /// Buffers in its output.
    pub(super) buffers: u64,
    /// Whether nothing was rewritten.
    pub(super) moved: bool,
}

/// A tree to which buffers are admitted one at a time, all over the same keys and none of them twice.
pub(super) struct Tree<'p> {
    pub(super) policy: &'p dyn Policy,
    pub(super) model: Model,
    pub(super) state: Vec<u8>,
    pub(super) buffers: u16,
    /// Observations given to each plan.
    pub(super) observed: Observed,
    /// Decisions of the policy.
    pub(super) told: Vec<Decision>,
}

impl<'p> Tree<'p> {
    pub(super) fn new(policy: &'p dyn Policy) -> Self {
        let state = policy.adopt(&Shape::default());
        let (model, observed) = (Model::default(), Observed::default());
        Tree { policy, model, state, buffers: 0, observed, told: Vec::new() }
    }

    pub(super) fn flush(&mut self, keys: impl IntoIterator<Item = u16>) {
        let run = self.model.fresh(&Running::default()).0;
        self.model.write(0, run, keys);
    }

    /// Follows the policy until it is idle.
    pub(super) fn rest(&mut self) -> Vec<Made> {
        let running = Running::default();
        let mut made = Vec::new();
        while let Some(plan) = propose(
            self.policy,
            &self.model.shape,
            &self.state,
            &running,
            self.model.fresh(&running),
        ) {
            assert_eq!(validate_plan(&self.model.shape, &running, &plan), Ok(()));
            let plan = match plan {
                Plan::Compact(plan) => plan,
                Plan::Reshape(Reshape { change, .. }) => {
                    let (before, observed) = (&self.model.shape, &Observed::default());
                    let installed = Installed { before, observed, step: Step::Reshape(change) };
                    self.state = self.policy.apply(&self.state, &installed);
                    self.model = self.model.reshape(change);
                    continue;
                }
            };
            let before = self.model.shape.clone();
            let moved = plan.groups.iter().all(|group| group.action == Action::Move);
            let inputs = before.find(inputs_of(&plan.groups).copied().collect());
            let buffers = inputs.iter().map(|placed| placed.table.bytes).sum::<u64>() / B;
            let level = plan.groups[0].destination.level;
            made.push(Made { level, before, buffers, moved });
            for (at, group) in plan.groups.iter().enumerate() {
                let ends = at + 1 == plan.groups.len();
                let step = Step::Group { group, outputs: &[], ends };
                let nothing = Observed::default();
                let observed = if at == 0 { &self.observed } else { &nothing };
                let installed = Installed { before: &self.model.shape, observed, step };
                self.told.extend(self.policy.decisions(&self.state, &installed));
                self.state = self.policy.apply(&self.state, &installed);
                self.model = self.model.commit(group, false).unwrap();
            }
        }
        made
    }

    /// One buffer more, of keys that no other has.
    pub(super) fn admit(&mut self) -> Made {
        let buffer = self.buffers;
        self.buffers += 1;
        self.flush((0..B as u16).map(|key| key * 256 + buffer));
        let mut made = self.rest();
        assert_eq!(made.len(), 1, "one plan an admission");
        made.remove(0)
    }

    /// Bytes of each run below level 0 in buffers, newest first.
    pub(super) fn runs(&self) -> Vec<u64> {
        self.levels().into_iter().flatten().collect()
    }

    /// The same, level by level from level 1 on.
    pub(super) fn levels(&self) -> Vec<Vec<u64>> {
        let runs = |level: &Level| level.runs.iter().map(|run| run.bytes() / B).collect();
        self.model.shape.levels().iter().skip(1).map(runs).collect()
    }
}

fn leveling(levels: u64) -> HorizontalLeveling {
    HorizontalLeveling {
        levels,
        level_base_bytes: B,
        target_file_bytes: u64::MAX,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    }
}

fn tiering(levels: u64, buffers: u64) -> HorizontalTiering {
    let (level_base_bytes, target_file_bytes) = (B, u64::MAX);
    HorizontalTiering {
        levels,
        data_bytes: buffers * B,
        level_base_bytes,
        target_file_bytes,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    }
}

fn min_latency(components: u64) -> MinLatency {
    MinLatency {
        components,
        level_base_bytes: B,
        target_file_bytes: u64::MAX,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    }
}

/// Returns the bytes that the cascade of this merge would write level by level: the admission joins
/// level 1, all of that level 2, and so forth.
fn level_by_level(made: &Made) -> u64 {
    let level = |level: &Level| level.bytes() / B;
    let sizes: Vec<u64> = made.before.levels().iter().skip(1).map(level).collect();
    (1..=made.level).map(|to| 1 + sizes.iter().take(to).sum::<u64>()).sum()
}

#[test]
fn horizontal_leveling_writes_what_both_closed_forms_say() {
    for l in 1..=4 {
        for k in 1..=5 {
            let policy = leveling(l);
            let mut tree = Tree::new(&policy);
            let made: Vec<_> = (0..choose(k + l - 1, l)).map(|_| tree.admit()).collect();
            let as_one: u64 = made.iter().map(|made| made.buffers).sum();
            let cascading: u64 = made.iter().map(level_by_level).sum();
            assert_eq!(cascading, l * choose(k + l, l + 1), "l = {l}, k = {k}");
            let spared = (l - 1) * choose(k + l - 1, l);
            assert_eq!(as_one, l * choose(k + l, l + 1) - spared, "l = {l}, k = {k}");
            if (l, k) == (3, 5) {
                assert_eq!((cascading, as_one), (210, 140));
            }
        }
    }
}

#[test]
fn two_leveled_levels_merge_after_1_3_6_10_and_15_admissions() {
    let policy = leveling(2);
    let mut tree = Tree::new(&policy);
    let fired = (1..=15).filter(|_| tree.admit().level == 2);
    assert_eq!(fired.collect::<Vec<_>>(), [1, 3, 6, 10, 15]);
}

#[test]
fn horizontal_leveling_makes_the_stacks_of_min_latency() {
    for l in 1..=5 {
        let (horizontal, stack) = (leveling(l), min_latency(l));
        let (mut a, mut b) = (Tree::new(&horizontal), Tree::new(&stack));
        for admission in 1..=100 {
            a.admit();
            b.admit();
            assert_eq!(a.runs(), b.runs(), "{l} levels, admission {admission}");
        }
    }
}

/// The recursion as it is written down.
fn index(d: u64, h: u64, r: u64) -> u64 {
    match r {
        0 => 0,
        _ if r < choose(d + h - 1, h) => index(d - 1, h, r),
        _ => 1 + index(d, h - 1, r - choose(d + h - 1, h)),
    }
}

#[test]
fn stack_policies_merge_from_the_index_that_the_recursion_gives() {
    for k in 1..=6u64 {
        let min_latency_sum = |d: u64| choose(d + k, d) - 1;
        let binomial_sum = |d: u64| (1..=d).map(|x| choose(x + x.min(k) - 1, x)).sum::<u64>();
        for t in 1..=60 {
            let d = (1..).find(|d| min_latency_sum(*d) >= t).unwrap();
            let i = index(d, k - 1, t - min_latency_sum(d - 1) - 1);
            assert_eq!(min_latency::merges_from(k, t), i, "minlatency, k = {k}, t = {t}");
            let d = (1..).find(|d| binomial_sum(*d) >= t).unwrap();
            let i = index(d, d.min(k) - 1, t - binomial_sum(d - 1) - 1);
            assert_eq!(binomial::merges_from(k, t), i, "binomial, k = {k}, t = {t}");
        }
    }
}

/// The sequences that the literature prints.
#[test]
fn stack_policies_merge_from_the_published_indices() {
    let sequence = |i: &dyn Fn(u64) -> u64, n: u64| (1..=n).map(i).collect::<Vec<_>>();
    let of_min_latency = |k| sequence(&move |t| min_latency::merges_from(k, t), 20);
    let of_binomial = |k| sequence(&move |t| binomial::merges_from(k, t), 15);
    assert_eq!(of_min_latency(2)[..10], [0, 1, 0, 1, 1, 0, 1, 1, 1, 0]);
    assert_eq!(of_min_latency(3), [0, 1, 2, 0, 1, 2, 1, 2, 2, 0, 1, 2, 1, 2, 2, 1, 2, 2, 2, 0]);
    assert_eq!(of_binomial(2)[..14], [0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0]);
    assert_eq!(of_binomial(3), [0, 0, 1, 1, 0, 1, 2, 1, 2, 2, 1, 2, 2, 2, 0]);
}

#[test]
fn a_stack_has_as_many_runs_as_its_index_says() {
    for k in 1..=4 {
        let (level_base_bytes, target_file_bytes) = (B, u64::MAX);
        let binomial = Binomial {
            components: k,
            level_base_bytes,
            target_file_bytes,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        };
        let min_latency = min_latency(k);
        let policies: [&dyn Policy; 2] = [&binomial, &min_latency];
        let indices = [binomial::merges_from, min_latency::merges_from];
        for (policy, merges_from) in policies.into_iter().zip(indices) {
            let mut tree = Tree::new(policy);
            for t in 1..=60 {
                tree.admit();
                assert_eq!(tree.runs().len() as u64, merges_from(k, t) + 1, "{}", policy.name());
            }
        }
    }
}

/// Runs present after each admission but the last, summed.
fn runs_seen(tree: &mut Tree, admissions: u64) -> u64 {
    let mut seen = 0;
    for admission in 1..=admissions {
        tree.admit();
        seen += if admission < admissions { tree.runs().len() as u64 } else { 0 };
    }
    seen
}

/// The runs of each level, a byte each, from level 1 at the lowest on.
type Runs = u32;

/// Adds the runs that merges can make of each level: any levels a to b-1 become one run of b, any number
/// of times.
fn merges(runs: Runs, levels: u32, met: &mut Vec<Runs>) {
    if met.contains(&runs) {
        return;
    }
    met.push(runs);
    for a in (0..levels).filter(|a| runs >> (8 * a) & 0xff > 0) {
        for b in a + 1..levels {
            let kept = ((1 << (8 * a)) - 1) | (u32::MAX << (8 * b));
            merges((runs & kept) + (1 << (8 * b)), levels, met);
        }
    }
}

/// The fewest runs that any sequence of merges sees, for each number of admissions from 1 to `most`.
fn fewest_runs_seen(most: u64, levels: u32) -> Vec<u64> {
    let mut states: HashMap<Runs, u64> = HashMap::from([(0, 0)]);
    let (mut fewest, mut met) = (Vec::new(), Vec::new());
    for _ in 1..=most {
        fewest.push(*states.values().min().unwrap());
        let mut next = HashMap::new();
        for (runs, seen) in states {
            met.clear();
            merges(runs + 1, levels, &mut met);
            for runs in &met {
                let seen = seen + runs.to_le_bytes().map(u64::from).iter().sum::<u64>();
                let least = next.entry(*runs).or_insert(seen);
                *least = seen.min(*least);
            }
        }
        states = next;
    }
    fewest
}

#[test]
fn horizontal_tiering_sees_the_fewest_runs_of_all_sequences() {
    for l in 1..=4u64 {
        let rounds: Vec<_> = (1..).map(|k| choose(k + l - 1, l)).take_while(|n| *n <= 60).collect();
        let fewest = fewest_runs_seen(*rounds.last().unwrap(), l as u32);
        for (k, admissions) in (1..).zip(rounds) {
            let policy = tiering(l, admissions);
            let seen = runs_seen(&mut Tree::new(&policy), admissions);
            assert_eq!(seen, l * choose(k + l - 1, l + 1), "l = {l}, k = {k}");
            assert_eq!(seen, fewest[admissions as usize - 1], "{admissions} in {l} levels");
        }
    }
}

#[test]
fn horizontal_tiering_has_as_many_runs_as_were_counted_down() {
    for (l, k) in [(2, 5), (3, 4), (4, 3)] {
        let admissions = choose(k + l - 1, l);
        let policy = tiering(l, admissions);
        let mut tree = Tree::new(&policy);
        for _ in 1..admissions {
            tree.admit();
            let first = u64::from_le_bytes(tree.state[1..9].try_into().unwrap());
            assert_eq!(tree.runs().len() as u64, k - first);
        }
    }
}

/// Figure 5 of Vertiorizon's paper: two levels, counters from 3. And three levels, counters from 2.
#[test]
fn tiered_levels_are_merged_ever_more_often() {
    let two = tiering(2, 6);
    let mut tree = Tree::new(&two);
    let fired = (1..=6).filter(|_| tree.admit().level == 2);
    assert_eq!(fired.collect::<Vec<_>>(), [3, 5, 6]);
    let three = tiering(3, 4);
    let mut tree = Tree::new(&three);
    let levels: Vec<_> = (0..4).map(|_| tree.admit().level).collect();
    assert_eq!(levels, [1, 2, 3, 3]);
}

/// Lookups of each level's runs, with one lookup for each of the 10 MB of a buffer, when level 1 goes
/// into level 2 after these numbers of buffers.
fn lookups(buffers: u64, merges_after: &[u64]) -> (u64, u64) {
    let (mut upper, mut lower, mut seen) = (0, 0, (0, 0));
    for buffer in 1..buffers {
        upper += 1;
        if merges_after.contains(&buffer) {
            (upper, lower) = (0, lower + 1);
        }
        seen = (seen.0 + 10 * upper, seen.1 + 10 * lower);
    }
    seen
}

/// Figure 4 of Vertiorizon's paper.
#[test]
fn three_merges_of_60_mb_cost_least_at_30_20_and_10() {
    assert_eq!(lookups(6, &[2, 4, 6]), (30, 40 + 20));
    assert_eq!(lookups(6, &[6]), (150, 0));
    let policy = tiering(2, 6);
    let mut tree = Tree::new(&policy);
    let mut seen = (0, 0);
    for buffer in 1..=6 {
        tree.admit();
        let levels = tree.levels();
        let runs = |level: usize| 10 * levels.get(level).map_or(0, |runs| runs.len() as u64);
        if buffer < 6 {
            seen = (seen.0 + runs(0), seen.1 + runs(1));
        }
    }
    assert_eq!(seen, (40, 30 + 10));
    assert_eq!(seen, lookups(6, &[3, 5, 6]));
}

#[test]
fn at_zero_counters_runs_stay_and_a_larger_round_starts() {
    let policy = tiering(2, 6);
    let mut tree = Tree::new(&policy);
    (0..6).for_each(|_| drop(tree.admit()));
    assert_eq!(tree.levels(), [vec![], vec![1, 2, 3]]);
    // C(5 + 1, 2) are 15, at least 12; C(4 + 1, 2) are 10.
    let fired: Vec<_> = (1..=15).filter(|_| tree.admit().level == 2).collect();
    assert_eq!(fired, [5, 9, 12, 14, 15]);
    assert_eq!(tree.levels(), [vec![], vec![1, 2, 3, 4, 5, 1, 2, 3]]);
}

#[test]
fn undeclared_data_is_what_is_present() {
    let policy = HorizontalTiering { data_bytes: 0, ..tiering(2, 1) };
    let mut tree = Tree::new(&policy);
    // Rounds for one buffer, then for twice as many as there are: of 1, then C(3, 2), then C(5, 2).
    let fired: Vec<_> = (1..=14).filter(|_| tree.admit().level == 2).collect();
    assert_eq!(fired, [1, 3, 4, 8, 11, 13, 14]);
    // What is declared goes over what is present.
    let mut model = Model::default();
    model.write(1, 1, 0..7 * B as u16);
    let begins = |policy| numbers(&policy, &model.shape, &[]);
    let declared = |buffers| numbers(&tiering(2, buffers), &Shape::default(), &[]);
    assert_eq!(begins(policy), declared(7));
    assert_eq!(begins(tiering(2, 1)), declared(1));
}

/// Returns the numbers that a policy reports of a tree.
fn numbers(policy: &dyn Policy, shape: &Shape, state: &[u8]) -> Vec<(&'static str, Of, u64)> {
    let number = |fact| match fact {
        Fact::Number { name, of, value, .. } => (name, of, value),
        Fact::Key { .. } => panic!("{fact:?}"),
    };
    policy.status(shape, state).facts.into_iter().map(number).collect()
}

#[test]
fn counters_and_admissions_can_be_asked_for() {
    let numbers = |policy: &dyn Policy| numbers(policy, &Shape::default(), &[]);
    let counters = |of: [u64; 2]| [1, 2].map(|l| ("counter", Of::Levels(l, l), of[l - 1]));
    // C(3+2-1, 2) is 6: with 7 buffers k is 4.
    assert_eq!(numbers(&tiering(2, 6)), counters([3, 3]));
    assert_eq!(numbers(&tiering(2, 7)), counters([4, 4]));
    assert_eq!(numbers(&leveling(2)), counters([0, 0]));
    assert_eq!(numbers(&min_latency(3)), [("admissions", Of::Tree, 0)]);
}

#[test]
fn what_is_united_from_deeper_levels_loses_its_tombstones_there() {
    let mut model = Model::default();
    model.write(3, 1, 0..16);
    for (tombstones, is_rewritten) in [(4, false), (5, true)] {
        let shape = with_tombstones(&model.shape, tombstones);
        let plan = propose(&leveling(2), &shape, &[], &Running::default(), RunId(9));
        let Some(Plan::Compact(plan)) = plan else { panic!("level 3 is none of two") };
        assert_eq!(plan.groups[0].destination.level, 2);
        assert_eq!(plan.groups[0].action != Action::Move, is_rewritten, "{tombstones}");
    }
}

/// Merges everything from this component of a stack up.
struct MergesFrom(u64);

impl Policy for MergesFrom {
    fn name(&self) -> &'static str {
        "merges-from"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let stack = Stack { level_base_bytes: B, target_file_bytes: B, components: 9 };
        stack.plan(context, |_| self.0)
    }
}

#[test]
fn a_stack_rewrites_tombstone_rich_data_in_its_oldest_component() {
    for (components, from, is_oldest) in
        [(0, 0, true), (1, 0, true), (1, 1, false), (2, 0, true), (2, 1, false), (2, 2, false)]
    {
        let mut model = Model::default();
        for component in 0..components {
            model.write(1, 1 + component, [900 + component as u16]);
        }
        let alone = model.write(0, 9, 0..B as u16);
        let shape = with_tombstones(&model.shape, B);
        let running = Running::default();
        let next = propose(&MergesFrom(from), &shape, &[], &running, model.fresh(&running));
        let Some(Plan::Compact(next)) = next else { panic!("it is admitted") };
        let group = next.groups.iter().find(|group| group.inputs.contains(&alone)).unwrap();
        assert_eq!(group.action != Action::Move, is_oldest, "{from} of {components}");
    }
}
