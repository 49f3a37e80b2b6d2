//! Leveling: vertical growth, partial compactions, capacities that adapt to the data.
//!
//! Below level 0 a level is one run. L is the deepest level, `N_i` the bytes of level i, and the
//! capacities are `C_i = max(B, N_L / T^(L-i))` for i < L, and `B * T^L` for L itself.
//!
//! 1. **Unite.** A level that has several runs (another policy left them) is made one run before
//!    anything else touches it: tables that overlap are merged, the others move. Running plans are
//!    taken to be this policy's own.
//! 2. Of the levels that are due, the one with the greatest score acts; a level that is due but has
//!    to wait for a running plan keeps the levels it needs from being taken meanwhile.
//!    * **Level 0**, when as many runs wait as its trigger says (score: runs / trigger). Its tables
//!      and those of level 1 that overlap them form connected components, one group each. A table
//!      alone moves; neighbours that fit into one table are joined.
//!    * **A level i < L over its capacity** (score: `N_i / C_i`) sends down one table with the tables
//!      it overlaps there: the one with the least ratio of overlap to its own bytes. Tables that
//!      are already on their way down count no more.
//!    * **Level L at its capacity** becomes level L+1 as it is; its old place is empty.

use crate::descend::descend;
use crate::groups::{Target, bring};
use crate::plan::{Action, Compaction, Destination, Group, Plan};
use crate::policy::{Policy, Running};
use crate::shape::{RunId, Shape, TableId, TableInfo};
use crate::words::{count, size};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// The leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Leveled {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: bytes of a usual flush, and the least capacity of a level.
    pub base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub table_bytes: u64,
    /// Runs that wait in level 0 before they are merged into level 1.
    pub level0_runs: u64,
}

impl Default for Leveled {
    fn default() -> Self {
        Leveled { size_ratio: 10, base_bytes: 4 << 20, table_bytes: 2 << 20, level0_runs: 4 }
    }
}

impl Policy for Leveled {
    fn name(&self) -> &'static str {
        "leveled"
    }

    fn plan(&self, shape: &Shape, running: &Running, fresh: RunId) -> Option<Plan> {
        let view = View { rule: self, shape, running, held: running.held(), fresh };
        view.unite().or_else(|| view.act()).map(Plan::Compact)
    }
}

/// One call of the planner.
struct View<'a> {
    rule: &'a Leveled,
    shape: &'a Shape,
    running: &'a Running,
    held: HashSet<TableId>,
    fresh: RunId,
}

impl View<'_> {
    /// L: the deepest level, but at least 1.
    fn last(&self) -> usize {
        self.shape.deepest().max(1)
    }

    /// `C_i` in bytes.
    fn capacity(&self, level: usize) -> u64 {
        let rule = self.rule;
        let power = |n: usize| rule.size_ratio.saturating_pow(u32::try_from(n).unwrap_or(u32::MAX));
        match self.last().checked_sub(level) {
            None | Some(0) => rule.base_bytes.saturating_mul(power(level)),
            Some(above) => rule.base_bytes.max(self.bytes(self.last()) / power(above).max(1)),
        }
    }

    fn bytes(&self, level: usize) -> u64 {
        self.shape.levels.get(level).map_or(0, |l| l.bytes())
    }

    fn is_held(&self, table: &TableInfo) -> bool {
        self.held.contains(&table.id)
    }

    fn runs(&self, level: usize) -> usize {
        self.shape.levels.get(level).map_or(0, |l| l.runs.len())
    }

    /// The tables of a level below 0, which is one run.
    fn tables(&self, level: usize) -> &[Arc<TableInfo>] {
        let run = self.shape.levels.get(level).and_then(|l| l.runs.first());
        run.map_or(&[], |run| &run.tables)
    }

    /// The run of a level: the one that is there, the one that is promised, or a new one.
    fn run_of(&self, level: usize) -> Destination {
        let there = self.shape.levels.get(level).and_then(|l| l.runs.first()).map(|run| run.id);
        let promised = || {
            let mut groups = self.running.groups().map(|g| g.destination);
            groups.find(|d| d.level == level).map(|d| d.run)
        };
        Destination { level, run: there.or_else(promised).unwrap_or(self.fresh) }
    }

    fn merge(&self) -> Action {
        Action::Merge { cuts: Vec::new(), table_bytes: self.rule.table_bytes }
    }

    fn target<'t>(&self, destination: Destination, there: &'t [Arc<TableInfo>]) -> Target<'t> {
        let bottom = destination.level >= self.last();
        Target { destination, there, bottom, table_bytes: self.rule.table_bytes }
    }

    /// Step 1.
    fn unite(&self) -> Option<Compaction> {
        (1..self.shape.levels.len()).filter(|level| self.runs(*level) > 1).find_map(|depth| {
            let level = self.shape.levels.get(depth)?;
            let into = level.runs.first()?;
            let destination = Destination { level: depth, run: into.id };
            if level.tables().any(|t| self.is_held(t)) {
                return None;
            }
            let older = level.runs.iter().skip(1).flat_map(|run| &run.tables);
            let groups = bring(older, self.target(destination, &into.tables));
            let reason = format!(
                "level {depth} has {} runs, not one: {} unite them",
                level.runs.len(),
                count(groups.len(), "group"),
            );
            Some(Compaction { groups, reason })
        })
    }

    /// Step 2.
    fn act(&self) -> Option<Compaction> {
        let mut due: Vec<_> = (0..=self.last())
            .map(|level| (level, self.score(level)))
            .filter(|(_, score)| *score >= 1.0)
            .collect();
        due.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let mut kept: HashSet<_> = (1..=self.last()).filter(|l| self.runs(*l) > 1).collect();
        for (level, _) in due {
            if kept.contains(&level) || kept.contains(&(level + 1)) {
                continue;
            }
            let plan = match level {
                0 => self.admit(),
                _ if level == self.last() => self.deepen(),
                _ => self.send_down(level),
            };
            if plan.is_some() {
                return plan;
            }
            kept.extend([level, level + 1]);
        }
        None
    }

    /// At 1 or more the level is due.
    fn score(&self, level: usize) -> f64 {
        let ratio = |have: u64, limit: u64| have as f64 / limit.max(1) as f64;
        if level == 0 {
            let waiting = |run: &&crate::Run| !run.tables.iter().any(|t| self.is_held(t));
            let runs =
                self.shape.levels.first().map_or(0, |l| l.runs.iter().filter(waiting).count());
            ratio(runs as u64, self.rule.level0_runs)
        } else if level == self.last() {
            ratio(self.bytes(level), self.capacity(level))
        } else {
            let (have, limit) = (self.staying(level), self.capacity(level));
            if have > limit { ratio(have, limit) } else { 0.0 }
        }
    }

    /// Bytes of a level that no running group takes away.
    fn staying(&self, level: usize) -> u64 {
        let leaving: HashSet<_> = (self.running.groups())
            .filter(|g| g.destination.level > level)
            .flat_map(|g| &g.inputs)
            .collect();
        self.tables(level)
            .iter()
            .filter(|t| !leaving.contains(&t.id))
            .map(|t| t.bytes)
            .fold(0, u64::saturating_add)
    }

    /// Level 0 into level 1.
    fn admit(&self) -> Option<Compaction> {
        let level = self.shape.levels.first()?;
        if level.tables().any(|t| self.is_held(t)) {
            return None;
        }
        let destination = self.run_of(1);
        let groups = bring(level.tables(), self.target(destination, self.tables(1)));
        let inputs: Vec<_> = groups.iter().flat_map(|g| &g.inputs).collect();
        if inputs.iter().any(|id| self.held.contains(id)) {
            return None;
        }
        let reason = format!(
            "level 0 has {} of {}: they go into level 1 with {} there, in {}",
            level.runs.len(),
            count(self.rule.level0_runs as usize, "run"),
            count(inputs.len().saturating_sub(level.tables().count()), "table"),
            count(groups.len(), "group"),
        );
        Some(Compaction { groups, reason })
    }

    /// The last level becomes a new last level, as it is.
    fn deepen(&self) -> Option<Compaction> {
        let last = self.last();
        let tables = self.tables(last);
        if tables.iter().any(|t| self.is_held(t)) {
            return None;
        }
        let reason = format!(
            "level {last}, the last, has {} of {}: it becomes level {}",
            size(self.bytes(last)),
            size(self.capacity(last)),
            last + 1,
        );
        let inputs = tables.iter().map(|t| t.id).collect();
        let destination = self.run_of(last + 1);
        Some(Compaction {
            groups: vec![Group { inputs, destination, action: Action::Move }],
            reason,
        })
    }

    /// One table of a level, with what it overlaps in the next.
    fn send_down(&self, level: usize) -> Option<Compaction> {
        let below = self.shape.levels.get(level + 1).and_then(|l| l.runs.first());
        let overlaps =
            |t: &TableInfo| below.map_or(&[][..], |r| r.overlapping(&t.smallest, &t.largest));
        let ratio = |t: &TableInfo| {
            let bytes: u64 = overlaps(t).iter().map(|o| o.bytes).fold(0, u64::saturating_add);
            bytes as f64 / t.bytes.max(1) as f64
        };
        let free = |t: &TableInfo| !self.is_held(t) && !overlaps(t).iter().any(|o| self.is_held(o));
        let (picked, _) = (self.tables(level).iter())
            .filter(|t| free(t))
            .map(|t| (t, ratio(t)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))?;

        let overlapping = overlaps(picked);
        let action = if overlapping.is_empty() {
            let bottom = level + 1 >= self.last();
            descend(std::slice::from_ref(picked), bottom, self.rule.table_bytes)
        } else {
            self.merge()
        };
        let reason = format!(
            "level {level} has {} over {}: {} goes down, overlapping {}",
            size(self.staying(level)),
            size(self.capacity(level)),
            picked.id,
            count(overlapping.len(), "table"),
        );
        let inputs = std::iter::once(picked).chain(overlapping).map(|t| t.id).collect();
        let destination = self.run_of(level + 1);
        Some(Compaction { groups: vec![Group { inputs, destination, action }], reason })
    }
}
