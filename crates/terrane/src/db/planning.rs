//! Planning: what planners are told, and what becomes of their answers.
//!
//! 1. A planner is told the shape, what it remembers, what runs and what was asked of the keyspace.
//! 2. Its answer is admitted, refused or replaced as `terrane_policy::asking` says.
//! 3. The groups of a compaction wait for jobs. A change of levels is one job, and until that is
//!    done the planner is not asked.
//! 4. Where a flush is cut is asked when its job begins; cuts that are refused are left out.

use super::state::{PendingReshape, RunningCompaction, State};
use super::{Engine, lock};
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use std::sync::Arc;
use terrane_policy::{
    Answer, Compaction, FlushPlan, KeySample, Observed, Plan, Planning, Policy, RunId, ask,
    validate_flush,
};

/// What a planner's answer led to.
pub(super) enum Planned {
    /// Nothing is to do.
    Nothing,
    /// The validator refused it.
    Refused,
    /// A compaction has begun.
    Begun,
    /// A job is to change the levels.
    Reshape,
}

impl Engine {
    /// Asks the keyspace's planner once.
    pub(super) fn plan(&self, state: &mut State, id: KeyspaceId) -> Planned {
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else {
            return Planned::Nothing;
        };
        if state.reshapes.contains_key(&id) {
            return Planned::Nothing;
        }
        let tree = keyspace.view.load().tree.clone();
        let (shape, running) = (tree.shape(), state.running(id));
        let observed = keyspace.operations.observed(&tree);
        let fresh = RunId(state.next_id);
        let policy = keyspace.policy.load_full();
        let mut refused = state.refused.get(&id).copied().unwrap_or(0);
        let remembered =
            state.catalog.keyspaces.get(&id).map_or(&[][..], |record| &record.policy_state);
        let planning =
            Planning { shape, state: remembered, running: &running, observed: &observed, fresh };
        let answer = ask(&**policy, &planning, self.options.level0_runs_max, &mut refused);
        if refused == 0 {
            state.refused.remove(&id);
        } else {
            state.refused.insert(id, refused);
        }
        let (plan, planner) = match answer {
            Answer::Nothing => return Planned::Nothing,
            Answer::Refused(refusal) => {
                self.emit(&Event::PlanRefused { keyspace: id, why: refusal.to_string() });
                return Planned::Refused;
            }
            Answer::Plan { plan, own } => (plan, own.then(|| policy.clone())),
        };
        keyspace.operations.told(&observed, &tree);
        match plan {
            Plan::Compact(compaction) => {
                self.begin(state, id, compaction, planner, observed);
                Planned::Begun
            }
            Plan::Reshape(reshape) => {
                state.reshapes.insert(id, PendingReshape { reshape, planner: policy, observed });
                Planned::Reshape
            }
        }
    }

    /// Makes a plan that was admitted ready for jobs; answers its number. `planner` made it, or
    /// nobody who remembers.
    pub(super) fn begin(
        &self,
        state: &mut State,
        id: KeyspaceId,
        plan: Compaction,
        planner: Option<Arc<Box<dyn Policy>>>,
        observed: Observed,
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
            order: plan.order,
            reason: plan.reason.clone(),
            observed,
        });
        state.compactions.push(RunningCompaction {
            number,
            keyspace: id,
            planner,
            several: plan.groups.len() > 1,
            waiting: plan.groups.clone(),
            open: plan.groups,
            order: plan.order,
            reason: plan.reason,
        });
        number
    }

    /// How a sealed memtable is cut into the tables of its run.
    pub(crate) fn plan_flush(&self, id: KeyspaceId, memtable: &Memtable) -> FlushPlan {
        let Some(keyspace) = self.keyspaces.load().get(&id).cloned() else {
            return FlushPlan::default();
        };
        let policy = keyspace.policy.load_full();
        if !policy.cuts_flushes() {
            return FlushPlan::default();
        }
        let (entries, bytes) = (memtable.entries() as u64, memtable.bytes() as u64);
        let sealed = KeySample { entries, bytes, keys: memtable.sample() };
        let state = lock(&self.state);
        let Some(record) = state.catalog.keyspaces.get(&id) else { return FlushPlan::default() };
        let planning = Planning {
            shape: &record.shape,
            state: &record.policy_state,
            running: &state.running(id),
            observed: &keyspace.operations.observed(&keyspace.view.load().tree),
            fresh: RunId(state.next_id),
        };
        let plan = policy.flush(&planning, &sealed);
        match validate_flush(&plan) {
            Ok(()) => plan,
            Err(refusal) => {
                self.emit(&Event::PlanRefused { keyspace: id, why: refusal.to_string() });
                FlushPlan::default()
            }
        }
    }
}
