//! A flush takes effect: its tables are a new run of level 0, and logs retire.

use super::policy_state::remembered;
use crate::engine::{EditLock, Engine, FlushStatus, Sealed, State};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::rules::Rule;
use crate::storage::FileId;
use crate::sync::lock;
use crate::version::{Change, LiveTable};
use crate::wal::erase;
use std::sync::Arc;
use terrane_policy::{FlushPlan, Observed, Reason, RunId, Step, TableInfo};

impl Engine {
    /// A flush job has written its tables (or had nothing to write). Returns `false` if the keyspace
    /// is gone.
    pub(super) fn install_flushed(
        &self,
        id: KeyspaceId,
        through: Seq,
        plan: FlushPlan,
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
            sealed.status = FlushStatus::Written { plan, tables };
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

        let run = RunId(self.ids.fresh());
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
        let nothing = Observed::default();
        let (change, decisions) = remembered(self, &version_set, &keyspace, &nothing, step);
        changes.extend(change);
        let prepared = self.prepare(edits, changes)?;
        let tree = self.next_tree(&prepared.version_set, &keyspace, &opened);
        // Between here and the end the memtable is still the queue's: only seals touch the queue,
        // and they add to its end.
        let committed = self.commit_prepared(edits, prepared, &added, &retired.dropped);
        let mut state = committed.inspect_err(|_| self.requeue_flushes(id))?;
        let is_empty = state.sealed.update(id, |queue| {
            drop(queue.remove(at));
            queue.is_empty()
        });
        if is_empty {
            state.sealed.remove(&id);
        }
        #[cfg(not(target_arch = "wasm32"))]
        let mapped: Vec<_> =
            state.sealed_logs.iter_mut().take(retired.logs).map(|log| log.mapped.take()).collect();
        state.sealed_logs.drain(..retired.logs);
        self.show(&state, &keyspace, tree, Some(&memtable));
        self.memtables.free_sealed(memtable.bytes() as u64);
        state.unplanned.insert(id);
        if !tables.is_empty() {
            self.counters.flushed(tables.iter().map(|info| info.bytes).sum());
            let Reason { text: reason, terms } = plan.reason;
            self.emit(|| Event::Flushed { keyspace: id, run, tables, reason, terms, through });
        }
        self.tell_policy(&state, &keyspace, decisions);
        drop(state);
        self.work_came();
        // Outside of all locks but the one of edits: the system may take its time.
        #[cfg(not(target_arch = "wasm32"))]
        drop(mapped);
        // If this fails, the next recovery reports a discarded header, and no more.
        retired.spares.iter().for_each(|log| drop(erase(&*log.file)));
        lock(&self.state).spare_logs.extend(retired.spares);
        retired.dropped.into_iter().for_each(|file| self.jobs.mark_obsolete(file));
        Ok(true)
    }

    /// Queues the written flushes of a keyspace again after their edit failed, unless it is in doubt.
    fn requeue_flushes(&self, id: KeyspaceId) {
        let mut state = lock(&self.state);
        if state.in_doubt.is_some() {
            return;
        }
        let State { sealed, flushes, .. } = &mut *state;
        for sealed in sealed.get_mut(&id).into_iter().flatten() {
            if let FlushStatus::Written { tables, .. } = &sealed.status {
                tables.iter().for_each(|table| table.mark_dropped());
                sealed.status = FlushStatus::Waiting;
                flushes.insert(sealed.number, id.0.into());
            }
        }
        drop(state);
        self.work_came();
    }

    /// A flush was abandoned: another job may take it.
    pub(crate) fn abandon_flush(&self, id: KeyspaceId, through: Seq) {
        let mut state = lock(&self.state);
        let State { sealed, flushes, .. } = &mut *state;
        let queue = sealed.get_mut(&id).into_iter().flatten();
        if let Some(sealed) = queue.into_iter().find(|s| s.through == through)
            && matches!(sealed.status, FlushStatus::Running)
        {
            sealed.status = FlushStatus::Waiting;
            flushes.insert(sealed.number, id.0.into());
        }
        drop(state);
        self.work_came();
    }
}
