//! Compactions that seeks cause, as LevelDB has them, around a policy whose levels below level 0 are one run each.
//!
//! 1. A point read that asks a second table charges the first one, whether that one's filter passed the key or not.
//! 2. A table may be charged once for each of `bytes` of it, and at least `least` times.
//! 3. A table that was charged as often moves down, once the policy has nothing to do and nothing runs: it is merged
//!    with what it overlaps in the next level, if anything. From level 0 all tables move down.
//!
//! LevelDB's range reads, of which it samples one a megabyte, are left out. The engine does not have these compactions:
//! a filter answers for nearly all tables that do not hold a key, so that going on past one costs no block.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use terrane_policy::{
    Action, Compaction, Destination, Group, Plan, PlanContext, Refine, TableId, TableInfo,
    key_range,
};

/// The number of lookups that go on past a table before it is compacted. The defaults are LevelDB's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with parameters of seeks, or {}"
)]
pub struct Seeks {
    /// Bytes of a table for each lookup that may go on past it.
    pub bytes: u64,
    /// Lookups that may go on past any table.
    pub least: u64,
    /// Size at which an output is closed, in bytes.
    pub target_file_bytes: u64,
}

impl Default for Seeks {
    fn default() -> Self {
        Seeks { bytes: 16 << 10, least: 100, target_file_bytes: 2 << 20 }
    }
}

impl Seeks {
    /// Returns the lookups that may go on past a table (step 2).
    pub(crate) fn allowed(&self, table: &TableInfo) -> u64 {
        (table.bytes / self.bytes.max(1)).max(self.least).max(1)
    }

    /// Sends a table down, if it was charged as often as it may be.
    fn send_down(&self, context: &PlanContext, table: TableId, charged: u64) -> Option<Plan> {
        let levels = context.shape.levels();
        let found = context.shape.table(table)?;
        let (level, allowed) = (found.place.level, self.allowed(found.table));
        if charged < allowed {
            return None;
        }
        let runs = |level: usize| levels.get(level).map_or(&[][..], |level| &level.runs);
        let mut tables: Vec<&Arc<TableInfo>> = match runs(level) {
            runs if level == 0 => runs.iter().flat_map(|run| run.tables().iter()).collect(),
            [_] => vec![found.table],
            _ => return None,
        };
        let (smallest, largest) = key_range(&tables);
        let (run, below) = match runs(level + 1) {
            [] => (context.fresh, Vec::new()),
            [next] => (next.id, next.overlapping(smallest, largest).collect()),
            _ => return None,
        };
        let action = match below.is_empty() && tables.len() == 1 {
            true => Action::Move,
            false => Action::Merge {
                cuts: Vec::new(),
                target_file_bytes: self.target_file_bytes,
                filter_bits: None,
                split: None,
            },
        };
        tables.extend(below);
        let inputs = tables.iter().map(|table| table.id).collect();
        let group = Group::new(inputs, Destination { level: level + 1, run }, action);
        let reason =
            format!("level {level}: {charged} lookups went on past a table, of {allowed} that may");
        Some(Compaction::parallel(vec![group], reason.as_str()).into())
    }
}

impl Refine for Seeks {
    /// Plans to send a table down (step 3).
    fn otherwise(&self, context: &PlanContext) -> Option<Plan> {
        if !context.running.compactions.is_empty() {
            return None;
        }
        let mut passed = context.observed.table_reads.iter();
        passed.find_map(|(table, charged)| self.send_down(context, *table, *charged))
    }
}
