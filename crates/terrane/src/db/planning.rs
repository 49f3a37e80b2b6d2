//! Planning: what planners are told, and what becomes of their answers.
//!
//! 1. A planner is told the shape, what it remembers, what runs and what was asked of the keyspace.
//! 2. The validator admits or refuses its answer. A policy that is refused twice in a row falls back
//!    to a plan that is always legal, so it cannot bring the tree to a standstill; and so it does
//!    where it is content with more runs than writes are let on with.
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
    Compaction, FlushPlan, KeySample, Observed, Plan, Planning, Policy, RunId, Shape, fallback,
    validate_flush, validate_plan,
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
        let trusted = state.refused.get(&id).copied().unwrap_or(0) < 2;
        let own = trusted.then(|| {
            let remembered =
                state.catalog.keyspaces.get(&id).map_or(&[][..], |record| &record.policy_state);
            let (running, observed) = (&running, &observed);
            policy.plan(&Planning { shape, state: remembered, running, observed, fresh })
        });
        let (plan, planner) = match own.flatten() {
            Some(plan) => (plan, Some(policy.clone())),
            None => {
                if !trusted {
                    state.refused.remove(&id);
                }
                // Writes must not wait for ever.
                let stalling = running.compactions.is_empty() && self.is_stalling(shape);
                let legal = (!trusted || stalling).then(|| fallback(shape, &running, fresh));
                let Some(plan) = legal.flatten() else { return Planned::Nothing };
                (plan, None)
            }
        };
        if let Err(refusal) = validate_plan(shape, &running, &plan) {
            *state.refused.entry(id).or_default() += 1;
            self.emit(&Event::PlanRefused { keyspace: id, why: refusal.to_string() });
            return Planned::Refused;
        }
        if planner.is_some() {
            state.refused.remove(&id);
        }
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

    fn is_stalling(&self, shape: &Shape) -> bool {
        let level0 = shape.levels.first();
        level0.is_some_and(|level0| level0.runs.len() >= self.options.level0_runs_max)
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
            waiting: plan.groups.iter().cloned().collect(),
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
