//! A flush takes effect: its tables are a new run of level 0, and logs retire.

use super::logs::retire_logs;
use super::policy_state::remembered;
use super::tree::{next_tree, report_deletes};
use crate::engine::{Background, EditLock, Engine, Snapshots, StoreState, WrittenFlush};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::jobs::Flushed;
use crate::keyspace::KeyspaceId;
use crate::rules::Rule;
use crate::storage::FileId;
use crate::version::{Change, Needs, VersionSet};
use crate::wal::erase;
use terrane_policy::{Observed, Reason, RunId, Step, TableInfo};

/// Returns the change that records the range deletes applied by a flush into `tables`, without those that hide nothing.
fn name_deletes(
    snapshots: &Snapshots,
    version_set: &VersionSet,
    id: KeyspaceId,
    flush: &WrittenFlush,
    tables: &[TableInfo],
) -> Option<Change> {
    let named = &flush.flushed.range_deletes;
    let (from, to) = named.hull()?;
    let record = version_set.keyspaces.get(&id)?;
    let mut list = record.range_deletes.slice(from, to);
    let before = list.clone();
    list.merge(named);
    let (flushed, readers) = (flush.through, snapshots.readers());
    let needs = Needs { record, flushed, dropped: &[], added: tables, readers };
    let range_deletes = needs.of(&list, from, to);
    let (from, to) = (from.to_vec(), to.clone());
    (range_deletes != before).then_some(Change::RangeDeletes {
        keyspace: id,
        from,
        to,
        range_deletes,
    })
}

/// A flush job has written its tables (or had nothing to write). Returns `false` if the keyspace
/// is gone.
pub(super) fn install_flushed(
    engine: &Engine,
    id: KeyspaceId,
    through: Seq,
    flushed: Flushed,
) -> Result<bool> {
    engine.log.syncs.usable()?;
    let needs = through.max(flushed.range_deletes.newest());
    if Rule::LogBeforeInstall.holds() && engine.log.syncs.synced() < needs {
        engine.sync()?;
    }
    let edits = engine.state.lock_edits()?;
    if !engine.state.lock().flushes.written(id, through, flushed) {
        return Ok(false);
    }
    while install_flush(engine, &edits, id)? {}
    Ok(true)
}

/// Installs the oldest flush of a keyspace if its tables are written.
fn install_flush(engine: &Engine, edits: &EditLock<'_>, id: KeyspaceId) -> Result<bool> {
    let mut state = engine.state.lock();
    let Some(flush) = state.flushes.next_written(id, Rule::FlushOrder.holds()) else {
        return Ok(false);
    };
    let keyspace = engine.keyspaces.get(id);
    let Some(keyspace) = keyspace else { return Ok(false) };

    let run = RunId(engine.ids.fresh());
    let mut changes = vec![Change::Flushed { keyspace: id, through: flush.through }];
    let mut retired = retire_logs(engine, &mut state, &flush.memtable, &mut changes);
    let version_set = state.version_set.clone();
    drop(state);
    let tables: Vec<_> =
        flush.flushed.tables.iter().map(|t| TableInfo::clone(t.table().info())).collect();
    let added: Vec<_> = tables.iter().map(|info| FileId::table(info.id.0)).collect();
    changes.extend(tables.iter().cloned().map(|info| Change::AddTable {
        keyspace: id,
        level: 0,
        run,
        info,
    }));
    let named = name_deletes(&engine.snapshots, &version_set, id, &flush, &tables);
    let renames = named.is_some();
    changes.extend(named);
    let step = Step::Flush { plan: &flush.flushed.plan, tables: &tables };
    let nothing = Observed::default();
    let (change, decisions) =
        remembered(&engine.jobs.events, &version_set, &keyspace, &nothing, step);
    changes.extend(change);
    let prepared = edits.prepare(changes)?;
    let tree = next_tree(&engine.options, &prepared.version_set, &keyspace, &flush.flushed.tables);
    let deletes = tree.as_ref().filter(|_| renames).map(|tree| tree.range_deletes().clone());
    // Between here and the end the memtable is still the queue's: only seals touch the queue,
    // and they add to its end.
    let committed = edits.commit(prepared, &added, &retired.dropped);
    let mut state =
        committed.inspect_err(|_| requeue_flushes(&engine.state, &engine.background, id))?;
    state.flushes.installed(id, &flush);
    let full = state.logs.remove_retired(&mut retired);
    engine.keyspaces.show(&state, &keyspace, tree, Some(&flush.memtable));
    engine.memtables.free_sealed(flush.memtable.bytes() as u64);
    state.planner.queue(id);
    report_deletes(&engine.jobs.events, id, deletes);
    if !tables.is_empty() || flush.memtable.deletions() > 0 {
        engine.counters.flushed(tables.iter().map(|info| info.bytes).sum());
        let Reason { text: reason, terms } = flush.flushed.plan.reason;
        let through = flush.through;
        engine.emit(|| Event::Flushed { keyspace: id, run, tables, reason, terms, through });
    }
    engine.report_policy(&state, &keyspace, decisions);
    drop(state);
    engine.background.notify_work();
    // Outside of all locks but the one of edits: the system may take its time to unmap them.
    drop(full);
    // If this fails, the next recovery reports a discarded header, and no more.
    retired.spares.iter().for_each(|log| drop(erase(&*log.file)));
    engine.state.lock().logs.add_spares(retired.spares);
    retired.dropped.into_iter().for_each(|file| engine.jobs.mark_obsolete(file));
    Ok(true)
}

/// Queues the written flushes of a keyspace again after their edit failed, unless it is in doubt.
fn requeue_flushes(store: &StoreState, background: &Background, id: KeyspaceId) {
    let mut state = store.lock();
    if state.health.is_in_doubt() {
        return;
    }
    state.flushes.requeue_written(id);
    drop(state);
    background.notify_work();
}

/// A flush was abandoned: another job may take it.
pub(crate) fn abandon_flush(
    store: &StoreState,
    background: &Background,
    id: KeyspaceId,
    through: Seq,
) {
    store.lock().flushes.abandoned(id, through);
    background.notify_work();
}
