//! Merges chosen by dynamic programming, for the operations that are observed ("Rethinking The Compaction Policies in
//! LSM-trees", EcoTune).
//!
//! The tree has three parts: level 0, the **main** part below it, a stack of runs, and the **last** level, one run.
//! A merge is an investment: it costs time now, and every read after it looks into fewer runs.
//!
//! 1. **A round** starts with an empty main part. Admissions (`toolkit/admission.rs`) of a unit, B bytes, arrive there
//!    one by one. After R of them the whole main part is merged into the last level. [`model`] computes the R with the
//!    lowest cost per admission. The last level stays at least T times as large as the main part. Where updates repeat
//!    keys, admissions shrink when they are merged: a round also ends with 2R runs, however small.
//! 2. **An admission** becomes a run of its own, or is merged with the newest runs, down to one of them. Dynamic
//!    programming finds the choice that costs least if all later choices of the round are the best. It is repeated at
//!    each admission, for the current stack and the operations of a sliding window. These count from the next merge on:
//!    a store that is only read after a load keeps its runs, since the paper decides merges as flushes arrive, for "a
//!    steady but moderate write stream" (its abstract).
//! 3. **Costs** are counted in blocks. From one admission to the next, a point read fetches a block of each run whose
//!    filter errs, and a range read one block of each run. A merged page costs its time over that of a block read at
//!    random, where both are measured, and otherwise a parameter.
//! 4. **The end of a round** waits for the end of the round before, and admissions wait for it. While the main part is
//!    merged into the last level, the next round starts above it.
//! 5. **A large store.** A round has at most 256 admissions. If these are less than 1/T of the last level, a unit is
//!    larger than B.
//! 6. **Any other tree** is taken over: its deepest level is the last, and all runs between it and level 0 are the main
//!    part. The runs of a last level are merged into one.
//!
//! The three parts, the round, merges of the newest runs, and dynamic programming for the throughput of reads are the
//! paper's. The paper takes a steady stream of writes as given and counts the reads served meanwhile, which slow down
//! with the number of runs and during merges; that takes `R^4` steps. This policy keeps the shares of reads and writes
//! and minimizes the time of both, a sum over runs, for which `R^2` steps are enough. The length of a round, a new
//! decision at each admission, and support for any other tree are ours.

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
    /// Number of recent operations that merges are chosen for.
    pub window: u64,
    /// Cost of a page that is merged, in percent of a block that is read, where neither is measured.
    pub page_percent: u64,
    /// B: approximate bytes of an admission.
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
    /// Costs of a run between two admissions and of a merged unit, in thousandths of a block.
    costs: [u64; 2],
    rounds: Rounds,
    /// R.
    admissions: u64,
}

impl Round {
    /// Bytes of the main part at which the round ends: R units, less half a unit.
    fn limit(&self) -> u64 {
        self.admissions.saturating_mul(self.unit).saturating_sub(self.unit / 2)
    }

    /// Runs of the main part with which the round ends.
    fn most_runs(&self) -> u64 {
        self.admissions.saturating_mul(2)
    }
}

impl EcoTune {
    /// Returns the bytes of a unit (step 5).
    fn unit(&self, shape: &Shape) -> u64 {
        let units = ROUND_MAX.saturating_mul(self.size_ratio).max(1);
        (last_bytes(shape) / units).max(self.level_base_bytes)
    }

    /// Returns the costs of a run between two admissions and of a merged unit, in thousandths of a block (step 3).
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

    /// Returns the bytes of the main part.
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

/// Merges the runs of a last level into one.
fn unite(view: &View, last: usize) -> Option<Plan> {
    if view.running.writes_from(last) {
        return None;
    }
    view.merge_into_one_run(last)
}

/// Names of the bytes and the runs that no running group takes.
const FREE: [&str; 2] = ["free-bytes", "free-main-runs"];
const FREE_WITH_ADMISSION: [&str; 2] =
    ["free-bytes-with-this-admission", "free-main-runs-with-this-admission"];

struct Steps<'v, 'a> {
    view: &'v View<'a>,
    round: &'v Round,
    last: usize,
}

impl<'a> Steps<'_, 'a> {
    /// Returns the comparison of `bytes` with the limit of the round.
    fn ended_by(&self, name: &'static str, bytes: u64) -> Term {
        let bytes = Quantity::levels(name, 1, self.last - 1, bytes);
        let limit = Quantity::new("round-less-half-an-admission", self.round.limit());
        Term::new(Unit::Bytes, bytes, Relation::AtLeast, limit)
    }

    /// Whether the round ends with these bytes and runs of the main part: the term that says so.
    fn ends(
        &self,
        [bytes_name, runs_name]: [&'static str; 2],
        bytes: u64,
        runs: usize,
    ) -> Option<Term> {
        let runs = Quantity::levels(runs_name, 1, self.last - 1, runs as u64);
        let most = Quantity::new("twice-round-admissions", self.round.most_runs());
        let crowded = Term::new(Unit::Count, runs, Relation::AtLeast, most);
        let terms = [self.ended_by(bytes_name, bytes), crowded];
        terms.into_iter().find(|term| term.is(Relation::AtLeast))
    }

    /// Returns the newest runs of the main part, up to the first with a table in a running group, and their places.
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

    /// Merges the main part into the last level at the end of a round (steps 1 and 4).
    fn end(&self) -> Option<Plan> {
        let (view, last) = (self.view, self.last);
        let (runs, bytes) = (self.stack(), self.stack_bytes());
        if runs.is_empty() || view.running.writes_from(1) {
            return None;
        }
        let ended = self.ends(FREE, bytes, runs.len())?;
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

    /// Merges an admission with the newest runs, or makes it a run (step 2).
    fn admit(&self, admission: &Admission<'a>) -> Option<Plan> {
        let (stack, bytes) = (self.stack(), self.stack_bytes());
        // The round before has not ended.
        if !stack.is_empty() && self.ends(FREE, bytes, stack.len()).is_some() {
            return None;
        }
        let mut terms = vec![admission.term];
        let unit = self.round.unit as f64;
        let with_it = bytes.saturating_add(admission.bytes);
        if let Some(after) = self.ends(FREE_WITH_ADMISSION, with_it, stack.len() + 1) {
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
        for comparison in self.round.rounds.comparisons(&sizes, left) {
            let newest_first = sizes.len() - 1 - comparison.run;
            let now = Quantity::item("cost-merged-now", newest_first, comparison.now);
            let later = Quantity::item("cost-left-alone", newest_first, comparison.later);
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

    /// Merges an admission with the `taken` newest runs, in the place of the oldest of them.
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
            "Runs above one large level. Dynamic programming chooses the merges that cost least for observed reads and \
         writes.",
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
