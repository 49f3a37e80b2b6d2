//! Scheduling: which job is next.
//!
//! 1. Files that nothing holds first: they give room back, which a flush may need.
//! 2. Then flushes, oldest first: writers wait for them.
//! 3. Then groups of compactions that have begun, in the order that each asks for; then each
//!    keyspace's planner is asked (`planning`).
//! 4. Then housekeeping of the storage.

use super::planning::Planned;
use super::state::{FlushStatus, State};
use super::{Engine, lock};
use crate::compaction::{Flush, Job, Merge, Outputs, Retention, Work};
use crate::entry::Seq;
use crate::error::Error;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::sync::atomic::Ordering;
use std::sync::Arc;
use terrane_policy::{Action, Group, TombstoneRule};

/// Which jobs a driver has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Any; flushes come first.
    Any,
    /// A flush only: every worker for merges is busy.
    Flush,
    /// Anything but a flush: one is under way.
    Other,
}

impl Engine {
    /// The next job of the kind that is wanted, if any is ready. Whoever takes it must run it to
    /// its end or drop it, which abandons it.
    pub fn next_job(self: &Arc<Self>, wanted: Wanted) -> Option<Job> {
        let mut state = lock(&self.state);
        if state.closed || state.failed.is_some() || state.in_doubt.is_some() {
            return None;
        }
        if wanted == Wanted::Any {
            // Before the search: what comes while it lasts is not forgotten.
            self.work.store(false, Ordering::Release);
        }
        let removal = (wanted != Wanted::Flush).then(|| self.next_removal(&mut state)).flatten();
        let flush = || (wanted != Wanted::Other).then(|| self.next_flush(&mut state)).flatten();
        let work = match removal.or_else(flush) {
            None if wanted != Wanted::Flush => self
                .next_group(&mut state)
                .or_else(|| std::mem::take(&mut state.untidy).then_some(Work::Tidy)),
            found => found,
        };
        if work.is_some() {
            self.work_came();
        }
        Some(Job::new(self.clone(), work?))
    }

    /// Whether a job may be ready. Cheap; a driver asks after every write.
    #[must_use]
    pub fn work_waits(&self) -> bool {
        self.work.load(Ordering::Acquire)
    }

    /// Says that a job may be ready.
    pub(super) fn work_came(&self) {
        self.work.store(true, Ordering::Release);
    }

    fn next_flush(&self, state: &mut State) -> Option<Work> {
        let (keyspace, sealed) = state
            .sealed
            .iter_mut()
            .flat_map(|(id, queue)| queue.iter_mut().map(|s| (*id, s)))
            .filter(|(_, s)| matches!(s.status, FlushStatus::Waiting))
            .min_by_key(|(_, s)| s.through)?;
        sealed.status = FlushStatus::Running;
        let flush = Flush::new(keyspace, sealed.through, sealed.memtable.clone());
        Some(Work::Flush(Box::new(flush)))
    }

    fn next_removal(&self, state: &mut State) -> Option<Work> {
        let grave = self.graveyard.take()?;
        state.untidy = true;
        Some(Work::Remove(grave))
    }

    fn next_group(&self, state: &mut State) -> Option<Work> {
        let keyspaces = self.keyspaces.load();
        let due = keyspaces.values().filter(|keyspace| keyspace.operations.take_due());
        state.unplanned.extend(due.map(|keyspace| keyspace.id));
        loop {
            let begun = (state.compactions.iter_mut())
                .find_map(|c| c.next_group().map(|group| (c.number, c.keyspace, group)));
            if let Some((number, keyspace, group)) = begun {
                match self.group_work(state, number, keyspace, &group) {
                    Some(work) => return Some(work),
                    None if state.end_group(number, &group) => {
                        self.emit(&Event::CompactionEnded { compaction: number });
                    }
                    None => {}
                }
                continue;
            }
            let id = *state.unplanned.first()?;
            match self.plan(state, id) {
                Planned::Nothing => drop(state.unplanned.remove(&id)),
                Planned::Begun | Planned::Refused => {}
                Planned::Reshape => return Some(Work::Reshape { keyspace: id }),
            }
        }
    }

    /// The work of one group; `None` if its keyspace is gone.
    fn group_work(
        &self,
        state: &State,
        compaction: u64,
        keyspace: KeyspaceId,
        group: &Group,
    ) -> Option<Work> {
        let view = self.keyspaces.load().get(&keyspace)?.view.load_full();
        let Action::Merge { cuts, table_bytes, filter_bits } = &group.action else {
            return Some(Work::Move { compaction, keyspace, group: group.clone() });
        };
        let outputs = Outputs::new(self, cuts.clone(), *table_bytes, *filter_bits);
        let tree = view.tree.clone();
        let rule = TombstoneRule::new(tree.shape(), &state.running(keyspace), group);
        let retention = Retention::new(self.snapshot_list());
        Some(Work::Merge(Box::new(Merge::new(
            outputs,
            compaction,
            keyspace,
            group.clone(),
            tree,
            retention,
            rule,
        ))))
    }

    /// A group's job was abandoned.
    pub(crate) fn group_abandoned(&self, compaction: u64, group: &Group) {
        let ended = lock(&self.state).end_group(compaction, group);
        self.work_came();
        if ended {
            self.emit(&Event::CompactionEnded { compaction });
        }
    }

    /// A change of levels was abandoned: the planner is asked again.
    pub(crate) fn reshape_abandoned(&self, id: KeyspaceId) {
        let mut state = lock(&self.state);
        if state.reshapes.remove(&id).is_some() {
            state.unplanned.insert(id);
        }
        drop(state);
        self.work_came();
    }

    /// A flush was abandoned: another job may take it.
    pub(crate) fn flush_abandoned(&self, id: KeyspaceId, through: Seq) {
        let mut state = lock(&self.state);
        let queue = state.sealed.get_mut(&id).into_iter().flatten();
        if let Some(sealed) = queue.into_iter().find(|s| s.through == through)
            && matches!(sealed.status, FlushStatus::Running)
        {
            sealed.status = FlushStatus::Waiting;
        }
    }

    /// A job failed: if `rest` says so, background work rests until it is asked for again.
    pub(crate) fn job_failed(&self, error: &Error, rest: bool) {
        if rest {
            lock(&self.state).failed = Some(error.clone());
        }
        self.emit(&Event::JobFailed { error: error.to_string() });
    }

    /// Has background work that failed tried again.
    pub fn retry(&self) {
        lock(&self.state).failed = None;
        self.work_came();
    }

    /// Why background work rests, if it failed.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        let state = lock(&self.state);
        let poisoned = |cause: &Error| Error::Poisoned(Box::new(cause.clone()));
        state.in_doubt.as_ref().map(poisoned).or_else(|| state.failed.clone())
    }

    /// Whether every memtable that was sealed up to this sequence is in tables.
    #[must_use]
    pub fn flushed(&self, through: Seq) -> bool {
        let state = lock(&self.state);
        state.sealed.values().flatten().all(|sealed| sealed.through > through)
    }
}
