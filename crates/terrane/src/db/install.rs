//! Installation: what jobs made takes effect, one edit each.
//!
//! A flush installs only when (1) the log is on the medium through its last sequence, since a batch
//! over two keyspaces would tear otherwise, (2) every older flush of its keyspace is installed, and
//! (3) its table is on the medium. A group of a compaction installs alone, in any order: the
//! validator has seen to it that every order is sound.

use super::state::{FlushStatus, KeyspaceInner, State, View};
use super::{Engine, lock};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::rules::Rule;
use crate::storage::FileId;
use crate::sync::atomic::Ordering;
use crate::version::{Change, LiveTable, Tree};
use crate::wal::erase;
use std::sync::Arc;
use terrane_policy::policy::{Installed, MAX_STATE};
use terrane_policy::{Action, Group, RunId, ShapeEdit, TableId, TableInfo};

impl Engine {
    /// A flush job has written its table (or had nothing to write). Answers `false` if the keyspace
    /// is gone.
    pub(crate) fn flush_written(
        &self,
        id: KeyspaceId,
        through: Seq,
        table: Option<Arc<LiveTable>>,
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
            sealed.status = FlushStatus::Written(table);
        }
        while self.install_flush(&mut state, id)? {}
        Ok(true)
    }

    /// Installs the oldest flush of a keyspace if its table is written.
    fn install_flush(&self, state: &mut State, id: KeyspaceId) -> Result<bool> {
        let Some(queue) = state.sealed.get_mut(&id) else { return Ok(false) };
        let written = |s: &super::state::Sealed| matches!(s.status, FlushStatus::Written(_));
        let at = if Rule::FlushOrder.holds() {
            queue.front().filter(|s| written(s)).map(|_| 0)
        } else {
            queue.iter().position(written)
        };
        let Some((at, sealed)) = at.and_then(|at| Some((at, queue.get(at)?))) else {
            return Ok(false);
        };
        let FlushStatus::Written(table) = &sealed.status else { return Ok(false) };
        let (table, through, memtable) = (table.clone(), sealed.through, sealed.memtable.clone());
        let keyspace = self.keyspaces.load().get(&id).cloned();
        let Some(keyspace) = keyspace else { return Ok(false) };

        let run = RunId(state.fresh_id());
        let mut changes = vec![Change::Flushed { keyspace: id, through }];
        let mut added = Vec::new();
        if let Some(table) = &table {
            let info = TableInfo::clone(table.table().info());
            added.push(FileId::table(info.id.0));
            changes.push(Change::AddTable { keyspace: id, level: 0, run, info });
        }
        let retired = self.retire_logs(state, &memtable, &mut changes);
        self.commit_edit(state, changes, &added, &retired.dropped)?;

        state.sealed.get_mut(&id).and_then(|queue| queue.remove(at));
        state.sealed_logs.drain(..retired.logs);
        // Where this fails, the next recovery says that it discards a header, and no more.
        retired.spares.iter().for_each(|log| drop(erase(&*log.file)));
        state.spare_logs.extend(retired.spares);
        retired.dropped.into_iter().for_each(|file| self.bury(file));
        let opened: Vec<_> = table.into_iter().collect();
        self.swap_tree(state, &keyspace, &opened, Some(&memtable));
        state.unplanned.insert(id);
        self.work_came();
        if let Some(table) = opened.first() {
            let info = TableInfo::clone(table.table().info());
            self.counters.flushed(info.bytes);
            self.emit(&Event::Flushed { keyspace: id, run, table: info, through });
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
        let infos: Vec<TableInfo> = if moved {
            let tables = group.inputs.iter().filter_map(|t| view.tree.table(*t));
            tables.map(|t| TableInfo::clone(t.table().info())).collect()
        } else {
            outputs.iter().map(|t| TableInfo::clone(t.table().info())).collect()
        };
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
    let record = state.catalog.keyspaces.get(&keyspace.id)?;
    let compaction = state.compactions.iter().find(|c| c.number == number)?;
    let policy = keyspace.policy.load_full();
    let own = compaction.planner.as_ref().is_some_and(|p| Arc::ptr_eq(p, &policy));
    let before = &*record.shape;
    let next = if own {
        let ends = compaction.open.iter().all(|open| open == group);
        policy.apply(&record.policy_state, &Installed { before, group, outputs, ends })
    } else {
        let run = group.destination.run;
        let added = outputs.iter().map(|t| (group.destination.level, run, Arc::new(t.clone())));
        let edit = ShapeEdit { added: added.collect(), dropped: group.inputs.clone() };
        policy.adopt(&terrane_policy::apply(before, &edit).ok()?)
    };
    let changed = next != record.policy_state && next.len() <= MAX_STATE;
    changed.then_some(Change::PolicyState { keyspace: keyspace.id, state: next })
}
