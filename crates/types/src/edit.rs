//! Edits: a shape and an edit make the next shape.
//!
//! 1. Dropped tables leave their runs.
//! 2. Added tables enter theirs by key, where they must not overlap their neighbours; missing runs and
//!    levels are created.
//! 3. Empty runs and trailing empty levels are removed. An empty level between others stays, so that
//!    levels keep their indices.
//!
//! Tables that the edit does not name are neither looked up nor compared, except the neighbours of
//! added ones.
//!
//! A change of levels ([`reshape`]) is a separate edit: only the indices of levels change.
//!
//! A table that moves is dropped and added by the same edit. Edits are read back from the manifest, so
//! none is trusted: one that does not fit the shape is a typed error and changes nothing.

use crate::ids::{Destination, RunId, TableId};
use crate::plan::LevelChange;
use crate::run::Run;
use crate::shape::{Level, MAX_LEVELS, Shape};
use crate::sort::sort_by;
use crate::table_info::TableInfo;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One atomic change of a shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeEdit {
    /// Tables that enter, each with its level and run.
    pub added: Vec<(usize, RunId, Arc<TableInfo>)>,
    /// Tables that leave.
    pub dropped: Vec<TableId>,
}

/// Reason why an edit does not fit a shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum EditError {
    /// A dropped table is missing, or dropped twice.
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
        /// Its level, according to the edit.
        level: usize,
    },
    /// A change of levels names a missing or non-empty level, or adds one too many.
    #[error("{change}, of {levels} levels: expected one below level 0, empty to be dropped")]
    NoSuchLevel {
        /// The change.
        change: LevelChange,
        /// The number of levels.
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
    change(&mut next, edit)?;
    Ok(next)
}

/// Applies an edit in place; one that does not fit leaves the shape half changed.
pub fn change(shape: &mut Shape, edit: &ShapeEdit) -> Result<(), EditError> {
    for id in &edit.dropped {
        if !shape.take(*id) {
            return Err(EditError::Missing(*id));
        }
    }
    for (level, run, table) in &edit.added {
        if !shape.register(table, *run) {
            return Err(EditError::Present(table.id));
        }
        if table.smallest > table.largest {
            return Err(EditError::Inverted(table.id));
        }
        if *level >= MAX_LEVELS {
            return Err(EditError::TooDeep { table: table.id, level: *level });
        }
    }
    let mut entering: Vec<_> = edit.added.iter().collect();
    sort_by(&mut entering, |(l, r, a), (m, s, b)| (l, r, &a.smallest).cmp(&(m, s, &b.smallest)));
    for tables in entering.chunk_by(|(l, r, _), (m, s, _)| (l, r) == (m, s)) {
        enter(shape, tables)?;
    }
    let levels = shape.levels_mut();
    for level in levels.iter_mut() {
        level.runs.retain(|run| !run.tables().is_empty());
    }
    while levels.last().is_some_and(|level| level.runs.is_empty()) {
        levels.pop();
    }
    Ok(())
}

/// The shape after a change of its levels.
pub fn reshape(shape: &Shape, change: LevelChange) -> Result<Shape, EditError> {
    let mut next = shape.clone();
    let levels = next.levels_mut();
    let level = change.level();
    let is_there = (1..levels.len()).contains(&level);
    let fits = match change {
        LevelChange::Add(_) => levels.len() < MAX_LEVELS,
        LevelChange::Drop(_) => levels.get(level).is_some_and(|l| l.runs.is_empty()),
    };
    if !is_there || !fits {
        return Err(EditError::NoSuchLevel { change, levels: levels.len() });
    }
    match change {
        LevelChange::Add(_) => levels.insert(level, Level::default()),
        LevelChange::Drop(_) => drop(levels.remove(level)),
    }
    Ok(next)
}

/// Step 2, for the tables that enter one run, in key order.
fn enter(shape: &mut Shape, tables: &[&(usize, RunId, Arc<TableInfo>)]) -> Result<(), EditError> {
    let Some(&&(level, id, _)) = tables.first() else { return Ok(()) };
    let Some(run) = run_at(shape, level, id) else { return Ok(()) };
    for (.., table) in tables {
        run.add(table).map_err(|(first, second)| {
            let run = Destination { level, run: id };
            EditError::Overlap { run, first, second }
        })?;
    }
    Ok(())
}

/// The run of this place, created if missing.
fn run_at(shape: &mut Shape, level: usize, id: RunId) -> Option<&mut Run> {
    let levels = shape.levels_mut();
    if levels.len() <= level {
        levels.resize_with(level + 1, Level::default);
    }
    let runs = &mut levels.get_mut(level)?.runs;
    let at = runs.partition_point(|run| run.id > id);
    if runs.get(at).is_none_or(|run| run.id != id) {
        runs.insert(at, Run::new(id, Vec::new()));
    }
    runs.get_mut(at)
}
