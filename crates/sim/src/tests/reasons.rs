//! The reasons of plans: each comparison is evaluated from the tree, the policy's status and its parameters, and its
//! consequence is compared with the plan.

use super::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use terrane_policy::ecotune::model::{Costs, Rounds};
use terrane_policy::*;

/// A policy whose plans are evaluated.
struct Watched {
    inner: Box<dyn Policy>,
    parameters: serde_json::Value,
    /// The terms that were seen, by the names of their sides.
    seen: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Policy for Watched {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let plan = self.inner.plan(context)?;
        let facts = self.inner.status(context.shape, context.state);
        Evaluation { policy: self, context, status: &facts }.check(&plan);
        Some(plan)
    }

    fn plans_flushes(&self) -> bool {
        self.inner.plans_flushes()
    }

    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        let plan = self.inner.flush(context, sealed);
        for term in &plan.reason.terms {
            assert_eq!(term.effect, Some(Effect::Cut), "{term:?}");
            assert!(!plan.cuts.is_empty());
        }
        plan
    }

    fn stalls_by_depth(&self) -> bool {
        self.inner.stalls_by_depth()
    }

    fn reads_histograms(&self) -> bool {
        self.inner.reads_histograms()
    }

    fn reads_prefixes(&self) -> bool {
        self.inner.reads_prefixes()
    }

    fn watches_reads(&self) -> bool {
        self.inner.watches_reads()
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        self.inner.apply(state, installed)
    }

    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        self.inner.adopt(shape)
    }

    fn readopt(&self, state: &[u8], shape: &Shape) -> Vec<u8> {
        self.inner.readopt(state, shape)
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        self.inner.status(shape, state)
    }

    fn decisions(&self, state: &[u8], installed: &Installed) -> Vec<Decision> {
        let decisions = self.inner.decisions(state, installed);
        for Decision { reason, .. } in &decisions {
            assert!(reason.terms.iter().all(|term| term.effect.is_some()), "{reason:?}");
        }
        decisions
    }
}

/// A plan's reason, beside what it was made of.
struct Evaluation<'a> {
    policy: &'a Watched,
    context: &'a PlanContext<'a>,
    status: &'a PolicyStatus,
}

impl Evaluation<'_> {
    fn check(&self, plan: &Plan) {
        let (Plan::Compact(Compaction { reason, .. }) | Plan::Reshape(Reshape { reason, .. })) =
            plan;
        assert!(!reason.terms.is_empty(), "{}", reason.text);
        let mut newest = None;
        for term in &reason.terms {
            let said = || format!("{}: {term:?} of {reason:?}", self.policy.name());
            assert!(term.relation.holds(term.left.value, term.right.value), "{}", said());
            if term.left.name == "run-bytes" {
                let Of::Item(at) = term.left.of else { panic!("{}", said()) };
                newest = newest.or(Some(at - 1));
            }
            for side in [term.left, term.right] {
                let found = self.values(&side, term, newest.unwrap_or(0), reason);
                let known = found.unwrap_or_else(|| panic!("unknown {side:?}: {}", said()));
                assert!(known.contains(&side.value), "{side:?}, found {known:?}: {}", said());
            }
            let effect = term.effect.unwrap_or_else(|| panic!("no effect: {}", said()));
            assert!(self.has(effect, plan), "{}", said());
            let sides = format!("{} {:?} {}", term.left.name, term.relation, term.right.name);
            *self.policy.seen.lock().unwrap().entry(sides).or_default() += 1;
        }
    }

    /// Whether a plan has this effect.
    fn has(&self, effect: Effect, plan: &Plan) -> bool {
        let compaction = match plan {
            Plan::Compact(compaction) => compaction,
            Plan::Reshape(Reshape { change, .. }) => {
                return match *change {
                    LevelChange::Add(level) => effect == Effect::Becomes(level, level + 1),
                    LevelChange::Drop(level) => effect == Effect::Becomes(level + 1, level),
                };
            }
        };
        let into = |level| compaction.groups.iter().any(|group| group.destination.level == level);
        let ids = compaction.groups.iter().flat_map(|group| group.inputs.clone()).collect();
        let reads = |level| self.context.shape.find(ids).iter().any(|t| t.place.level == level);
        // Files are cut in place before they are merged.
        let divides = compaction.reason.text.contains("cut there first");
        match effect {
            Effect::Leaves(_) | Effect::Enters(_) if divides => true,
            Effect::Leaves(level) => {
                reads(level) && compaction.groups.iter().any(|g| g.destination.level > level)
            }
            Effect::Enters(level) => into(level),
            Effect::Passes(level) => divides || !into(level),
            Effect::Merges(level) => reads(level),
            Effect::Stays(level) => into(level) && compaction.groups.len() == 1,
            Effect::Admitted => reads(0),
            Effect::Due | Effect::Taken => true,
            _ => false,
        }
    }

    /// The values that a quantity may have; nothing if its name is not known.
    fn values(
        &self,
        side: &Quantity,
        term: &Term,
        newest: usize,
        reason: &Reason,
    ) -> Option<Vec<u64>> {
        let shape = self.context.shape;
        let stop = self.context.l0_stop_trigger as u64;
        let level_bytes = |level: usize| shape.levels().get(level).map_or(0, Level::bytes);
        let runs = |level: usize| shape.levels().get(level).map_or(&[][..], |level| &level.runs);
        let (first, last) = match side.of {
            Of::Levels(first, last) => (first, last),
            Of::Tree | Of::Item(_) => (0, 0),
        };
        let bytes = || (first..=last).map(level_bytes).sum::<u64>();
        let stack = || shape.runs().into_iter().map(|(_, run)| run.bytes()).collect::<Vec<_>>();
        let base = || self.parameter("level-base-bytes");
        let value = match side.name {
            "bytes" => bytes(),
            "staying-bytes" => bytes() - self.leaving(first),
            "capacity" => self.status.capacities.get(first.max(last))?.bytes?,
            "runs" if side.of == Of::Tree => stack().len() as u64,
            "runs" => runs(first).len() as u64,
            "runs-below-level-0" => {
                shape.runs().iter().filter(|(at, _)| at.level > 0).count() as u64
            }
            "waiting-runs" => self.waiting().len() as u64,
            "waiting-bytes" => self.waiting().iter().sum(),
            "oldest-waiting-bytes" => self.oldest_waiting(term.right.value),
            "leveled" | "one" => 1,
            "none" | "spent" => 0,
            "least-light-runs" => 4,
            "three-quarters-of-l0-stop-trigger" => {
                return Some(vec![(stop * 3).div_ceil(4), (stop * 3 / 4).max(1)]);
            }
            "l0-stop-trigger" => stop,
            "l0-compaction-trigger" => {
                let own = self.policy.parameters.get(side.name).and_then(|value| value.as_u64());
                own.or(self.status.capacities.first()?.runs)?
            }
            "three-quarters-of-level-base-bytes" => base() - base() / 4,
            "largest-of-these-runs" => {
                return Some(runs(0).iter().map(Run::bytes).collect());
            }
            "twice-the-smallest" => {
                return Some(runs(0).iter().map(|run| run.bytes() * 2).collect());
            }
            "oldest-run" => runs(first).last()?.bytes(),
            "deepest-level" => shape.deepest() as u64,
            "bytes-above-oldest" => {
                // Runs that a merge writes or reads are left alone.
                let sums =
                    (0..stack().len()).map(|from| stack()[from..stack().len() - 1].iter().sum());
                return Some(sums.collect());
            }
            "space-percent-of-oldest" => {
                (stack().last()? * self.parameter("space-percent")).div_ceil(100)
            }
            "run-bytes" => match side.of {
                Of::Item(at) => *stack().get(at)?,
                _ => return None,
            },
            "newer-runs-and-ratio" => {
                let Of::Item(at) = term.left.of else { return None };
                let newer: u64 = stack()[newest..at].iter().sum();
                newer * (100 + self.parameter("size-ratio-percent")) / 100
            }
            "free-runs" => stack().len() as u64 - self.busy(),
            "counter" => self.counter(first)?,
            "counter-and-slack" => self.counter(first)? + self.fact("slack")?,
            "counter-with-this-admission" => {
                let before = self.counter(first)?;
                return Some(vec![before + 1, before.saturating_sub(1)]);
            }
            "greatest-counter-with-this-admission" => 0,
            "bytes-with-this-admission" => bytes() + reason.terms.first()?.left.value,
            "horizontal-capacity-less-half-a-buffer" => self.fact("buffers")? * base() - base() / 2,
            "free-bytes" | "free-bytes-with-this-admission" => {
                let admitted = match side.name {
                    "free-bytes" => 0,
                    _ => reason.terms.first()?.left.value,
                };
                let main = self.main();
                let sums = (0..=main.len()).map(|free| main[..free].iter().sum::<u64>() + admitted);
                return Some(sums.collect());
            }
            "free-main-runs" => return Some((0..=self.main().len() as u64).collect()),
            "free-main-runs-with-this-admission" => {
                return Some((1..=self.main().len() as u64 + 1).collect());
            }
            "twice-round-admissions" => 2 * self.fact("round-admissions")?,
            "round-less-half-an-admission" => {
                let unit = self.fact("admission-bytes")?;
                self.fact("round-admissions")? * unit - unit / 2
            }
            "cost-merged-now" | "cost-left-alone" => return self.costs(side),
            "v1-level" => self.fact("v1-level")?,
            "level-below-the-horizontal-part" => self.fact("levels")? + 1,
            "capacity-over-size-ratio" => {
                let Of::Levels(level, _) = term.left.of else { return None };
                self.status.capacities.get(level)?.bytes? / self.parameter("size-ratio")
            }
            "newest-run" => runs(first).first()?.bytes(),
            "runs-allowed" => self.status.capacities.get(first)?.runs?,
            "run-share-less-half-an-arrival" | "capacity-less-half-an-arrival" => {
                let Capacity { bytes, runs } = *self.status.capacities.get(first)?;
                let shares = if side.name.starts_with("run-share") { runs? } else { 1 };
                (bytes? / shares).saturating_sub(self.status.capacities.get(first - 1)?.bytes? / 2)
            }
            "bucket-depth" => {
                return Some((1..=shape.level0_depth() as u64).collect());
            }
            "table-reads" => {
                return Some(self.context.observed.table_reads.iter().map(|(_, n)| *n).collect());
            }
            name => self.policy.parameters.get(name)?.as_u64()?,
        };
        Some(vec![value])
    }

    /// Sizes of the runs between level 0 and the last level, newest first.
    fn main(&self) -> Vec<u64> {
        let last = self.context.shape.deepest().max(2);
        let runs = self.context.shape.runs().into_iter();
        let main = runs.filter(|(at, _)| (1..last).contains(&at.level));
        main.map(|(_, run)| run.bytes()).collect()
    }

    /// Costs of merging a run with an admission and of leaving it alone, by what the status says of the round, for
    /// each number of runs that are free.
    fn costs(&self, side: &Quantity) -> Option<Vec<u64>> {
        let Of::Item(at) = side.of else { return None };
        let [run, unit] = ["run-cost", "admission-merge-cost"].map(|name| self.fact(name));
        let costs = Costs { run: run? as f64 / 1000.0, unit: unit? as f64 / 1000.0 };
        let (round, bytes) = (self.fact("round-admissions")?, self.fact("admission-bytes")? as f64);
        let mut found = Vec::new();
        for free in 1..=self.main().len() {
            let stack: Vec<_> =
                self.main()[..free].iter().rev().map(|run| *run as f64 / bytes).collect();
            let left = (round - 1) as f64 - self.main()[..free].iter().sum::<u64>() as f64 / bytes;
            let left = (left.max(1.0) + 0.5) as usize;
            let choices = Rounds::new(costs, round as usize).choices(&stack, left);
            let choice = choices.iter().find(|choice| free - 1 - choice.run == at);
            let merged = side.name == "cost-merged-now";
            found.extend(choice.map(|choice| if merged { choice.now } else { choice.later }));
        }
        Some(found)
    }

    fn parameter(&self, name: &str) -> u64 {
        self.policy.parameters[name].as_u64().unwrap_or_else(|| panic!("no {name}"))
    }

    fn fact(&self, wanted: &str) -> Option<u64> {
        self.status.facts.iter().find_map(|fact| match fact {
            Fact::Number { name, of: Of::Tree, value, .. } if *name == wanted => Some(*value),
            _ => None,
        })
    }

    fn counter(&self, level: usize) -> Option<u64> {
        self.status.facts.iter().find_map(|fact| match fact {
            Fact::Number { name: "counter", of: Of::Levels(at, _), value, .. } if *at == level => {
                Some(*value)
            }
            _ => None,
        })
    }

    /// Bytes that running groups take from a level to a deeper one.
    fn leaving(&self, level: usize) -> u64 {
        let groups = self.context.running.groups().filter(|group| group.destination.level > level);
        let ids = groups.flat_map(|group| group.inputs.clone()).collect();
        let found = self.context.shape.find(ids);
        found.iter().filter(|t| t.place.level == level).map(|t| t.table.bytes).sum()
    }

    /// Runs of which no running group reads a table, as sizes by place.
    fn free(&self, place: Destination, run: &Run) -> bool {
        let held = self.context.running.held();
        !run.tables().iter().any(|table| held.contains(&table.id)) && {
            place.level == 0 || !self.context.running.writes_into(place)
        }
    }

    fn waiting(&self) -> Vec<u64> {
        let runs = self.context.shape.runs().into_iter();
        let waits = runs.filter(|(at, run)| at.level == 0 && self.free(*at, run));
        waits.map(|(_, run)| run.bytes()).collect()
    }

    fn oldest_waiting(&self, enough: u64) -> u64 {
        let mut sum = 0;
        for bytes in self.waiting().into_iter().rev() {
            sum += bytes;
            if sum >= enough {
                break;
            }
        }
        sum
    }

    fn busy(&self) -> u64 {
        let held = self.context.running.held();
        let is_busy = |(at, run): &(Destination, &Run)| {
            self.context.running.writes_into(*at)
                || run.tables().iter().any(|t| held.contains(&t.id))
        };
        self.context.shape.runs().iter().filter(|run| is_busy(run)).count() as u64
    }
}

/// The policies whose plans are evaluated: every preset, and variants with other rules.
fn watched() -> Vec<PolicyOptions> {
    let variants = [
        r#"{"policy": "spooky", "size-ratio": 3, "leveled-levels": 1, "levels-below": 1}"#,
        r#"{"policy": "spooky", "size-ratio": 3, "leveled-levels": 0}"#,
        r#"{"policy": "leveled-full", "preemptive": false}"#,
        r#"{"policy": "leveled", "dynamic-level-bytes": false, "pipelined": true}"#,
        r#"{"policy": "vertiorizon", "size-ratio": 3, "merge-policy": "tiering"}"#,
        r#"{"policy": "vertiorizon", "size-ratio": 3, "merge-policy": "leveling", "skew": true}"#,
        r#"{"policy": "vertiorizon", "size-ratio": 3, "vertical-merge-policy": "tiering"}"#,
        r#"{"policy": "vertiorizon", "size-ratio": 3, "backbone": true}"#,
        r#"{"policy": "lazy-leveled", "size-ratio": 3, "leveled-levels": 2}"#,
        r#"{"policy": "ptier", "read-limit": 5}"#,
        r#"{"policy": "universal", "run-trigger": 3, "space-percent": 40}"#,
        r#"{"policy": "fluid", "size-ratios": "8 4", "runs": "2 4", "largest-runs": 2}"#,
        r#"{"policy": "ecotune", "size-ratio": 1, "page-percent": 2, "window-operations": 1024}"#,
        r#"{"policy": "fluid", "design": "bush", "data-bytes": 1000000, "level-base-bytes": 6000}"#,
        r#"{"policy": "fluid", "design": "tuned", "data-bytes": 600000, "level-base-bytes": 6000}"#,
    ];
    let mut all = all_small();
    all.extend(variants.map(|text| policy(text).sized(6000, 3000)));
    all
}

#[test]
fn each_term_of_each_plan_decided_it() {
    let seen = Arc::<Mutex<BTreeMap<String, u64>>>::default();
    let mix = Mix { update: 0.6, delete: 0.1, insert: 0.2, read: 0.1, ..Mix::default() };
    for options in watched() {
        for (workers, slow, choice) in [
            (1, true, Choice::Uniform),
            (4, true, Choice::Zipf { exponent: 0.9, move_every: 0 }),
            (4, false, Choice::Uniform),
        ] {
            let clients = Clients { mix: mix.clone(), choice, ..Clients::default() };
            let config = small(options.clone(), Workload::then(6000, 6000, clients));
            let mut config = Config { workers, ..config };
            if slow {
                config.device.write_speed = 2e7;
                config.device.merge_nanos_per_byte = 200.0;
            }
            let parameters = serde_json::to_value(&options).unwrap();
            let mut simulation = Simulation::new(config).unwrap();
            let seen = Arc::clone(&seen);
            simulation.watch_plans(|inner| Box::new(Watched { inner, parameters, seen }));
            while simulation.advance(u64::MAX).unwrap() {}
        }
    }
    let seen = seen.lock().unwrap();
    for (sides, count) in &*seen {
        println!("{count:8} {sides}");
    }
    assert!(seen.len() >= 25, "{} kinds of comparisons", seen.len());
}
