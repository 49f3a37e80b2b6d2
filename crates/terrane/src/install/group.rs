//! A group of a compaction takes effect: its outputs replace its inputs.

use super::policy_state::{not_its_own, remembered};
use super::tree::{next_tree, report_deletes};
use crate::engine::{Engine, Keyspaces, State};
use crate::error::Result;
use crate::event::{Event, EventStream};
use crate::keyspace::KeyspaceId;
use crate::storage::FileId;
use crate::version::{Change, LiveTable, Needs};
use std::sync::Arc;
use terrane_policy::{Action, Group, Step, TableId, TableInfo};

/// A group's outputs are durable: they replace its inputs. Returns `false`, and changes
/// nothing, if the keyspace is gone.
pub(super) fn install_group(
    engine: &Engine,
    number: u64,
    id: KeyspaceId,
    group: &Group,
    outputs: &[Arc<LiveTable>],
) -> Result<bool> {
    let edits = engine.state.lock_edits()?;
    let Some(keyspace) = engine.keyspaces.get(id) else { return Ok(false) };
    let moved = group.action == Action::Move;
    let super_version = keyspace.super_version.load_full();
    let inputs = group.inputs.iter().filter_map(|t| super_version.tree.table(*t));
    let arriving: Vec<_> = if moved { inputs.collect() } else { outputs.iter().collect() };
    let infos: Vec<_> = arriving.into_iter().map(|t| TableInfo::clone(t.table().info())).collect();
    let drop_table = |table: &TableId| Change::DropTable { keyspace: id, table: *table };
    let mut changes: Vec<_> = group.inputs.iter().map(drop_table).collect();
    let destination = group.destination;
    changes.extend(infos.iter().map(|info| Change::AddTable {
        keyspace: id,
        level: destination.level,
        run: destination.run,
        info: info.clone(),
    }));
    let mut forgets = false;
    // A copy: what follows takes long, and every write takes the lock.
    let version_set = engine.state.lock().version_set.clone();
    if let Some(record) = version_set.keyspaces.get(&id) {
        let (dropped, readers) = (&*group.inputs, engine.snapshots.readers());
        let needs = Needs { record, flushed: record.flushed, dropped, added: &infos, readers };
        let forgotten = needs.after_drop();
        forgets = forgotten.is_some();
        changes.extend(forgotten.map(|(from, to, range_deletes)| Change::RangeDeletes {
            keyspace: id,
            from,
            to,
            range_deletes,
        }));
    }
    let state = engine.state.lock();
    changes.extend(state.planner.remaining_after(number, group));
    let planned = state.planner.compaction(number);
    let planner = planned.and_then(|c| c.planner.clone());
    let observed = planned.map(|c| c.unreported.clone()).unwrap_or_default();
    let ends = planned.is_some_and(|c| c.open.iter().all(|open| open == group));
    drop(state);
    let own = planner.is_some_and(|p| Arc::ptr_eq(&p, &keyspace.policy.load_full()));
    let (change, decisions) = if own {
        let step = Step::Group { group, outputs: &infos, ends };
        remembered(&engine.jobs.events, &version_set, &keyspace, &observed, step)
    } else {
        (not_its_own(&engine.jobs.events, &version_set, &keyspace, group, &infos), Vec::new())
    };
    changes.extend(change);
    let added: Vec<_> = outputs.iter().map(|t| FileId::table(t.table().info().id.0)).collect();
    let gone: &[TableId] = if moved { &[] } else { &group.inputs };
    let dropped: Vec<_> = gone.iter().map(|t| FileId::table(t.0)).collect();
    let prepared = edits.prepare(changes)?;
    let tree = next_tree(&engine.options, &prepared.version_set, &keyspace, outputs);
    let deletes = tree.as_ref().filter(|_| forgets).map(|tree| tree.range_deletes().clone());
    let mut state = edits.commit(prepared, &added, &dropped)?;

    gone.iter().filter_map(|t| super_version.tree.table(*t)).for_each(|t| t.mark_dropped());
    engine.keyspaces.show(&state, &keyspace, tree, None);
    if own {
        state.planner.report(number);
    }
    engine.emit(|| Event::GroupInstalled {
        keyspace: id,
        compaction: number,
        inputs: group.inputs.clone(),
        level: destination.level,
        run: destination.run,
        outputs: infos,
        moved,
    });
    report_deletes(&engine.jobs.events, id, deletes);
    // In the same step as the edit: policies see the outputs in the shape from now on.
    end_group(&engine.keyspaces, &engine.jobs.events, &mut state, number, group);
    engine.report_policy(&state, &keyspace, decisions);
    drop(state);
    engine.background.notify_work();
    Ok(true)
}

/// A group's job was abandoned.
pub(crate) fn abandon_group(engine: &Engine, compaction: u64, group: &Group) {
    if let Some(&group) = group.inputs.first() {
        engine.emit(|| Event::GroupAbandoned { compaction, group });
    }
    let mut state = engine.state.lock();
    for fallen in state.planner.fall(compaction, group) {
        end_group(&engine.keyspaces, &engine.jobs.events, &mut state, compaction, &fallen);
    }
    drop(state);
    engine.background.notify_work();
}

/// A group is installed or abandoned. If its compaction ends with it, observations that no step
/// has reported are left to the next plan.
pub(crate) fn end_group(
    keyspaces: &Keyspaces,
    events: &EventStream,
    state: &mut State,
    number: u64,
    group: &Group,
) {
    let Some(ended) = state.planner.end_group(number, group) else { return };
    if let Some(keyspace) = keyspaces.load().get(&ended.keyspace) {
        keyspace.reads.access_stats.give_back(&ended.unreported);
    }
    events.emit(|| Event::CompactionEnded { compaction: number });
}
