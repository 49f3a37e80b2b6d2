//! Installation: what jobs made takes effect, one edit each.
//!
//! A flush installs only when (1) the log is on the medium through its last sequence, since a batch
//! over two keyspaces would tear otherwise, (2) every older flush of its keyspace is installed, and
//! (3) its tables are on the medium. A group of a compaction installs alone, in any order: the
//! validator has seen to it that every order is sound. A change of levels installs when nothing
//! writes into what it shifts.

use super::state::{FlushStatus, KeyspaceInner, PendingReshape, State, View};
use super::{Engine, lock};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::rules::Rule;
use crate::storage::FileId;
use crate::sync::atomic::Ordering;
use crate::version::{Change, KeyspaceRecord, LiveTable, Tree};
use crate::wal::erase;
use std::sync::Arc;
use terrane_policy::{
    Action, FlushPlan, Group, Installed, MAX_STATE, Reshape, RunId, Shape, ShapeEdit, Step,
    TableId, TableInfo, validate_reshape,
};

impl Engine {
    /// A flush job has written its tables (or had nothing to write). Answers `false` if the keyspace
    /// is gone.
    pub(crate) fn flush_written(
        &self,
        id: KeyspaceId,
        through: Seq,
        plan: &FlushPlan,
        tables: Vec<Arc<LiveTable>>,
    ) -> Result<bool> {
        if Rule::LogBeforeInstall.holds() {
            let mut writer = lock(&self.writer);
            if writer.synced < through {
                writer.sync()?;
            }
        }
        let mut state = self.open_state()?;
        let Some(queue) = state.sealed.get_mut(&id) else { return Ok(false) };
        if let Some(sealed) = queue.iter_mut().find(|s| s.through == through) {
            sealed.status = FlushStatus::Written { plan: plan.clone(), tables };
        }
        while self.install_flush(&mut state, id)? {}
        Ok(true)
    }

    /// Installs the oldest flush of a keyspace if its tables are written.
    fn install_flush(&self, state: &mut State, id: KeyspaceId) -> Result<bool> {
        let Some(queue) = state.sealed.get_mut(&id) else { return Ok(false) };
        let written = |s: &super::state::Sealed| matches!(s.status, FlushStatus::Written { .. });
        let at = if Rule::FlushOrder.holds() {
            queue.first().filter(|s| written(s)).map(|_| 0)
        } else {
            queue.iter().position(written)
        };
        let Some((at, sealed)) = at.and_then(|at| Some((at, queue.get(at)?))) else {
            return Ok(false);
        };
        let FlushStatus::Written { plan, tables } = &sealed.status else { return Ok(false) };
        let (plan, opened) = (plan.clone(), tables.clone());
        let (through, memtable) = (sealed.through, sealed.memtable.clone());
        let keyspace = self.keyspaces.load().get(&id).cloned();
        let Some(keyspace) = keyspace else { return Ok(false) };

        let run = RunId(state.fresh_id());
        let mut changes = vec![Change::Flushed { keyspace: id, through }];
        let tables: Vec<_> = opened.iter().map(|t| TableInfo::clone(t.table().info())).collect();
        let added: Vec<_> = tables.iter().map(|info| FileId::table(info.id.0)).collect();
        changes.extend(tables.iter().cloned().map(|info| Change::AddTable {
            keyspace: id,
            level: 0,
            run,
            info,
        }));
        changes.extend(remembered(state, &keyspace, Step::Flush { plan: &plan, tables: &tables }));
        let retired = self.retire_logs(state, &memtable, &mut changes);
        self.commit_edit(state, changes, &added, &retired.dropped)?;

        state.sealed.update(id, |queue| drop(queue.remove(at)));
        state.sealed_logs.drain(..retired.logs);
        // Where this fails, the next recovery says that it discards a header, and no more.
        retired.spares.iter().for_each(|log| drop(erase(&*log.file)));
        state.spare_logs.extend(retired.spares);
        retired.dropped.into_iter().for_each(|file| self.bury(file));
        self.swap_tree(state, &keyspace, &opened, Some(&memtable));
        state.unplanned.insert(id);
        self.work_came();
        if !tables.is_empty() {
            self.counters.flushed(tables.iter().map(|info| info.bytes).sum());
            let reason = plan.reason;
            self.emit(&Event::Flushed { keyspace: id, run, tables, reason, through });
        }
        Ok(true)
    }

    /// A group's outputs are on the medium: they replace its inputs. Answers `false`, and changes
    /// nothing, if the keyspace is gone.
    pub(crate) fn install_group(
        &self,
        number: u64,
        id: KeyspaceId,
        group: &Group,
        outputs: &[Arc<LiveTable>],
    ) -> Result<bool> {
        let mut state = self.open_state()?;
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else { return Ok(false) };
        let moved = group.action == Action::Move;
        let view = keyspace.view.load_full();
        let inputs = group.inputs.iter().filter_map(|t| view.tree.table(*t));
        let arriving: Vec<_> = if moved { inputs.collect() } else { outputs.iter().collect() };
        let infos: Vec<_> =
            arriving.into_iter().map(|t| TableInfo::clone(t.table().info())).collect();
        let drop_table = |table: &TableId| Change::DropTable { keyspace: id, table: *table };
        let mut changes: Vec<_> = group.inputs.iter().map(drop_table).collect();
        let destination = group.destination;
        changes.extend(infos.iter().map(|info| Change::AddTable {
            keyspace: id,
            level: destination.level,
            run: destination.run,
            info: info.clone(),
        }));
        changes.extend(state.remaining_after(number, group));
        changes.extend(policy_state(&state, &keyspace, number, group, &infos));
        let added: Vec<_> = outputs.iter().map(|t| FileId::table(t.table().info().id.0)).collect();
        let gone: &[TableId] = if moved { &[] } else { &group.inputs };
        let dropped: Vec<_> = gone.iter().map(|t| FileId::table(t.0)).collect();
        self.commit_edit(&mut state, changes, &added, &dropped)?;

        gone.iter().filter_map(|t| view.tree.table(*t)).for_each(|t| t.mark_dropped());
        self.swap_tree(&state, &keyspace, outputs, None);
        // In the same step as the edit: planners see the outputs in the shape from now on.
        let ended = state.end_group(number, group);
        self.work_came();
        self.emit(&Event::GroupInstalled {
            keyspace: id,
            compaction: number,
            inputs: group.inputs.clone(),
            level: destination.level,
            run: destination.run,
            outputs: infos,
            moved,
        });
        if ended {
            self.emit(&Event::CompactionEnded { compaction: number });
        }
        Ok(true)
    }

    /// Makes the change of levels that waits for it, unless it fits no more: a compaction that was
    /// asked for otherwise may have begun since.
    pub(crate) fn install_reshape(&self, id: KeyspaceId) -> Result<()> {
        let mut state = self.open_state()?;
        let Some(pending) = state.reshapes.remove(&id) else { return Ok(()) };
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else { return Ok(()) };
        state.unplanned.insert(id);
        self.work_came();
        let PendingReshape { reshape: Reshape { change, reason }, planner, observed } = pending;
        let shape = keyspace.view.load().tree.shape().clone();
        if let Err(refusal) = validate_reshape(&shape, &state.running(id), change) {
            self.emit(&Event::PlanRefused { keyspace: id, why: refusal.to_string() });
            return Ok(());
        }
        let mut changes = vec![Change::Levels { keyspace: id, change }];
        changes.extend(if Arc::ptr_eq(&planner, &keyspace.policy.load_full()) {
            remembered(&state, &keyspace, Step::Reshape(change))
        } else {
            let next = terrane_policy::reshape(&shape, change).ok();
            next.and_then(|next| adopted(&state, &keyspace, &next))
        });
        self.commit_edit(&mut state, changes, &[], &[])?;
        self.swap_tree(&state, &keyspace, &[], None);
        self.emit(&Event::LevelChanged { keyspace: id, change, reason, observed });
        Ok(())
    }

    /// Gives readers the keyspace's new shape, without `flushed`.
    pub(super) fn swap_tree(
        &self,
        state: &State,
        keyspace: &KeyspaceInner,
        opened: &[Arc<LiveTable>],
        flushed: Option<&Arc<Memtable>>,
    ) {
        let Some(record) = state.catalog.keyspaces.get(&keyspace.id) else { return };
        if let Some(flushed) = flushed {
            self.memtable_bytes.fetch_sub(flushed.bytes() as u64, Ordering::Relaxed);
        }
        let view = keyspace.view.load_full();
        let stays = |m: &&Arc<Memtable>| flushed.is_none_or(|f| !Arc::ptr_eq(f, m));
        let tree: Tree = view.tree.next(record.shape.clone(), opened);
        keyspace.view.store(Arc::new(View {
            active: view.active.clone(),
            sealed: view.sealed.iter().filter(stays).cloned().collect(),
            tree: Arc::new(tree),
        }));
        self.share_memory();
    }
}

/// What the keyspace's policy remembers once a group is installed, if that changes. A plan that was
/// not its own may leave its memory at odds with the shape: it then starts from the shape alone.
fn policy_state(
    state: &State,
    keyspace: &KeyspaceInner,
    number: u64,
    group: &Group,
    outputs: &[TableInfo],
) -> Option<Change> {
    let compaction = state.compactions.iter().find(|c| c.number == number)?;
    let policy = keyspace.policy.load_full();
    if compaction.planner.as_ref().is_some_and(|p| Arc::ptr_eq(p, &policy)) {
        let ends = compaction.open.iter().all(|open| open == group);
        return remembered(state, keyspace, Step::Group { group, outputs, ends });
    }
    let run = group.destination.run;
    let added = outputs.iter().map(|t| (group.destination.level, run, Arc::new(t.clone())));
    let edit = ShapeEdit { added: added.collect(), dropped: group.inputs.clone() };
    let before = &state.catalog.keyspaces.get(&keyspace.id)?.shape;
    adopted(state, keyspace, &terrane_policy::apply(before, &edit).ok()?)
}

/// What the keyspace's policy remembers after this step, if that changes.
fn remembered(state: &State, keyspace: &KeyspaceInner, step: Step) -> Option<Change> {
    let record = state.catalog.keyspaces.get(&keyspace.id)?;
    let installed = Installed { before: &record.shape, step };
    let next = keyspace.policy.load().apply(&record.policy_state, &installed);
    memory(record, keyspace.id, next)
}

/// What the keyspace's policy remembers of a shape that it did not plan, if that changes.
fn adopted(state: &State, keyspace: &KeyspaceInner, shape: &Shape) -> Option<Change> {
    let record = state.catalog.keyspaces.get(&keyspace.id)?;
    memory(record, keyspace.id, keyspace.policy.load().adopt(shape))
}

fn memory(record: &KeyspaceRecord, keyspace: KeyspaceId, next: Vec<u8>) -> Option<Change> {
    let changed = next != record.policy_state && next.len() <= MAX_STATE;
    changed.then_some(Change::PolicyState { keyspace, state: next })
}
