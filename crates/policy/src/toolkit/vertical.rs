//! The steps that the vertical policies share. Each returns `None` if it does not apply or must wait.

use super::format::{count, size};
use super::group_builder::{Target, build_groups};
use super::pick::{Candidates, Pick, pick};
use super::trivial_move::move_or_merge;
use super::view::View;
use terrane_types::{
    Compaction, Destination, Effect, Group, LevelChange, Plan, Quantity, Reason, Relation, Reshape,
    Run, TableInfo, Term, Unit, inputs_of, sort_by, tables_of,
};

/// At least this many runs may wait in level 0 while they hold less than B bytes.
const LIGHT_RUNS: u64 = 4;

/// In a merge within level 0, a run may be this many times as large as all newer ones together.
const GROWTH: u64 = 4;

/// The comparisons by which a level of the tree needs a repair. Each returned one holds.
pub(crate) trait Repair {
    /// Comparisons by which the level is over its limits.
    fn over(&self, level: usize) -> Vec<Term>;
    /// Comparisons by which the runs of the level must become one.
    fn scattered(&self, level: usize) -> Vec<Term>;
}

/// The repairs of a leveled tree.
impl Repair for View<'_> {
    fn over(&self, level: usize) -> Vec<Term> {
        let term = self.capacity_term(level, self.bytes(level), Relation::Greater);
        term.only_if(Relation::Greater).into_iter().collect()
    }

    fn scattered(&self, level: usize) -> Vec<Term> {
        let term = self.one_run_term(level);
        term.only_if(Relation::Greater).into_iter().collect()
    }
}

impl View<'_> {
    /// Whether the waiting runs of level 0 are due: there are enough of them, with B bytes.
    pub(crate) fn is_level0_due(&self) -> bool {
        let enough = Relation::AtLeast;
        self.level0_runs_term().is(enough) && self.level0_bytes_term().is(enough)
    }

    /// Merges tiny flushes within level 0, since each merge into the next level may rewrite much of
    /// that level.
    pub(crate) fn merge_within_l0(&self) -> Option<Plan> {
        let light = self.level0_bytes_term();
        if light.is(Relation::AtLeast) {
            return None;
        }
        let why = format!("less than {} in them", size(self.rule.level_base_bytes));
        self.merge_in_level0(&why, vec![light.so(Effect::Stays(0))])
    }

    /// If enough runs wait in level 0, merges the newest two there for the reason of these terms, and each older one
    /// while it is at most [`GROWTH`] times as large as those taken. So runs grow by a factor before they are merged
    /// again.
    pub(crate) fn merge_in_level0(&self, why: &str, mut terms: Vec<Term>) -> Option<Plan> {
        let enough = match self.rule.l0_compaction_trigger {
            trigger @ LIGHT_RUNS.. => Quantity::new("l0-compaction-trigger", trigger),
            _ => Quantity::new("least-light-runs", LIGHT_RUNS),
        };
        let crowded = self.waiting_term(enough);
        if !crowded.is(Relation::AtLeast) {
            return None;
        }
        terms.insert(0, crowded.so(Effect::Merges(0)));
        let runs = self.runs(0);
        let (mut sum, mut taken) = (0u64, 0);
        for run in runs {
            let fits = taken < 2 || run.bytes() <= sum.saturating_mul(GROWTH);
            if !fits || self.is_any_held_of(0, run) {
                break;
            }
            sum = sum.saturating_add(run.bytes());
            taken += 1;
        }
        self.merge_runs(runs.get(..taken)?, why, terms)
    }

    /// Merges the newest neighbours of similar size in level 0, if there are enough, while writes
    /// continue but runs must wait. This bounds level 0 by its number of runs: if it merged runs of any
    /// size, it would absorb everything that is written, as it has no capacity.
    pub(crate) fn merge_alike_in_level0(&self, why: &str) -> Option<Plan> {
        let width = usize::try_from(self.rule.l0_compaction_trigger.max(LIGHT_RUNS)).ok()?;
        let alike = self.runs(0).windows(width).find_map(|runs| {
            let sizes = || runs.iter().map(Run::bytes);
            let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
            let most = Quantity::level("largest-of-these-runs", 0, most);
            let limit = Quantity::level("twice-the-smallest", 0, least.saturating_mul(2));
            let alike = Term::new(Unit::Bytes, most, Relation::AtMost, limit);
            let held = runs.iter().any(|run| self.is_any_held_of(0, run));
            (!held && alike.is(Relation::AtMost)).then_some((runs, alike.so(Effect::Merges(0))))
        });
        let (runs, alike) = alike?;
        self.merge_runs(runs, why, vec![alike])
    }

    /// Merges within level 0, one merge at a time, while its due runs wait for a running plan and writes
    /// are about to stall.
    pub(crate) fn merge_while_waiting(&self) -> Option<Plan> {
        let merges = self.running.groups().any(|g| g.destination.level == 0);
        let near = self.near_stop_term();
        if merges || !self.merge_waiting || !self.is_level0_due() || !near.is(Relation::AtLeast) {
            return None;
        }
        let mut plan = self.merge_alike_in_level0("a merge below keeps them waiting")?;
        if let Plan::Compact(plan) = &mut plan {
            plan.reason.terms.insert(0, near.so(Effect::Merges(0)));
        }
        Some(plan)
    }

    /// Plans merges in level 0 for policies that admit: of tiny flushes, and of runs of similar size
    /// shortly before writes stall.
    pub(crate) fn gather(&self) -> Option<Plan> {
        self.merge_within_l0()
            .or_else(|| if self.is_idle() { None } else { self.merge_while_waiting() })
    }

    /// Merges neighbours of level 0 into the newest of them.
    fn merge_runs(&self, block: &[Run], why: &str, terms: Vec<Term>) -> Option<Plan> {
        if block.len() < 2 {
            return None;
        }
        let destination = Destination { level: 0, run: block.first()?.id };
        let reason = format!(
            "level 0 has {} but {why}: {} of them are merged in place",
            count(self.runs(0).len(), "run"),
            block.len(),
        );
        let reason = Reason::new(reason, terms);
        let inputs = tables_of(block).map(|t| t.id).collect();
        let groups = vec![Group::new(inputs, destination, self.merge())];
        Some(Compaction::parallel(groups, reason).into())
    }

    /// Returns the reason for merging everything down to at least `least`, the greatest of these: the level below one
    /// that is `over` its limits, one that is `scattered` over several runs, and 1 if level 0 is due.
    pub(crate) fn cause(
        &self,
        least: usize,
        over: Option<usize>,
        scattered: Option<usize>,
        repair: &dyn Repair,
    ) -> Reason {
        let (text, terms) = if over == Some(least) {
            let level = least - 1;
            (self.over_text(level), Term::all_so(repair.over(level), Effect::Leaves(level)))
        } else if scattered == Some(least) {
            let terms = Term::all_so(repair.scattered(least), Effect::Merges(least));
            (self.scattered_text(least), terms)
        } else {
            (format!("level 0 has {}", count(self.runs(0).len(), "run")), self.level0_terms())
        };
        Reason::new(text, terms)
    }

    /// Describes what a level over its limits has.
    pub(crate) fn over_text(&self, level: usize) -> String {
        let (have, limit) = (self.bytes(level), self.capacity(level));
        if have > limit {
            return format!("level {level} has {} over {}", size(have), size(limit));
        }
        let runs = count(self.runs(level).len(), "run");
        format!("level {level} has {runs} over {}", self.rule.size_ratio)
    }

    /// Describes a level whose runs must become one.
    fn scattered_text(&self, level: usize) -> String {
        format!("level {level} has {} runs, not one", self.runs(level).len())
    }

    pub(crate) fn one_run_term(&self, level: usize) -> Term {
        self.runs_term(level, Relation::Greater, "leveled", 1)
    }

    /// Compacts the level from 0 to L with the highest score, if it is due. A due level that has to
    /// wait reserves the levels it needs, as does one from `leveled` down that has several runs. While
    /// level 0 waits, [runs may be merged within it](View::merge_while_waiting).
    pub(crate) fn compact_highest_score(
        &self,
        leveled: usize,
        score: &dyn Fn(usize) -> f64,
        step: &dyn Fn(usize) -> Option<Plan>,
    ) -> Option<Plan> {
        let mut due = Vec::new();
        let mut kept = Vec::new();
        for level in 0..=self.last() {
            let score = score(level);
            if score >= 1.0 {
                due.push((level, score));
            }
            if level >= leveled && self.runs(level).len() > 1 {
                kept.push(level);
            }
        }
        sort_by(&mut due, |(_, a), (_, b)| b.total_cmp(a));
        for (level, _) in due {
            let waits = kept.contains(&level) || kept.contains(&(level + 1));
            let plan = if waits { None } else { step(level) };
            let plan = plan.or_else(|| if level == 0 { self.merge_while_waiting() } else { None });
            if plan.is_some() {
                return plan;
            }
            if !waits {
                kept.extend([level, level + 1]);
            }
        }
        None
    }

    /// Makes one run of a level that another policy left with several: tables that overlap are
    /// merged, the others move.
    pub(crate) fn merge_into_one_run(&self, level: usize) -> Option<Plan> {
        if self.runs(level).len() < 2 || self.is_any_held(level) {
            return None;
        }
        let groups = build_groups(self.older(level).collect(), self.leveled(level));
        let scattered = self.scattered_text(level);
        let reason = format!("{scattered}: {} unite them", count(groups.len(), "group"));
        let term = self.one_run_term(level).so(Effect::Merges(level));
        Some(Compaction::parallel(groups, Reason::new(reason, vec![term])).into())
    }

    /// Merges all tables of a level that is due into the next: into its run, or into a new one.
    pub(crate) fn empty(&self, level: usize, target: Target) -> Option<Plan> {
        if self.is_any_held(level) {
            return None;
        }
        let groups = build_groups(self.level(level).collect(), target);
        let inputs = inputs_of(&groups);
        if inputs.clone().any(|id| self.holds(id)) {
            return None;
        }
        let effect = if target.there.is_none() {
            format!("they become a run of level {}", level + 1)
        } else {
            let own: usize = self.runs(level).iter().map(|run| run.tables().len()).sum();
            let there = inputs.count().saturating_sub(own);
            format!("they go into level {} with {} there", level + 1, count(there, "table"))
        };
        let reason = format!(
            "level {level} has {} in {}: {effect}, in {}",
            size(self.bytes(level)),
            count(self.runs(level).len(), "run"),
            count(groups.len(), "group"),
        );
        let terms = if level == 0 {
            self.level0_terms()
        } else {
            // Either makes it due.
            let (least, over) = (Relation::AtLeast, Relation::Greater);
            let runs = self.runs_term(level, least, "size-ratio", self.rule.size_ratio);
            let full = self.staying_term(level, over);
            let mut due = Vec::new();
            due.extend(runs.only_if(least));
            due.extend(full.only_if(over));
            Term::all_so(due, Effect::Leaves(level))
        };
        let reason = Reason::new(reason, terms);
        Some(Compaction::parallel(groups, reason).into())
    }

    /// Turns the last level, a single run at its capacity, into a new last level as it is.
    pub(crate) fn deepen(&self) -> Option<Plan> {
        let last = self.last();
        let (bytes, capacity) = (self.bytes(last), self.capacity(last));
        let full = self.capacity_term(last, bytes, Relation::AtLeast);
        let is_whole = self.runs(last).len() == 1 && !self.is_any_held(last);
        if !is_whole || !full.is(Relation::AtLeast) || self.running.writes_from(last) {
            return None;
        }
        let reason = format!(
            "level {last}, the last, has {} against a capacity of {}: it becomes level {}",
            size(bytes),
            size(capacity),
            last + 1,
        );
        let reason = Reason::new(reason, vec![full.so(Effect::Becomes(last, last + 1))]);
        Some(Reshape { change: LevelChange::Add(last), reason }.into())
    }

    /// Sends one table of a level down, merged with the tables it overlaps there.
    pub(crate) fn send_down(
        &self,
        level: usize,
        how: Pick,
        seed: u64,
        cursor: Option<&[u8]>,
    ) -> Option<Plan> {
        self.send_down_of(self.run(level)?, level, how, seed, cursor)
    }

    /// The same of one of the level's runs, the oldest.
    pub(crate) fn send_down_of(
        &self,
        run: &Run,
        level: usize,
        how: Pick,
        seed: u64,
        cursor: Option<&[u8]>,
    ) -> Option<Plan> {
        let is_held = |table: &TableInfo| self.holds(&table.id);
        let candidates = Candidates::new(run, self.run(level + 1), &is_held);
        let table = pick(how, candidates, seed, cursor)?;
        let below = self.run(level + 1).map(|run| run.overlapping(&table.smallest, &table.largest));
        let overlaps: Vec<_> = below.into_iter().flatten().collect();

        let action = if overlaps.is_empty() {
            let bottom = level + 1 >= self.last();
            move_or_merge(table.entries, table.tombstones, bottom, self.rule.target_file_bytes)
        } else {
            self.merge()
        };
        let scattered = self.one_run_term(level);
        let (cause, term) = if scattered.is(Relation::Greater) {
            (self.scattered_text(level), scattered)
        } else {
            let (all, staying) = (self.bytes(level), self.staying(level));
            let (staying, limit) = (size(staying), size(self.capacity(level)));
            let have = match self.leaving_bytes(level) {
                0 => format!("{staying}"),
                leaving => {
                    format!("{}, without {} on the way down {staying},", size(all), size(leaving))
                }
            };
            let cause = format!("level {level} has {have} over {limit}");
            (cause, self.staying_term(level, Relation::Greater))
        };
        let reason = format!(
            "{cause}: {} goes down, overlapping {}",
            table.id,
            count(overlaps.len(), "table"),
        );
        let reason = Reason::new(reason, vec![term.so(Effect::Leaves(level))]);
        let mut inputs = vec![table.id];
        inputs.extend(overlaps.iter().map(|t| t.id));
        let destination = self.run_of(level + 1);
        let groups = vec![Group::new(inputs, destination, action)];
        Some(Compaction::parallel(groups, reason).into())
    }

    /// The score of a level: it is due at 1 or more. Level 0 counts its runs, and comes before any
    /// other level when writes are about to stall; L, with dynamic capacities, is due at its capacity,
    /// any other level above it.
    pub(crate) fn score(&self, level: usize) -> f64 {
        let ratio = |have: u64, limit: u64| have as f64 / limit.max(1) as f64;
        if level == 0 {
            return match self.is_level0_due() {
                true if self.nears_stop() => f64::INFINITY,
                true => ratio(self.waiting_runs, self.rule.l0_compaction_trigger),
                false => 0.0,
            };
        }
        let (have, limit) = (self.staying(level), self.capacity(level));
        let is_last = self.rule.dynamic_level_bytes && level == self.last();
        if have > limit || is_last && have == limit { ratio(have, limit) } else { 0.0 }
    }
}
