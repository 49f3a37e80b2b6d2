//! Pipelining, as an option of leveling (DownForce).
//!
//! 1. While merges into level 2 hold tables of level 1 that level 0 needs, level 0 goes into a second, newer
//!    run of level 1.
//! 2. The older one then goes down whole, table by table, beside merges into the newer.

use super::pick::Pick;
use super::view::View;
use crate::ALL;
use terrane_types::{Group, Plan, TableId};

impl View<'_> {
    /// Plans level 0 and the runs of level 1 if it is `chosen`; returns `None` to plan as without it.
    pub(crate) fn pipelined(&self, chosen: bool) -> Option<Option<Plan>> {
        if !ALL || !chosen {
            return None;
        }
        let runs = self.runs(1);
        // Groups of another setting, which take tables of the older run into the newer one.
        let in_level1 = |id: &TableId| self.level(1).any(|table| table.id == *id);
        let unite =
            |group: &Group| group.destination.level == 1 && group.inputs.iter().all(in_level1);
        let into = match runs.len() {
            // The first run's tables go down: level 0 need not wait for them.
            1 if self.is_any_held(1) => self.new_run(1),
            2 if !self.running.groups().any(unite) => self.leveled(1),
            _ => return None,
        };
        let is_due = self.is_level0_due();
        let fits = || self.empty(0, self.leveled(1)).or_else(|| self.empty(0, into));
        let down = is_due.then(fits).flatten().or_else(|| self.merge_within_l0());
        if down.is_some() || runs.len() == 1 {
            return down.map(Some);
        }
        let older = runs.last()?;
        let oldest = self.send_down_of(older, 1, Pick::LeastOverlap, 0, None);
        Some(oldest.or_else(|| {
            let score = |level| if level > 1 { self.score(level) } else { 0.0 };
            self.compact_highest_score(2, &score, &|level| match level {
                _ if self.rule.dynamic_level_bytes && level == self.last() => self.deepen(),
                _ => self.send_down(level, Pick::LeastOverlap, 0, None),
            })
        }))
    }
}
