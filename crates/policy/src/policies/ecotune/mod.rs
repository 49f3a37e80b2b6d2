//! Merges decided by dynamic programming on the operations that are observed ("Rethinking The Compaction Policies in
//! LSM-trees", EcoTune).
//!
//! The tree has three parts: level 0, the **main** part below it, a stack of runs, and the **last** level, one run.
//! A merge is an investment: it costs time now, and every read after it looks into fewer runs.
//!
//! 1. **A round** starts with an empty main part. Admissions (`toolkit/admission.rs`) of a unit, B bytes, arrive there
//!    one by one, and after R of them all of the main part is merged into the last level. [`model`] has the R that
//!    costs least for each admission. The last level stays at least T times as large as the main part.
//! 2. **An admission** is merged with all runs down to some older one, or becomes a run of its own. Which one costs
//!    least with the best merges from then to the end of the round is known by dynamic programming. That is decided
//!    anew at each admission, for the stack that there is and the operations of a sliding window.
//! 3. **Costs** are blocks. From one admission to the next, point reads fetch a block of a run whose filter errs, and
//!    range reads one of each run. A page that is merged counts by its time over that of a block that is read at
//!    random, where that is measured, and else by a parameter.
//! 4. **The end of a round** waits for the one before, and admissions wait for it. While it is merged into the last
//!    level, the next round starts above it.
//! 5. **A large store.** A round has up to 256 admissions. Where that is less than 1/T of the last level, a unit is
//!    larger than B.
//! 6. **Any other tree** is taken over: its deepest level is the last, and all runs between it and level 0 are the main
//!    part. A last level of several runs becomes one.
//!
//! Of the paper are the three parts, the round, merges of the newest runs of the main part, and that dynamic
//! programming chooses them for the throughput of reads. It takes a steady stream of writes as given, and counts the
//! reads that are served meanwhile, whose speed falls with the number of runs and while a merge runs; that takes `R^4`
//! steps. Here reads and writes keep their shares, and the time for both is the least: a sum over runs, so that `R^2`
//! steps are enough. The length of a round, deciding again at each admission, and any other tree are ours.

pub mod model;

use crate::context::PlanContext;
use crate::policy::{Installed, Policy};
use crate::status::{Capacity, Fact, PolicyStatus};
use crate::toolkit::admission::{Admission, Counts};
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::{Target, build_groups};
use crate::toolkit::observations::{Observations, PAGE, pages_and_filters};
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::view::{Vertical, View};
use model::{Costs, Rounds};
use terrane_types::{
    Compaction, Destination, Effect, Level, Of, Plan, Quantity, Reason, Relation, Run, Shape, Term,
    Unit, tables_of,
};

/// The policy that plans rounds of merges, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcoTune {
    /// T: the last level is at least T times as large as the main part.
    pub size_ratio: u64,
    /// Operations of the window for which merges are decided.
    pub window: u64,
    /// Cost of a page that is merged, in percent of a block that is read, where neither is measured.
    pub page_percent: u64,
    /// B: about how many bytes are admitted at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

impl Default for EcoTune {
    fn default() -> Self {
        EcoTune {
            size_ratio: 4,
            window: 1 << 20,
            page_percent: 100,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
        }
    }
}

/// The most admissions of a round.
pub const ROUND_MAX: u64 = 256;

/// The last level: the deepest, below a main part of one level at least.
fn last_level(shape: &Shape) -> usize {
    shape.deepest().max(2)
}

fn last_bytes(shape: &Shape) -> u64 {
    shape.levels().get(last_level(shape)).map_or(0, Level::bytes)
}

fn observations(state: &[u8]) -> Observations {
    let read = Counts::read_any(state).and_then(|counts| Observations::read(&counts.numbers));
    read.unwrap_or_default()
}

fn state_of(observations: &Observations) -> Vec<u8> {
    let mut numbers = Vec::new();
    observations.write(&mut numbers);
    Counts::new(numbers).state()
}

/// Round of a tree, and its costs.
struct Round {
    /// Bytes of a unit.
    unit: u64,
    /// In thousandths of a block.
    costs: [u64; 2],
    rounds: Rounds,
    /// R.
    admissions: u64,
}

impl Round {
    /// Bytes of the main part with which the round ends, to the nearest unit.
    fn limit(&self) -> u64 {
        self.admissions.saturating_mul(self.unit).saturating_sub(self.unit / 2)
    }
}

impl EcoTune {
    /// Bytes of a unit (step 5).
    fn unit(&self, shape: &Shape) -> u64 {
        let units = ROUND_MAX.saturating_mul(self.size_ratio).max(1);
        (last_bytes(shape) / units).max(self.level_base_bytes)
    }

    /// Costs of a run between two admissions, and of a unit that is merged, in thousandths of a block (step 3).
    fn costs(&self, shape: &Shape, observations: &Observations) -> [u64; 2] {
        let (entries_of_a_page, false_positives) = pages_and_filters(shape);
        let pages = self.unit(shape) as f64 / PAGE;
        let [updates, points, ranges] = Observations::shares(observations.operations());
        let page = observations.page().unwrap_or(self.page_percent as f64 / 100.0);
        let reads = points * false_positives + ranges;
        let run = pages * entries_of_a_page * reads / updates.max(1e-6);
        [run, pages * page].map(|cost| (cost * 1000.0) as u64)
    }

    fn round(&self, shape: &Shape, observations: &Observations) -> Round {
        let unit = self.unit(shape);
        let costs = self.costs(shape, observations);
        let [run, merged] = costs.map(|cost| cost as f64 / 1000.0);
        let most = last_bytes(shape) / unit.saturating_mul(self.size_ratio).max(1);
        let most = most.clamp(self.size_ratio.min(ROUND_MAX), ROUND_MAX) as usize;
        let rounds = Rounds::new(Costs { run, unit: merged }, most);
        let last = last_bytes(shape) as f64 / unit.max(1) as f64;
        let admissions = rounds.best(most, last) as u64;
        Round { unit, costs, rounds, admissions }
    }

    /// Bytes of the main part.
    fn main_bytes(shape: &Shape) -> u64 {
        let main = shape.levels().iter().take(last_level(shape)).skip(1);
        main.map(Level::bytes).fold(0, u64::saturating_add)
    }
}

impl Policy for EcoTune {
    fn name(&self) -> &'static str {
        "ecotune"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let rule = Vertical::staging(self.unit(context.shape), self.target_file_bytes);
        let view = View::new(rule, context);
        let last = last_level(context.shape);
        let steps = || {
            let admission = view.admission_above(last - 1);
            if admission.is_none() && Self::main_bytes(context.shape) == 0 {
                return None;
            }
            let round = self.round(context.shape, &observations(context.state));
            let steps = Steps { view: &view, round: &round, last };
            steps.end().or_else(|| steps.admit(&admission?))
        };
        steps().or_else(|| unite(&view, last)).or_else(|| view.gather())
    }

    fn weighs_costs(&self) -> bool {
        true
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut observations = observations(state);
        observations.observe(installed.observed, self.window);
        state_of(&observations)
    }

    fn adopt(&self, _: &Shape) -> Vec<u8> {
        state_of(&Observations::default())
    }

    fn readopt(&self, state: &[u8], _: &Shape) -> Vec<u8> {
        state_of(&observations(state))
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        let round = self.round(shape, &observations(state));
        let last = last_level(shape);
        let mut capacities = vec![Capacity::default(); last];
        let capacity = |bytes, runs| Capacity { bytes, runs };
        if let [level0, rest @ ..] = &mut capacities[..] {
            *level0 = capacity(Some(round.unit), None);
            if let [only] = rest {
                *only = capacity(Some(round.unit.saturating_mul(round.admissions)), None);
            }
        }
        capacities.push(capacity(None, Some(1)));
        let fact = |name, value, unit| Fact::Number { name, of: Of::Tree, value, unit };
        let [run, unit] = round.costs;
        let facts = vec![
            fact("round-admissions", round.admissions, Unit::Count),
            fact("admission-bytes", round.unit, Unit::Bytes),
            fact("run-cost", run, Unit::Thousandths),
            fact("admission-merge-cost", unit, Unit::Thousandths),
        ];
        PolicyStatus { capacities, facts }
    }
}

/// A last level of several runs becomes one.
fn unite(view: &View, last: usize) -> Option<Plan> {
    if view.running.writes_from(last) {
        return None;
    }
    view.merge_into_one_run(last)
}

struct Steps<'v, 'a> {
    view: &'v View<'a>,
    round: &'v Round,
    last: usize,
}

impl<'a> Steps<'_, 'a> {
    /// Bytes of the main part, with those of an admission.
    fn ended_by(&self, name: &'static str, bytes: u64) -> Term {
        let bytes = Quantity::levels(name, 1, self.last - 1, bytes);
        let limit = Quantity::new("round-less-half-an-admission", self.round.limit());
        Term::new(Unit::Bytes, bytes, Relation::AtLeast, limit)
    }

    /// The runs of the main part of which no running group takes a table, with their places, newest first.
    fn stack(&self) -> Vec<(Destination, &'a Run)> {
        let mut stack = self.view.below_level0();
        let is_held = |(at, run): &(Destination, &Run)| self.view.is_any_held_of(at.level, run);
        let free = stack.iter().take_while(|run| run.0.level < self.last && !is_held(run)).count();
        stack.truncate(free);
        stack
    }

    fn stack_bytes(&self) -> u64 {
        self.stack().iter().map(|(_, run)| run.bytes()).fold(0, u64::saturating_add)
    }

    /// Steps 1 and 4: the main part goes into the last level.
    fn end(&self) -> Option<Plan> {
        let (view, last) = (self.view, self.last);
        let bytes = self.stack_bytes();
        let ended = self.ended_by("free-bytes", bytes);
        if bytes == 0 || !ended.is(Relation::AtLeast) || view.running.writes_from(1) {
            return None;
        }
        let runs: Vec<_> = self.stack();
        let coming = runs.iter().flat_map(|(_, run)| run.tables()).collect();
        let groups = build_groups(coming, view.leveled(last));
        let text = format!(
            "a round of {} ends with {} in {}: all go into level {last}",
            count(usize::try_from(self.round.admissions).unwrap_or(usize::MAX), "admission"),
            size(bytes),
            count(runs.len(), "run"),
        );
        let reason = Reason::new(text, vec![ended.so(Effect::Enters(last))]);
        Some(Compaction::parallel(groups, reason).into())
    }

    /// Step 2.
    fn admit(&self, admission: &Admission<'a>) -> Option<Plan> {
        let bytes = self.stack_bytes();
        // The round before has not ended.
        if bytes > 0 && self.ended_by("free-bytes", bytes).is(Relation::AtLeast) {
            return None;
        }
        let mut terms = vec![admission.term];
        let after =
            self.ended_by("free-bytes-with-this-admission", bytes.saturating_add(admission.bytes));
        let (stack, unit) = (self.stack(), self.round.unit as f64);
        if after.is(Relation::AtLeast) {
            terms.push(after.so(Effect::Admitted));
            let text = format!(
                "an admission of {} ends a round as a run of its own",
                size(admission.bytes)
            );
            return Some(self.merge(admission, 0, Reason::new(text, terms)));
        }
        let sizes: Vec<_> = stack.iter().rev().map(|(_, run)| run.bytes() as f64 / unit).collect();
        let left = self.round.admissions.saturating_sub(1) as f64 - bytes as f64 / unit;
        let left = (left.max(1.0) + 0.5) as usize;
        let mut taken = 0;
        for choice in self.round.rounds.choices(&sizes, left) {
            let newest_first = sizes.len() - 1 - choice.run;
            let now = Quantity::item("cost-merged-now", newest_first, choice.now);
            let later = Quantity::item("cost-left-alone", newest_first, choice.later);
            let term = Term::new(Unit::Thousandths, now, Relation::Less, later);
            let merges = term.is(Relation::Less);
            terms.push(term.so(if merges { Effect::Due } else { Effect::Admitted }));
            if merges {
                taken = newest_first + 1;
            }
        }
        let with = match taken {
            0 => "becomes a run of its own".to_owned(),
            _ => format!("is merged with the newest {} of {}", taken, count(stack.len(), "run")),
        };
        let text = format!(
            "an admission of {}, with about {left} to come in its round, {with}: that costs least",
            size(admission.bytes),
        );
        Some(self.merge(admission, taken, Reason::new(text, terms)))
    }

    /// Merges an admission with the newest runs of this number, in the place of the oldest of them.
    fn merge(&self, admission: &Admission<'a>, taken: usize, reason: Reason) -> Plan {
        let (view, stack) = (self.view, self.stack());
        let mut coming = admission.tables();
        let there = taken.checked_sub(1).and_then(|at| stack.get(at));
        let newer = stack.iter().take(taken.saturating_sub(1));
        coming.extend(newer.flat_map(|(_, run)| tables_of(std::slice::from_ref(*run))));
        let target = Target {
            destination: there
                .map_or(Destination { level: 1, run: view.fresh }, |(place, _)| *place),
            there: there.map(|(_, run)| *run),
            bottom: taken == view.below_level0().len(),
            target_file_bytes: view.rule.target_file_bytes,
            trivial_moves: true,
        };
        Compaction::parallel(build_groups(coming, target), reason).into()
    }
}

impl Described for EcoTune {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Runs above one large level, merged as costs least for the reads and writes that it sees, by dynamic \
         programming.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::number(
                "size-ratio",
                "least size of the last level divided by that of the runs above it",
                (1, 64),
                &mut self.size_ratio,
            ),
            ParameterRef::number(
                "window-operations",
                "most recent operations for which merges are decided",
                (1 << 10, 1 << 40),
                &mut self.window,
            ),
            ParameterRef::number(
                "page-percent",
                "cost of a page that is merged, in percent of a block that is read at random, where they are not \
                 measured",
                (1, 1000),
                &mut self.page_percent,
            ),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ]
    }
}
