//! The steps that the vertical policies share. Each returns `None` if it does not apply or must wait.

use super::format::{count, size};
use super::group_builder::{Target, build_groups};
use super::pick::{Candidates, Pick, pick};
use super::trivial_move::move_or_merge;
use super::view::View;
use terrane_types::{
    Compaction, Destination, Group, LevelChange, Plan, Reason, Relation, Reshape, Run, TableInfo,
    Term, inputs_of, sort_by, tables_of,
};

/// At least this many runs may wait in level 0 while they hold less than B bytes.
const LIGHT_RUNS: u64 = 4;

/// In a merge within level 0, a run may be this many times as large as all newer ones together.
const GROWTH: u64 = 4;

impl View<'_> {
    /// Whether the waiting runs of level 0 are due: there are enough of them, with B bytes.
    pub(crate) fn is_level0_due(&self) -> bool {
        self.waiting_runs >= self.rule.l0_compaction_trigger && !self.is_light()
    }

    fn is_light(&self) -> bool {
        self.waiting_bytes < self.rule.level_base_bytes
    }

    /// Merges tiny flushes within level 0, since each merge into the next level may rewrite much of
    /// that level.
    pub(crate) fn merge_within_l0(&self) -> Option<Plan> {
        if !self.is_light() {
            return None;
        }
        self.merge_in_level0(&format!("less than {} in them", size(self.rule.level_base_bytes)))
    }

    /// If enough runs wait in level 0, merges the newest two, and each older one while it is at most
    /// [`GROWTH`] times as large as those taken. So runs grow by a factor before they are merged again.
    pub(crate) fn merge_in_level0(&self, why: &str) -> Option<Plan> {
        if self.waiting_runs < self.rule.l0_compaction_trigger.max(LIGHT_RUNS) {
            return None;
        }
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
        self.merge_runs(runs.get(..taken)?, why)
    }

    /// Merges the newest neighbours of similar size in level 0, if there are enough, while writes
    /// continue but runs must wait. This bounds level 0 by its number of runs: if it merged runs of any
    /// size, it would absorb everything that is written, as it has no capacity.
    pub(crate) fn merge_alike_in_level0(&self, why: &str) -> Option<Plan> {
        let width = usize::try_from(self.rule.l0_compaction_trigger.max(LIGHT_RUNS)).ok()?;
        let alike = self.runs(0).windows(width).find(|runs| {
            let sizes = || runs.iter().map(Run::bytes);
            let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
            let held = runs.iter().any(|run| self.is_any_held_of(0, run));
            !held && most <= least.saturating_mul(2)
        });
        self.merge_runs(alike?, why)
    }

    /// Merges within level 0, one merge at a time, while its due runs wait for a running plan and writes
    /// are about to stall.
    pub(crate) fn merge_while_waiting(&self) -> Option<Plan> {
        let merges = self.running.groups().any(|g| g.destination.level == 0);
        if merges || !self.is_level0_due() || !self.nears_stop() {
            return None;
        }
        self.merge_alike_in_level0("a merge below keeps them waiting")
    }

    /// Plans merges in level 0 for policies that admit: of tiny flushes, and of runs of similar size
    /// shortly before writes stall.
    pub(crate) fn gather(&self) -> Option<Plan> {
        self.merge_within_l0()
            .or_else(|| if self.is_idle() { None } else { self.merge_while_waiting() })
    }

    /// Merges neighbours of level 0 into the newest of them; what waits there is light, or due.
    fn merge_runs(&self, block: &[Run], why: &str) -> Option<Plan> {
        if block.len() < 2 {
            return None;
        }
        let destination = Destination { level: 0, run: block.first()?.id };
        let reason = format!(
            "level 0 has {} but {why}: {} of them are merged in place",
            count(self.runs(0).len(), "run"),
            block.len(),
        );
        let reason = Reason::new(reason, self.level0_terms());
        let inputs = tables_of(block).map(|t| t.id).collect();
        let groups = vec![Group::new(inputs, destination, self.merge())];
        Some(Compaction::parallel(groups, reason).into())
    }

    /// Returns the reason for merging everything down to at least `least`: the level above it, `over`
    /// less one, has too much, or it is `scattered` over several runs, or level 0 is due. `least` is the
    /// greatest of these.
    pub(crate) fn cause(
        &self,
        least: usize,
        over: Option<usize>,
        scattered: Option<usize>,
    ) -> Reason {
        match (over, scattered) {
            (Some(below), _) if least == below => {
                let level = below - 1;
                let (have, limit) = (self.bytes(level), self.capacity(level));
                let text = format!("level {level} has {} over {}", size(have), size(limit));
                Reason::new(text, vec![self.capacity_term(level, have, Relation::Greater)])
            }
            (_, Some(level)) => {
                let text = format!("level {level} has {} runs, not one", self.runs(level).len());
                Reason::new(text, vec![self.one_run_term(level)])
            }
            _ => {
                let text = format!("level 0 has {}", count(self.runs(0).len(), "run"));
                Reason::new(text, self.level0_terms())
            }
        }
    }

    fn one_run_term(&self, level: usize) -> Term {
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
        let reason = format!(
            "level {level} has {} runs, not one: {} unite them",
            self.runs(level).len(),
            count(groups.len(), "group"),
        );
        let reason = Reason::new(reason, vec![self.one_run_term(level)]);
        Some(Compaction::parallel(groups, reason).into())
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
            let runs = self.runs_term(level, Relation::AtLeast, "size-ratio", self.rule.size_ratio);
            vec![runs, self.capacity_term(level, self.staying(level), Relation::Greater)]
        };
        let reason = Reason::new(reason, terms);
        Some(Compaction::parallel(groups, reason).into())
    }

    /// Turns the last level, a single run at its capacity, into a new last level as it is.
    pub(crate) fn deepen(&self) -> Option<Plan> {
        let last = self.last();
        let (bytes, capacity) = (self.bytes(last), self.capacity(last));
        let shifts = self.running.writes_from(last);
        if self.runs(last).len() != 1 || bytes < capacity || self.is_any_held(last) || shifts {
            return None;
        }
        let reason = format!(
            "level {last}, the last, has {} against a capacity of {}: it becomes level {}",
            size(bytes),
            size(capacity),
            last + 1,
        );
        let terms = vec![self.capacity_term(last, bytes, Relation::AtLeast)];
        let reason = Reason::new(reason, terms);
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
        let reason = format!(
            "level {level} has {} over {}: {} goes down, overlapping {}",
            size(self.staying(level)),
            size(self.capacity(level)),
            table.id,
            count(overlaps.len(), "table"),
        );
        let terms = if self.runs(level).len() > 1 {
            vec![self.one_run_term(level)]
        } else {
            vec![self.capacity_term(level, self.staying(level), Relation::Greater)]
        };
        let reason = Reason::new(reason, terms);
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
