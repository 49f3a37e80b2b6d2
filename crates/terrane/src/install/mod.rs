//! Installation: what jobs made takes effect, one edit each.
//!
//! A flush installs only when (1) the log is durable through its last sequence, since a batch
//! over two keyspaces would tear otherwise, (2) every older flush of its keyspace is installed, and
//! (3) its tables are durable. A group of a compaction installs alone, in any order: the
//! validator has seen to it that every order is sound. A change of levels installs when nothing
//! writes into what it shifts.
//!
//! Each decides under the state's lock what changes, commits without it (`edits`), and takes
//! effect under it again, in one step.

use crate::engine::{EditLock, Engine, FlushStatus, KeyspaceInner, PendingReshape, Sealed, State};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::rules::Rule;
use crate::storage::FileId;
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::version::SuperVersion;
use crate::version::{Change, KeyspaceRecord, LiveTable, Tree, VersionSet};
use crate::wal::erase;
use std::sync::Arc;
use terrane_policy::{
    Action, FlushPlan, Group, Installed, MAX_STATE, Reshape, RunId, Shape, ShapeEdit, Step,
    TableId, TableInfo, validate_reshape,
};

impl Engine {
    /// A flush job has written its tables (or had nothing to write). Returns `false` if the keyspace
    /// is gone.
    pub(crate) fn flush_written(
        &self,
        id: KeyspaceId,
        through: Seq,
        plan: &FlushPlan,
        tables: Vec<Arc<LiveTable>>,
    ) -> Result<bool> {
        self.log_sync.usable()?;
        if Rule::LogBeforeInstall.holds() && self.log_sync.synced() < through {
            self.sync()?;
        }
        let edits = self.lock_edits()?;
        let mut state = lock(&self.state);
        let Some(queue) = state.sealed.get_mut(&id) else { return Ok(false) };
        if let Some(sealed) = queue.iter_mut().find(|s| s.through == through) {
            sealed.status = FlushStatus::Written { plan: plan.clone(), tables };
        }
        drop(state);
        while self.install_flush(&edits, id)? {}
        Ok(true)
    }

    /// Installs the oldest flush of a keyspace if its tables are written.
    fn install_flush(&self, edits: &EditLock<'_>, id: KeyspaceId) -> Result<bool> {
        let mut state = lock(&self.state);
        let Some(queue) = state.sealed.get_mut(&id) else { return Ok(false) };
        let written = |s: &Sealed| matches!(s.status, FlushStatus::Written { .. });
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
        let retired = self.retire_logs(&mut state, &memtable, &mut changes);
        let version_set = state.version_set.clone();
        drop(state);
        let tables: Vec<_> = opened.iter().map(|t| TableInfo::clone(t.table().info())).collect();
        let added: Vec<_> = tables.iter().map(|info| FileId::table(info.id.0)).collect();
        changes.extend(tables.iter().cloned().map(|info| Change::AddTable {
            keyspace: id,
            level: 0,
            run,
            info,
        }));
        let step = Step::Flush { plan: &plan, tables: &tables };
        changes.extend(remembered(&version_set, &keyspace, step));
        let prepared = self.prepare(edits, changes)?;
        let tree = next_tree(&prepared.version_set, &keyspace, &opened);
        // Between here and the end the memtable is still the queue's: only seals touch the queue,
        // and they add to its end.
        let mut state = self.commit_prepared(edits, prepared, &added, &retired.dropped)?;
        state.sealed.update(id, |queue| drop(queue.remove(at)));
        state.sealed_logs.drain(..retired.logs);
        show(&state, &keyspace, tree, Some(&memtable));
        // In this order: a writer in between must not take what is left for more than it is.
        self.memtable_bytes.fetch_sub(memtable.bytes() as u64, Ordering::Relaxed);
        self.sealed_bytes.fetch_sub(memtable.bytes() as u64, Ordering::Relaxed);
        state.unplanned.insert(id);
        if !tables.is_empty() {
            self.counters.flushed(tables.iter().map(|info| info.bytes).sum());
            let reason = plan.reason;
            self.emit(|| Event::Flushed { keyspace: id, run, tables, reason, through });
        }
        drop(state);
        self.work_came();
        // Where this fails, the next recovery says that it discards a header, and no more.
        retired.spares.iter().for_each(|log| drop(erase(&*log.file)));
        lock(&self.state).spare_logs.extend(retired.spares);
        retired.dropped.into_iter().for_each(|file| self.mark_obsolete(file));
        Ok(true)
    }

    /// A group's outputs are durable: they replace its inputs. Returns `false`, and changes
    /// nothing, if the keyspace is gone.
    pub(crate) fn install_group(
        &self,
        number: u64,
        id: KeyspaceId,
        group: &Group,
        outputs: &[Arc<LiveTable>],
    ) -> Result<bool> {
        let edits = self.lock_edits()?;
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else { return Ok(false) };
        let moved = group.action == Action::Move;
        let super_version = keyspace.super_version.load_full();
        let inputs = group.inputs.iter().filter_map(|t| super_version.tree.table(*t));
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
        let state = lock(&self.state);
        changes.extend(state.remaining_after(number, group));
        let planned = state.compactions.iter().find(|c| c.number == number);
        let planner = planned.and_then(|c| c.planner.clone());
        let ends = planned.is_some_and(|c| c.open.iter().all(|open| open == group));
        let version_set = state.version_set.clone();
        drop(state);
        let own = planner.is_some_and(|p| Arc::ptr_eq(&p, &keyspace.policy.load_full()));
        changes.extend(if own {
            remembered(&version_set, &keyspace, Step::Group { group, outputs: &infos, ends })
        } else {
            not_its_own(&version_set, &keyspace, group, &infos)
        });
        let added: Vec<_> = outputs.iter().map(|t| FileId::table(t.table().info().id.0)).collect();
        let gone: &[TableId] = if moved { &[] } else { &group.inputs };
        let dropped: Vec<_> = gone.iter().map(|t| FileId::table(t.0)).collect();
        let prepared = self.prepare(&edits, changes)?;
        let tree = next_tree(&prepared.version_set, &keyspace, outputs);
        let mut state = self.commit_prepared(&edits, prepared, &added, &dropped)?;

        gone.iter().filter_map(|t| super_version.tree.table(*t)).for_each(|t| t.mark_dropped());
        show(&state, &keyspace, tree, None);
        // In the same step as the edit: planners see the outputs in the shape from now on.
        let ended = state.end_group(number, group);
        self.emit(|| Event::GroupInstalled {
            keyspace: id,
            compaction: number,
            inputs: group.inputs.clone(),
            level: destination.level,
            run: destination.run,
            outputs: infos,
            moved,
        });
        if ended {
            self.emit(|| Event::CompactionEnded { compaction: number });
        }
        drop(state);
        self.work_came();
        Ok(true)
    }

    /// Makes the change of levels that waits for it, unless it fits no more: a compaction that was
    /// asked for otherwise may have begun since.
    pub(crate) fn install_reshape(&self, id: KeyspaceId) -> Result<()> {
        let edits = self.lock_edits()?;
        let state = lock(&self.state);
        // It stays where it is until it is made: its planner is not asked meanwhile.
        let Some(waiter) = state.reshapes.get(&id).cloned() else { return Ok(()) };
        let (running, version_set) = (state.running(id), state.version_set.clone());
        drop(state);
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else { return Ok(()) };
        let PendingReshape { reshape: Reshape { change, reason }, planner, observed } = waiter;
        let shape = keyspace.super_version.load().tree.shape().clone();
        if let Err(refusal) = validate_reshape(&shape, &running, change) {
            self.emit(|| Event::PlanRefused { keyspace: id, why: refusal.to_string() });
            self.reshape_abandoned(id);
            return Ok(());
        }
        let mut changes = vec![Change::Levels { keyspace: id, change }];
        changes.extend(if Arc::ptr_eq(&planner, &keyspace.policy.load_full()) {
            remembered(&version_set, &keyspace, Step::Reshape(change))
        } else {
            let next = terrane_policy::reshape(&shape, change).ok();
            next.and_then(|next| adopted(&version_set, &keyspace, &next))
        });
        let prepared = self.prepare(&edits, changes)?;
        let tree = next_tree(&prepared.version_set, &keyspace, &[]);
        let mut state = self.commit_prepared(&edits, prepared, &[], &[])?;
        show(&state, &keyspace, tree, None);
        state.reshapes.remove(&id);
        state.unplanned.insert(id);
        self.emit(|| Event::LevelChanged { keyspace: id, change, reason, observed });
        drop(state);
        self.work_came();
        Ok(())
    }
}

/// The keyspace's tree as an edit leaves it.
pub(crate) fn next_tree(
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    opened: &[Arc<LiveTable>],
) -> Option<Arc<Tree>> {
    let record = version_set.keyspaces.get(&keyspace.id)?;
    Some(Arc::new(keyspace.super_version.load().tree.next(record.shape.clone(), opened)))
}

/// Gives readers the keyspace's new tree, without `flushed`.
pub(crate) fn show(
    _: &State,
    keyspace: &KeyspaceInner,
    tree: Option<Arc<Tree>>,
    flushed: Option<&Arc<Memtable>>,
) {
    let Some(tree) = tree else { return };
    let super_version = keyspace.super_version.load_full();
    let stays = |m: &&Arc<Memtable>| flushed.is_none_or(|f| !Arc::ptr_eq(f, m));
    let sealed = super_version.sealed.iter().filter(stays).cloned().collect();
    keyspace.super_version.store(Arc::new(SuperVersion {
        active: super_version.active.clone(),
        sealed,
        tree,
    }));
}

/// What the keyspace's policy remembers once a group is installed that it did not plan, if that
/// changes. Its memory may be at odds with the shape then, so it starts from the shape alone.
fn not_its_own(
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    group: &Group,
    outputs: &[TableInfo],
) -> Option<Change> {
    let run = group.destination.run;
    let added = outputs.iter().map(|t| (group.destination.level, run, Arc::new(t.clone())));
    let edit = ShapeEdit { added: added.collect(), dropped: group.inputs.clone() };
    let before = &version_set.keyspaces.get(&keyspace.id)?.shape;
    adopted(version_set, keyspace, &terrane_policy::apply(before, &edit).ok()?)
}

/// What the keyspace's policy remembers after this step, if that changes.
fn remembered(version_set: &VersionSet, keyspace: &KeyspaceInner, step: Step) -> Option<Change> {
    let record = version_set.keyspaces.get(&keyspace.id)?;
    let installed = Installed { before: &record.shape, step };
    let next = keyspace.policy.load().apply(&record.policy_state, &installed);
    memory(record, keyspace.id, next)
}

/// What the keyspace's policy remembers of a shape that it did not plan, if that changes.
fn adopted(version_set: &VersionSet, keyspace: &KeyspaceInner, shape: &Shape) -> Option<Change> {
    let record = version_set.keyspaces.get(&keyspace.id)?;
    memory(record, keyspace.id, keyspace.policy.load().adopt(shape))
}

fn memory(record: &KeyspaceRecord, keyspace: KeyspaceId, next: Vec<u8>) -> Option<Change> {
    let changed = next != record.policy_state && next.len() <= MAX_STATE;
    changed.then_some(Change::PolicyState { keyspace, state: next })
}
