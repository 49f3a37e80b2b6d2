//! Installing a change: a shape and an edit make the next shape.
//!
//! 1. The dropped tables leave their runs.
//! 2. The added ones enter theirs; a run, or a level, that is not there yet is created.
//! 3. Runs are sorted by key and checked for disjointness; empty runs and trailing empty levels
//!    vanish. An empty level between others stays, so that a level keeps its index.
//!
//! A change of levels ([`reshape`]) is an edit of its own: nothing but the levels' indices changes.
//!
//! A table that moves is dropped and added by the same edit. Edits are read back from the manifest,
//! so none is trusted: one that does not fit the shape is a typed error and changes nothing.

use crate::plan::{Destination, LevelChange};
use crate::shape::{Level, MAX_LEVELS, Run, RunId, Shape, TableId, TableInfo};
use crate::sort::sort_by;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// One atomic change of a shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeEdit {
    /// Tables that enter, each with its level and run.
    pub added: Vec<(usize, RunId, Arc<TableInfo>)>,
    /// Tables that leave.
    pub dropped: Vec<TableId>,
}

/// Why an edit does not fit a shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum EditError {
    /// A dropped table is not there, or is dropped twice.
    #[error("the edit drops {0}, which the shape does not hold")]
    Missing(TableId),
    /// An added table's id is taken.
    #[error("the edit adds {0}, which the shape already holds")]
    Present(TableId),
    /// An added table ends before it starts.
    #[error("the edit adds {0}, whose smallest key is above its largest")]
    Inverted(TableId),
    /// An added table's level is beyond [`MAX_LEVELS`].
    #[error("the edit adds {table} at level {level}: expected a level below {MAX_LEVELS}")]
    TooDeep {
        /// The table.
        table: TableId,
        /// Its level, as the edit says.
        level: usize,
    },
    /// A change of levels names a level that is not there, or not empty, or is one too many.
    #[error("{change}, of {levels} levels: expected one below level 0, empty to be dropped")]
    NoSuchLevel {
        /// The change.
        change: LevelChange,
        /// How many levels there are.
        levels: usize,
    },
    /// Two tables of one run would overlap.
    #[error("the edit leaves {first} and {second} overlapping in {run}")]
    Overlap {
        /// The run.
        run: Destination,
        /// The table that starts first.
        first: TableId,
        /// The table that starts before the first ends.
        second: TableId,
    },
}

/// The shape after `edit`.
pub fn apply(shape: &Shape, edit: &ShapeEdit) -> Result<Shape, EditError> {
    let mut next = shape.clone();
    let mut present = drop_tables(&mut next, &edit.dropped)?;
    let mut touched = Vec::new();
    for (level, run, table) in &edit.added {
        if !present.insert(table.id) {
            return Err(EditError::Present(table.id));
        }
        if table.smallest > table.largest {
            return Err(EditError::Inverted(table.id));
        }
        if *level >= MAX_LEVELS {
            return Err(EditError::TooDeep { table: table.id, level: *level });
        }
        add_table(&mut next, *level, *run, table);
        if touched.last() != Some(&(*level, *run)) {
            touched.push((*level, *run));
        }
    }
    for (depth, level) in next.levels.iter_mut().enumerate() {
        level.runs.retain(|run| !run.tables.is_empty());
        for run in level.runs.iter_mut().filter(|run| touched.contains(&(depth, run.id))) {
            sort(depth, run)?;
        }
    }
    while next.levels.last().is_some_and(|level| level.runs.is_empty()) {
        next.levels.pop();
    }
    Ok(next)
}

/// The shape after a change of its levels.
pub fn reshape(shape: &Shape, change: LevelChange) -> Result<Shape, EditError> {
    let mut next = shape.clone();
    let level = change.level();
    let is_there = (1..shape.levels.len()).contains(&level);
    let fits = match change {
        LevelChange::Add(_) => shape.levels.len() < MAX_LEVELS,
        LevelChange::Drop(_) => shape.levels.get(level).is_some_and(|l| l.runs.is_empty()),
    };
    if !is_there || !fits {
        return Err(EditError::NoSuchLevel { change, levels: shape.levels.len() });
    }
    match change {
        LevelChange::Add(_) => next.levels.insert(level, Level::default()),
        LevelChange::Drop(_) => drop(next.levels.remove(level)),
    }
    Ok(next)
}

/// Takes tables out; returns the ids of those that stay.
fn drop_tables(shape: &mut Shape, dropped: &[TableId]) -> Result<HashSet<TableId>, EditError> {
    let mut present: HashSet<_> = shape.tables().map(|(_, _, t)| t.id).collect();
    for id in dropped {
        if !present.remove(id) {
            return Err(EditError::Missing(*id));
        }
    }
    if !dropped.is_empty() {
        for run in shape.levels.iter_mut().flat_map(|level| &mut level.runs) {
            run.tables.retain(|t| present.contains(&t.id));
        }
    }
    Ok(present)
}

/// Puts a table at the end of its run; the run is sorted once all are in.
fn add_table(shape: &mut Shape, level: usize, id: RunId, table: &Arc<TableInfo>) {
    if shape.levels.len() <= level {
        shape.levels.resize_with(level + 1, Level::default);
    }
    let Some(level) = shape.levels.get_mut(level) else { return };
    let at = level.runs.partition_point(|run| run.id > id);
    if level.runs.get(at).is_none_or(|run| run.id != id) {
        level.runs.insert(at, Run { id, tables: Vec::new() });
    }
    if let Some(run) = level.runs.get_mut(at) {
        run.tables.push(Arc::clone(table));
    }
}

fn sort(level: usize, run: &mut Run) -> Result<(), EditError> {
    sort_by(&mut run.tables, |a, b| a.smallest.cmp(&b.smallest));
    let mut pairs = run.tables.iter().zip(run.tables.iter().skip(1));
    match pairs.find(|(first, second)| second.smallest <= first.largest) {
        None => Ok(()),
        Some((first, second)) => Err(EditError::Overlap {
            run: Destination { level, run: run.id },
            first: first.id,
            second: second.id,
        }),
    }
}
