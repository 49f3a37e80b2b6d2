//! The plan to make after a policy's own plans were refused: it is always legal, so a wrong policy can
//! neither lose data nor block writes.
//!
//! 1. The oldest block of two or more neighbouring runs of level 0 that no running plan reads is merged
//!    in place, into the newest of them. Nothing lies between its inputs, so the order of versions is
//!    kept. If a running plan writes into the block, the validator refuses it and the fallback waits.
//! 2. Otherwise, if nothing is running and there is more than one run, the whole tree becomes one run
//!    of its deepest level: no table is left out, so none can be passed.

use crate::context::Running;
use crate::toolkit::format::count;
use crate::validate::validate;
use std::sync::Arc;
use terrane_types::{
    Action, Compaction, Destination, Group, Plan, Run, RunId, Shape, TableInfo, tables_of,
};

/// A legal plan that reduces the number of runs; `None` if there is none now.
#[must_use]
pub fn fallback(shape: &Shape, running: &Running, fresh: RunId) -> Option<Plan> {
    let plan = merge_level0(shape, running).or_else(|| merge_all(shape, running, fresh))?;
    validate(shape, running, &plan).is_ok().then_some(Plan::Compact(plan))
}

fn merge_level0(shape: &Shape, running: &Running) -> Option<Compaction> {
    let held = shape.runs_of(running.inputs());
    let is_free = |run: &Run| !held.iter().any(|place| place.level == 0 && place.run == run.id);
    let runs = &shape.levels().first()?.runs;
    let block = runs.rsplit(|run| !is_free(run)).find(|block| block.len() > 1)?;
    let destination = Destination { level: 0, run: block.first()?.id };
    let tables = tables_of(block).collect();
    let reason = format!("level 0 is merged in place: {} become one", count(block.len(), "run"));
    Some(merge(tables, destination, reason))
}

fn merge_all(shape: &Shape, running: &Running, fresh: RunId) -> Option<Compaction> {
    let runs: usize = shape.levels().iter().map(|level| level.runs.len()).sum();
    if runs < 2 || running.groups().next().is_some() {
        return None;
    }
    let destination = Destination { level: shape.deepest(), run: fresh };
    let tables = shape.between(0, shape.levels().len());
    let reason = format!("the whole tree is merged: {} become one", count(runs, "run"));
    Some(merge(tables, destination, reason))
}

/// One group of all `tables`, cut at the size of the largest of them.
fn merge(tables: Vec<&Arc<TableInfo>>, destination: Destination, reason: String) -> Compaction {
    let largest = tables.iter().map(|t| t.bytes).fold(1, u64::max);
    let inputs = tables.iter().map(|t| t.id).collect();
    let action = Action::merge(largest);
    Compaction::parallel(vec![Group::new(inputs, destination, action)], reason)
}
