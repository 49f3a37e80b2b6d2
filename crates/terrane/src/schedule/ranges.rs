//! Ranges on demand: their size, and their compaction in slices.
//!
//! 1. A requested range waits in the state, with the last sequence that is part of it.
//! 2. Slice by slice (`terrane_policy::slices`) it becomes part of the bottom run: each a compaction of
//!    its own, that takes effect alone and is there after a restart.
//! 3. Policies continue meanwhile. After a slice the keyspace's policy is asked first; then it is the
//!    range's turn, whatever the policy started. Where a compaction that runs is in its way, no other
//!    of the keyspace starts before it: so neither puts the other off for ever.
//! 4. A policy may undo what each slice does, such as by moving a table below the bottom run. After several times
//!    the slices that the keyspace's bytes should need, the policy is not called before the range has ended.

use super::planning::begin;
use crate::engine::{Background, Engine, Keyspaces, RangeRequest, Stage, State, StoreState};
use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::version::{Tree, has_expired, hides_any};
use std::sync::Arc;
use terrane_policy::{
    Observed, PolicyOptions, Slice, Slicing, TableId, TableInfo, next_slice, validate,
};
use terrane_table::read::KeyRange;

/// Tables, in size, that a slice should have.
const SLICE_TABLES: u64 = 8;

/// Calls of a policy during a range, besides those for each slice.
const YIELDS: u64 = 16;
/// Calls of a policy during a range for each slice that the bytes of the keyspace fill.
const YIELDS_PER_SLICE: u64 = 4;

/// The most memtables, in size, that a table of a slice has, for policies of very large tables.
const TABLE_MEMTABLES: u64 = 4;

/// A range of which the next slice is sought: as it is at one moment.
pub(crate) struct Seeking {
    number: u64,
    keyspace: KeyspaceId,
    range: KeyRange,
    through: Seq,
    before: TableId,
    oldest_snapshot: Seq,
    end: Option<Vec<u8>>,
    target_file_bytes: u64,
    tree: Arc<Tree>,
}

/// Requests a compact range, including writes through that sequence. Returns the number of the request.
pub(crate) fn request_range(
    engine: &Engine,
    id: KeyspaceId,
    range: KeyRange,
    through: Seq,
) -> Result<u64> {
    let mut state = engine.state.lock_open()?;
    state.health.retry();
    let record = state.version_set.keyspaces.get(&id).ok_or(Closed::Keyspace)?;
    let target_file_bytes = PolicyOptions::stored(&record.policy).0.target_file_bytes();
    let target_file_bytes =
        target_file_bytes.min(engine.options.memtable_bytes.saturating_mul(TABLE_MEMTABLES));
    let slices = record.shape.bytes() / target_file_bytes.saturating_mul(SLICE_TABLES).max(1);
    let number = engine.ids.fresh();
    state.planner.ranges.push(RangeRequest {
        number,
        keyspace: id,
        range,
        through,
        before: TableId(number),
        oldest_snapshot: engine.snapshots.oldest(),
        end: None,
        target_file_bytes,
        yields: slices.saturating_mul(YIELDS_PER_SLICE).saturating_add(YIELDS),
        stage: Stage::Queued,
    });
    drop(state);
    engine.background.notify_work();
    Ok(number)
}

/// Takes a request back: no further slice starts. Says why it was refused, if it was.
pub(crate) fn take_back_range(
    store: &StoreState,
    background: &Background,
    number: u64,
) -> Result<()> {
    let taken = store.lock().planner.ranges.take_back(number);
    // Its keyspace's policy may have waited for it.
    background.notify_work();
    taken
}

/// The next range that may run, if there is one.
pub(crate) fn next_range(keyspaces: &Keyspaces, state: &mut State) -> Option<Seeking> {
    let request = state.planner.next_range()?;
    let tree = keyspaces.load().get(&request.keyspace)?.tree();
    request.stage = Stage::Planning;
    Some(Seeking {
        number: request.number,
        keyspace: request.keyspace,
        range: request.range.clone(),
        through: request.through,
        before: request.before,
        oldest_snapshot: request.oldest_snapshot,
        end: request.end.clone(),
        target_file_bytes: request.target_file_bytes,
        tree,
    })
}

/// Finds the next slice of a range, with no lock held, and starts its compaction.
pub(crate) fn slice(engine: &Engine, seeking: Seeking) {
    let Seeking { number, keyspace: id, range, tree, target_file_bytes, .. } = seeking;
    let readers = engine.snapshots.readers();
    let is_filtered = engine.options.compaction_filter.is_some();
    let next = next_slice(
        tree.shape(),
        &Slicing {
            ends_before: &|t: &TableInfo| !range.above_start(&t.largest),
            starts_behind: &|t: &TableInfo| !range.below_end(&t.smallest),
            through: seeking.through,
            before: seeking.before,
            oldest_snapshot: seeking.oldest_snapshot,
            is_hidden: &|t: &TableInfo| {
                is_filtered || hides_any(&tree, t, &readers) || has_expired(t, &readers)
            },
            end: seeking.end.as_deref(),
            slice_bytes: target_file_bytes.saturating_mul(SLICE_TABLES),
            target_file_bytes,
        },
    );
    let mut state = engine.state.lock();
    if state.planner.ranges.find(number).is_none() {
        return;
    }
    let (compaction, end) = match next {
        Slice::Done => {
            let _ = state.planner.ranges.take_back(number);
            return;
        }
        Slice::Cut(compaction, end) => (compaction, Some(end)),
        Slice::Merge(compaction) => (compaction, None),
    };
    let Some(keyspace) = engine.keyspaces.get(id) else { return };
    let now = keyspace.tree();
    let running = state.planner.running(id);
    let (stage, end) = match validate(now.shape(), &running, &compaction) {
        Ok(()) => {
            let begun = begin(engine, &mut state, id, compaction, None, Observed::default());
            (Stage::Running(begun), end)
        }
        Err(_) if !running.compactions.is_empty() => (Stage::Blocked, seeking.end),
        Err(_) if !Arc::ptr_eq(&now, &tree) => (Stage::Ready, seeking.end),
        Err(refusal) => {
            let why = Error::invalid("range", "a range that can be compacted", refusal);
            (Stage::Failed(why), None)
        }
    };
    if let Some(request) = state.planner.ranges.find(number) {
        if matches!(stage, Stage::Running(_)) {
            request.yields = request.yields.saturating_sub(1);
        }
        (request.stage, request.end) = (stage, end);
    }
}
