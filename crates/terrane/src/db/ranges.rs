//! Ranges on demand: their size, and their compaction into one run.

use super::Engine;
use crate::error::{Closed, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::Range;
use std::ops::Bound;
use std::sync::Arc;
use terrane_policy::{
    Action, Compaction, Destination, Group, Observed, RunId, Shape, TableInfo, components, hull,
    validate,
};

/// What became of the wish to compact a range.
pub(crate) enum RangeCompaction {
    /// The range lies in one run already, and no tombstone can go.
    Nothing,
    /// This compaction does it.
    Begun(u64),
    /// This compaction must end first.
    Later(u64),
}

impl Engine {
    /// About how many bytes of tables hold the keys of a range.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn approximate_size(&self, keyspace: KeyspaceId, range: &Range) -> Result<u64> {
        let keyspaces = self.keyspaces.load();
        let keyspace = keyspaces.get(&keyspace).ok_or(Error::Closed(Closed::Keyspace))?;
        let tree = keyspace.view.load().tree.clone();
        Ok(tree
            .tables()
            .map(|live| {
                let properties = live.table().properties();
                let end = match &range.to {
                    Bound::Unbounded => u64::MAX,
                    Bound::Included(to) | Bound::Excluded(to) => properties.bytes_through(to),
                };
                let start = match &range.from {
                    Bound::Unbounded => 0,
                    Bound::Included(from) | Bound::Excluded(from) => properties.bytes_through(from),
                };
                end.min(live.table().info().bytes).saturating_sub(start)
            })
            .sum())
    }

    /// Begins a compaction of everything that lies in a range.
    pub(crate) fn compact_range(&self, id: KeyspaceId, range: &Range) -> Result<RangeCompaction> {
        let mut state = self.open_state()?;
        state.failed = None;
        let record = state.catalog.keyspaces.get(&id).ok_or(Error::Closed(Closed::Keyspace))?;
        let table_bytes = super::open::policy_options(&record.policy)?.table_bytes();
        let shape = record.shape.clone();
        let inputs = closure(&shape, range);
        if settled(&shape, &inputs) {
            return Ok(RangeCompaction::Nothing);
        }
        let deepest = shape.deepest();
        let bottom = shape.levels.get(deepest).and_then(|level| level.runs.last());
        let group = Group {
            inputs: inputs.iter().map(|t| t.id).collect(),
            destination: Destination {
                level: deepest,
                run: bottom.map_or(RunId(state.next_id), |run| run.id),
            },
            action: Action::merge(table_bytes),
        };
        let reason = format!("a range is compacted: {} tables become one run", inputs.len());
        let compaction = Compaction::parallel(vec![group], reason);
        if let Err(refusal) = validate(&shape, &state.running(id), &compaction) {
            let running = state.compactions.iter().find(|c| c.keyspace == id);
            return match running {
                Some(running) => Ok(RangeCompaction::Later(running.number)),
                None => Err(Error::invalid("range", "a range that can be compacted", refusal)),
            };
        }
        let number = self.begin(&mut state, id, compaction, None, Observed::default());
        drop(state);
        self.work_came();
        Ok(RangeCompaction::Begun(number))
    }

    /// Whether a compaction has begun and not ended.
    pub(crate) fn is_compacting(&self, number: u64) -> bool {
        super::lock(&self.state).compactions.iter().any(|c| c.number == number)
    }
}

/// Every table that lies in the range, and every one that overlaps the hull of these: nothing that
/// is left out can stand between them.
fn closure<'a>(shape: &'a Shape, range: &Range) -> Vec<&'a Arc<TableInfo>> {
    let mut inside = Vec::new();
    // The components in the range are neighbours, so that no hull holds a foreign table.
    for component in components(shape.between(0, shape.levels.len())) {
        let (smallest, largest) = hull(&component);
        if range.below_end(smallest) && range.above_start(largest) {
            inside.extend(component);
        }
    }
    inside
}

/// Whether the tables lie in one run without tombstones.
fn settled(shape: &Shape, inputs: &[&Arc<TableInfo>]) -> bool {
    let found = shape.find(inputs.iter().map(|t| t.id).collect());
    let mut places = found.iter().map(|placed| placed.place);
    let first = places.next();
    places.all(|place| Some(place) == first) && inputs.iter().all(|t| t.tombstones == 0)
}
