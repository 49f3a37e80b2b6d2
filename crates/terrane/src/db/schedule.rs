//! Scheduling: which job is next.
//!
//! 1. Files that nothing holds first: they give room back, which a flush may need.
//! 2. Then flushes, oldest first: writers wait for them.
//! 3. Then groups of compactions that have begun; then each keyspace's planner is asked, and the
//!    validator asked about its answer. A policy that is refused twice in a row falls back to a plan
//!    that is always legal, so it cannot bring the tree to a standstill.
//! 4. Then housekeeping of the storage.

use super::state::{FlushStatus, RunningCompaction, State};
use super::{Engine, lock};
use crate::compaction::{Flush, Job, Merge, Retention, Work};
use crate::entry::Seq;
use crate::error::Error;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use terrane_policy::{Action, Compaction, Group, Plan, Policy, RunId, TombstoneRule};

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
        let file = self.graveyard.take()?;
        state.untidy = true;
        Some(Work::Remove(file))
    }

    fn next_group(&self, state: &mut State) -> Option<Work> {
        loop {
            let begun = state.compactions.iter_mut().find_map(|c| {
                let group = c.waiting.pop_front()?;
                Some((c.number, c.keyspace, group))
            });
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
            if !self.plan(state, id) {
                state.unplanned.remove(&id);
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
        if group.action == Action::Move {
            return Some(Work::Move { compaction, keyspace, group: group.clone() });
        }
        let tree = view.tree.clone();
        let rule = TombstoneRule::new(tree.shape(), &state.running(keyspace), group);
        let retention = Retention::new(self.snapshot_list());
        Some(Work::Merge(Box::new(Merge::new(
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

    /// Asks the keyspace's planner once; answers whether a compaction began or was refused.
    fn plan(&self, state: &mut State, id: KeyspaceId) -> bool {
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else { return false };
        let shape = keyspace.view.load().tree.shape().clone();
        let running = state.running(id);
        let fresh = RunId(state.next_id);
        let refusals = state.refused.get(&id).copied().unwrap_or(0);
        let policy = keyspace.policy.load_full();
        let own = refusals < 2;
        let plan = if own {
            let remembered =
                state.catalog.keyspaces.get(&id).map_or(&[][..], |record| &record.policy_state);
            policy.plan(&shape, remembered, &running, fresh)
        } else {
            state.refused.remove(&id);
            terrane_policy::fallback(&shape, &running, fresh)
        };
        // A policy may be content with more runs than writes are let on with: they must not wait
        // for ever.
        let stalling = shape
            .levels
            .first()
            .is_some_and(|level0| level0.runs.len() >= self.options.level0_runs_max);
        let plan = plan.or_else(|| {
            let idle = running.compactions.is_empty();
            (stalling && idle).then(|| terrane_policy::fallback(&shape, &running, fresh)).flatten()
        });
        let Some(Plan::Compact(compaction)) = plan else { return false };
        if let Err(refusal) = terrane_policy::validate(&shape, &running, &compaction) {
            state.refused.update(id, |times| *times += 1);
            self.emit(&Event::PlanRefused { keyspace: id, why: refusal.to_string() });
            return true;
        }
        if own {
            state.refused.remove(&id);
        }
        self.begin(state, id, compaction, own.then_some(policy));
        true
    }

    /// Makes a plan that was admitted ready for jobs; answers its number. `planner` made it, or
    /// nobody who remembers.
    pub(super) fn begin(
        &self,
        state: &mut State,
        id: KeyspaceId,
        plan: Compaction,
        planner: Option<Arc<Box<dyn Policy>>>,
    ) -> u64 {
        // Runs that the plan creates have names from `next_id` up: none may get them again.
        let names =
            plan.groups.iter().map(|g| g.destination.run.0.saturating_add(1)).max().unwrap_or(0);
        state.next_id = state.next_id.max(names);
        let number = state.fresh_id();
        self.emit(&Event::CompactionBegun {
            keyspace: id,
            compaction: number,
            groups: plan.groups.len(),
            reason: plan.reason.clone(),
        });
        state.compactions.push(RunningCompaction {
            number,
            keyspace: id,
            planner,
            several: plan.groups.len() > 1,
            waiting: plan.groups.iter().cloned().collect(),
            open: plan.groups,
            reason: plan.reason,
        });
        number
    }
}
