//! A policy that proposes anything, to test that validator, engine and recovery withstand it.
//!
//! Every proposal is drawn from the seed and from the planner's input, so the same tree always gets
//! the same proposal:
//!
//! 1. Nothing, one time in four, unless runs pile up in level 0.
//! 2. A plan of one of the real policies, with parameters that make it act.
//! 3. Such a plan, corrupted: an input left out, used twice or taken from a running plan; another
//!    destination; a merge split in two or turned into a move; cuts that do not ascend.
//! 4. Random groups: any inputs, including taken or missing ones, in any order, to any place, some
//!    after another group.
//! 5. A level added or dropped anywhere.
//!
//! Flushes are cut at any keys, sometimes not ascending. Its state is random bytes.

use super::lazy_leveled::LazyLeveled;
use super::leveled::Leveled;
use super::tiered::Tiered;
use super::universal::Universal;
use crate::context::{KeySample, PlanContext};
use crate::policy::{Installed, Policy, Step};
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef};
use crate::toolkit::pick::{Pick, mix};
use std::sync::Arc;
use terrane_types::{
    Action, Compaction, Destination, FilterBits, FlushPlan, Group, LevelChange, MAX_LEVELS, Order,
    Plan, Reshape, RunId, Shape, TableId, TableInfo,
};

/// Runs in level 0 at which something is always proposed.
const PILE: usize = 4;

/// Levels are added, and random groups write, at levels above this one; some slip a little below.
const DEPTH: usize = 8;

/// The adversarial policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adversarial {
    /// The seed of all proposals.
    pub seed: u64,
}

impl Policy for Adversarial {
    fn name(&self) -> &'static str {
        "adversarial"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let mut draw = Draw::new(self.seed, context);
        let piled = context.shape.levels().first().is_some_and(|l| l.runs.len() >= PILE);
        if draw.one_in(4) && !piled {
            return None;
        }
        let mut plan = match draw.below(4) {
            0 => return real(&mut draw, context),
            1 => match real(&mut draw, context)? {
                Plan::Compact(compaction) => compaction,
                reshape @ Plan::Reshape(_) => return Some(reshape),
            },
            2 if !piled => return Some(levels(&mut draw, context.shape).into()),
            _ => random(&mut draw, context),
        };
        spoil(&mut draw, &mut plan, context);
        Some(plan.into())
    }

    fn plans_flushes(&self) -> bool {
        true
    }

    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        let mut draw = Draw::new(self.seed ^ sealed.entries, context);
        let mut cuts: Vec<_> = (sealed.keys.iter()).filter(|_| draw.one_in(4)).cloned().collect();
        if draw.one_in(4) {
            cuts.reverse();
        }
        let filter_bits = draw.filter_bits();
        FlushPlan { cuts, filter_bits, reason: "drawn at random".into() }
    }

    fn watches_reads(&self) -> bool {
        true
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let made = match installed.step {
            Step::Flush { tables, .. } => tables.len(),
            Step::Group { outputs, .. } => outputs.len(),
            Step::Reshape(change) => change.level(),
        };
        let mut draw = Draw(mix(self.seed ^ made as u64));
        let length = draw.below(40);
        state.iter().copied().take(10).chain((0..length).map(|_| draw.next() as u8)).collect()
    }

    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        shape.tables().map(|(level, _, t)| level as u8 ^ t.id.0 as u8).take(100).collect()
    }
}

impl Described for Adversarial {
    fn is_preset(&self) -> bool {
        false
    }

    fn summary(&self) -> &'static str {
        "Proposes anything, legal or not, to test what must withstand it."
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![ParameterRef::number("seed", "seed of all draws", (0, u64::MAX), &mut self.seed)]
    }
}

/// A stream of random numbers.
struct Draw(u64);

impl Draw {
    fn new(seed: u64, context: &PlanContext) -> Self {
        let PlanContext { shape, running, .. } = context;
        let tables = shape.tables().map(|(level, run, t)| t.id.0 ^ mix(run.0 ^ mix(level as u64)));
        let held = running.groups().flat_map(|g| &g.inputs).map(|id| mix(id.0));
        Draw(tables.chain(held).fold(mix(seed), |hash, value| mix(hash ^ value)))
    }

    fn next(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    /// A number below `n`; 0 if there is none.
    fn below(&mut self, n: usize) -> usize {
        let drawn = self.next().checked_rem(n as u64).unwrap_or(0);
        usize::try_from(drawn).unwrap_or(0)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Up to 20 bits, in fractions, none at all, or the store's.
    fn filter_bits(&mut self) -> Option<FilterBits> {
        let thousandths = self.below(20_000) as u32;
        let bits = if self.one_in(4) { 0 } else { thousandths };
        (!self.one_in(3)).then(|| FilterBits::from_thousandths(bits))
    }

    /// Keys that divide a merge among workers; seldom some of a move, or out of order.
    fn parts(&mut self, action: &Action) -> Vec<Vec<u8>> {
        if *action == Action::Move && !self.one_in(64) {
            return Vec::new();
        }
        let count = if self.one_in(2) { 0 } else { self.below(4) };
        let mut parts: Vec<_> = (0..count).map(|_| vec![self.below(256) as u8]).collect();
        if !self.one_in(16) {
            parts.sort();
            parts.dedup();
        }
        parts
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len());
        from.get(at)
    }
}

/// The plan of a real policy, with parameters small enough to act on this tree.
fn real(draw: &mut Draw, context: &PlanContext) -> Option<Plan> {
    let level_base_bytes = (context.shape.bytes() / (1 << draw.below(8))).max(1);
    let target_file_bytes = (level_base_bytes / 2).max(1);
    let l0_compaction_trigger = 1 + draw.below(3) as u64;
    let leveled = Leveled {
        size_ratio: 2,
        level_base_bytes,
        target_file_bytes,
        l0_compaction_trigger,
        dynamic_level_bytes: draw.one_in(2),
        pick: Pick::Random,
        seed: draw.next(),
        filters: Filters::Uniform,
        max_subcompactions: 1,
        pipelined: false,
        merge_waiting: true,
        partitioning: crate::Partitioning::DEFAULT,
    };
    let lazy = LazyLeveled {
        size_ratio: 2,
        level_base_bytes,
        target_file_bytes,
        l0_compaction_trigger,
        dynamic_level_bytes: draw.one_in(2),
        leveled_levels: 1,
        filters: Filters::Uniform,
    };
    let tiered = Tiered { size_ratio: 2, level_base_bytes, target_file_bytes, ..Tiered::default() };
    let universal = Universal { run_trigger: 2, target_file_bytes, ..Universal::default() };
    let policies: [&dyn Policy; 4] = [&leveled, &lazy, &tiered, &universal];
    draw.choose(&policies)?.plan(context)
}

/// Any change of levels.
fn levels(draw: &mut Draw, shape: &Shape) -> Reshape {
    let level = draw.below((shape.levels().len() + 2).min(DEPTH));
    let change = if draw.one_in(2) { LevelChange::Add(level) } else { LevelChange::Drop(level) };
    Reshape { change, reason: "drawn at random".into() }
}

/// Groups of any tables with any destination; half the time they share no table.
fn random(draw: &mut Draw, context: &PlanContext) -> Compaction {
    let PlanContext { shape, fresh, .. } = *context;
    let mut tables: Vec<&Arc<TableInfo>> = shape.tables().map(|(_, _, t)| t).collect();
    let shares = draw.one_in(2);
    let mut groups = Vec::new();
    for _ in 0..1 + draw.below(3) {
        let first = draw.choose(&tables).copied();
        let with_overlap = draw.one_in(2);
        let is_first =
            |t: &TableInfo| first.is_some_and(|f| f.id == t.id || with_overlap && f.overlaps(t));
        let mut inputs: Vec<TableId> =
            (tables.iter()).filter(|t| is_first(t) || draw.one_in(12)).map(|t| t.id).collect();
        if draw.one_in(3) {
            inputs.reverse();
        }
        let destination = place(draw, shape, fresh);
        let action = action(draw, shape, &tables);
        if !shares {
            tables.retain(|t| !inputs.contains(&t.id));
        }
        let follows = groups.last().filter(|_| draw.one_in(3));
        let follows = follows.and_then(|group: &Group| group.inputs.first()).copied();
        let parts = draw.parts(&action);
        groups.push(Group { inputs, destination, action, follows, parts });
    }
    let order = if draw.one_in(2) { Order::Parallel } else { Order::Sequential };
    Compaction { groups, order, reason: "drawn at random".into() }
}

/// An existing run, a new one between or above the existing ones, or the id of another level's run.
fn place(draw: &mut Draw, shape: &Shape, fresh: RunId) -> Destination {
    let runs: Vec<_> = (shape.levels().iter().enumerate())
        .flat_map(|(level, l)| l.runs.iter().map(move |r| Destination { level, run: r.id }))
        .collect();
    let there = draw.choose(&runs).copied().unwrap_or(Destination { level: 0, run: fresh });
    let slip = if draw.one_in(8) { MAX_LEVELS - 1 } else { 0 };
    let level = draw.below((shape.levels().len() + 1).min(DEPTH)) + slip;
    match draw.below(4) {
        0 | 1 => there,
        2 => Destination { level, run: RunId(fresh.0.saturating_add(draw.below(3) as u64)) },
        _ => Destination { level, run: RunId(draw.below(fresh.0 as usize) as u64) },
    }
}

fn action(draw: &mut Draw, shape: &Shape, tables: &[&Arc<TableInfo>]) -> Action {
    if draw.one_in(3) {
        return Action::Move;
    }
    let count = draw.below(4);
    let mut cuts: Vec<_> =
        (0..count).filter_map(|_| draw.choose(tables).map(|t| t.smallest.clone())).collect();
    cuts.sort();
    cuts.dedup();
    let parts = 1 << draw.below(6);
    let target_file_bytes = if draw.one_in(4) { u64::MAX } else { (shape.bytes() / parts).max(1) };
    Action::Merge { cuts, target_file_bytes, filter_bits: draw.filter_bits(), split: None }
}

/// Corrupts a plan in one way, or at least changes it.
fn spoil(draw: &mut Draw, plan: &mut Compaction, context: &PlanContext) {
    let PlanContext { shape, running, fresh, .. } = *context;
    let held: Vec<_> = running.groups().flat_map(|g| &g.inputs).copied().collect();
    let others: Vec<_> = shape.tables().map(|(_, _, t)| t.id).collect();
    let at = draw.below(plan.groups.len());
    let Some(group) = plan.groups.get_mut(at) else { return };
    let input = draw.choose(&group.inputs).copied();
    match draw.below(10) {
        0 => group.inputs.retain(|id| Some(*id) != input),
        1 => group.inputs.extend(input),
        2 => group.inputs.extend(draw.choose(&held)),
        3 => group.inputs.extend(draw.choose(&others)),
        4 => group.inputs.push(TableId(draw.next())),
        5 => group.destination = place(draw, shape, fresh),
        6 => group.action = Action::Move,
        7 => {
            let cuts = vec![vec![1], vec![0]];
            group.action =
                Action::Merge { cuts, target_file_bytes: u64::MAX, filter_bits: None, split: None };
        }
        8 => {
            let inputs = group.inputs.split_off(group.inputs.len() / 2);
            let torn = Group { inputs, ..group.clone() };
            plan.groups.push(torn);
        }
        _ => {}
    }
}
