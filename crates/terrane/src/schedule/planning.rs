//! Planning: what policies are given, and what becomes of their plans.
//!
//! 1. A policy is given the shape, its own state, the running compactions, and the reads and writes
//!    since its last plan, all as of one moment. It is called with no lock held, one policy at a time.
//! 2. Its plan is admitted, refused or replaced as `terrane_policy::propose` says. If the tree has
//!    changed meanwhile, the plan is validated again; if it no longer fits, it is dropped and the
//!    policy is called again.
//! 3. The groups of a compaction wait for jobs. A change of levels is one job, and until it is done
//!    the policy is not called.
//! 4. If there is no plan, the least sequence number is noted that the oldest snapshot must reach before a
//!    table is rewritten. The release that reaches it queues the planning again.
//! 5. A flush's job asks the policy where to cut when it starts; cuts that are refused are left out.

use super::work::Work;
use crate::engine::{
    Engine, KeyspaceInner, Keyspaces, PendingReshape, Planner, RunningCompaction, Snapshots, State,
};
use crate::entry::{Millis, Seq};
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::sync::lock;
use crate::version::{DELETES_BYTES_MAX, Tree, expired, hidden};
use std::sync::Arc;
use terrane_platform::BROWSER;
use terrane_policy::{
    Compaction, FlushPlan, Hidden, KeySample, Observed, Plan, PlanContext, Policy, Proposal, RunId,
    Running, propose, reclaimable_at, validate_flush, validate_plan,
};

/// Size of a keyspace's range deletes, in bytes, from which on every partly hidden table is rewritten: half the stall
/// limit.
const CROWDED_BYTES: usize = DELETES_BYTES_MAX / 2;

/// A keyspace's policy, about to be asked: what it is given, as of one moment.
pub(crate) struct PlanRequest {
    keyspace: Arc<KeyspaceInner>,
    policy: Arc<Box<dyn Policy>>,
    tree: Arc<Tree>,
    remembered: Vec<u8>,
    running: Running,
    observed: Observed,
    /// New runs have names from here on.
    fresh: RunId,
    refused: u32,
    oldest_snapshot: Seq,
    /// Compactions that had started by then.
    begun: u64,
}

/// The turn of the one policy that plans; a panic ends it.
struct Turn<'a>(&'a Engine);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().planner.stop_asking();
    }
}

/// Takes the turn to ask the next policy, if one is due and no other is being asked; if `urgent`, only one
/// whose level 0 must be emptied.
pub(crate) fn next_plan_request(
    engine: &Engine,
    state: &mut State,
    urgent: bool,
) -> Option<PlanRequest> {
    if urgent && !engine.keyspaces.any_crowded() {
        return None;
    }
    loop {
        let may =
            |planner: &Planner, id| !urgent || level0_is_urgent(&engine.keyspaces, planner, id);
        let id = state.planner.next(may)?;
        let Some(keyspace) = engine.keyspaces.get(id) else { continue };
        if state.planner.reshape(id).is_some() {
            continue;
        }
        state.planner.start_asking();
        let tree = keyspace.tree();
        let record = state.version_set.keyspaces.get(&id);
        return Some(PlanRequest {
            policy: keyspace.policy.load_full(),
            remembered: record.map_or_else(Vec::new, |record| record.policy_state.clone()),
            running: state.planner.running(id),
            observed: keyspace.reads.access_stats.observed(&tree),
            fresh: RunId(engine.ids.next()),
            refused: state.planner.refusals(id),
            oldest_snapshot: engine.snapshots.oldest(),
            begun: state.planner.begun(),
            keyspace,
            tree,
        });
    }
}

/// Whether a keyspace's level 0 is half full, and nothing that has started empties it.
fn level0_is_urgent(keyspaces: &Keyspaces, planner: &Planner, id: KeyspaceId) -> bool {
    let crowded = |k: Arc<KeyspaceInner>| keyspaces.is_crowded(&k.super_version.load().tree);
    keyspaces.get(id).is_some_and(crowded) && !planner.empties_level0(id)
}

/// Asks a policy once, with no lock held, and acts on its answer. Returns a job that must be done at once.
pub(crate) fn ask_policy(engine: &Engine, mut request: PlanRequest) -> Option<Work> {
    let turn = Turn(engine);
    if !BROWSER && request.policy.weighs_costs() {
        let workers = engine.background.workers();
        engine.costs.observe(&mut request.observed, &request.tree, workers);
    }
    let PlanRequest { keyspace, policy, tree, running, observed, fresh, .. } = &request;
    let (id, fresh) = (keyspace.id, *fresh);
    let mut refused = request.refused;
    if policy.reads_histograms() || policy.reads_prefixes() {
        lock(&keyspace.histograms).learn(tree);
    }
    let planning = PlanContext {
        shape: tree.shape(),
        state: &request.remembered,
        running,
        observed,
        filter_bits: engine.options.table.filter_bits_per_key,
        workers: engine.background.workers(),
        l0_stop_trigger: engine.options.l0_stop_trigger,
        oldest_snapshot: request.oldest_snapshot,
        fresh,
    };
    let (hidden, expires_next) = hidden_now(&engine.snapshots, tree);
    if let Some(at) = expires_next {
        engine.snapshots.clock.note_expiry(at);
    }
    let answer = propose(&***policy, &planning, &hidden, &mut refused);
    drop(turn);
    let mut state = engine.state.lock();
    state.planner.answered(id, refused);
    let (mut plan, own) = match answer {
        Proposal::Nothing => {
            await_release(&engine.snapshots, &mut state, &request, hidden.awaits);
            return None;
        }
        Proposal::Refused(refusal) => {
            state.planner.queue(id);
            engine.emit(|| Event::PlanRefused { keyspace: id, why: refusal.to_string() });
            return None;
        }
        Proposal::Plan { plan, own } => (plan, own),
    };
    state.planner.queue(id);
    if let Plan::Compact(compaction) = &mut plan {
        rename(compaction, fresh, RunId(engine.ids.next()));
    }
    if !still_fits(&engine.keyspaces, &state, &request, &plan) {
        return None;
    }
    let PlanRequest { keyspace, policy, mut observed, .. } = request;
    if own {
        keyspace.reads.access_stats.take(&observed);
    } else {
        observed = Observed::default();
    }
    match plan {
        Plan::Compact(compaction) => {
            begin(engine, &mut state, id, compaction, own.then_some(policy), observed);
            None
        }
        Plan::Reshape(reshape) => {
            state.planner.begin_reshape(id, PendingReshape { reshape, planner: policy, observed });
            Some(Work::Reshape { keyspace: id })
        }
    }
}

/// Returns the hidden and the expired tables of a tree, and the next expiry. A merge reports unreadable tables.
fn hidden_now(snapshots: &Snapshots, tree: &Tree) -> (Hidden, Option<Millis>) {
    let (all, readers) = (tree.range_deletes().bytes() >= CROWDED_BYTES, snapshots.readers());
    let mut hidden = hidden(tree, &readers, all).unwrap_or_default();
    let expired = expired(tree, &readers);
    hidden.whole.extend(expired.tables);
    hidden.awaits = hidden.awaits.into_iter().chain(expired.awaits).min();
    if expired.awaits_present {
        snapshots.await_present();
    }
    (hidden, expired.next)
}

/// Notes the sequence number that the oldest snapshot must reach before a table is rewritten, or queues the
/// planning if it was reached meanwhile.
fn await_release(
    snapshots: &Snapshots,
    state: &mut State,
    request: &PlanRequest,
    hidden: Option<Seq>,
) {
    let kept = reclaimable_at(request.tree.shape(), request.oldest_snapshot);
    let until = kept.into_iter().chain(hidden).min();
    if state.planner.await_release(request.keyspace.id, until) {
        snapshots.await_oldest(state.planner.reclaimable_at());
        // It may have been reached meanwhile.
        state.planner.plan_reclaimable(snapshots);
    }
}

/// Whether a plan fits what the store is. While its policy was asked flushes and groups
/// may have been installed and other compactions started.
fn still_fits(keyspaces: &Keyspaces, state: &State, request: &PlanRequest, plan: &Plan) -> bool {
    let id = request.keyspace.id;
    let Some(keyspace) = keyspaces.get(id) else { return false };
    if !Arc::ptr_eq(&keyspace.policy.load_full(), &request.policy) {
        return false;
    }
    let tree = keyspace.tree();
    (Arc::ptr_eq(&tree, &request.tree) && state.planner.begun() == request.begun)
        || validate_plan(tree.shape(), &state.planner.running(id), plan).is_ok()
}

/// Makes a plan that was admitted ready for jobs; returns its number. `planner` made it, or
/// nobody who remembers.
pub(crate) fn begin(
    engine: &Engine,
    state: &mut State,
    id: KeyspaceId,
    plan: Compaction,
    planner: Option<Arc<Box<dyn Policy>>>,
    observed: Observed,
) -> u64 {
    // Runs that the plan creates have names from the next number up: none may get them again.
    let names =
        plan.groups.iter().map(|g| g.destination.run.0.saturating_add(1)).max().unwrap_or(0);
    engine.ids.skip_to(names);
    let number = engine.ids.fresh();
    engine.emit(|| Event::CompactionBegun {
        keyspace: id,
        compaction: number,
        groups: plan.groups.len(),
        order: plan.order,
        reason: plan.reason.text.clone(),
        terms: plan.reason.terms,
        observed: observed.clone(),
    });
    state.planner.begin(RunningCompaction {
        number,
        keyspace: id,
        planner,
        unreported: observed,
        several: plan.groups.len() > 1,
        waiting: plan.groups.clone(),
        open: plan.groups,
        order: plan.order,
        reason: plan.reason.text,
    });
    number
}

/// Plans the tables of a sealed memtable's run.
pub(crate) fn plan_flush(engine: &Engine, id: KeyspaceId, memtable: &Memtable) -> FlushPlan {
    let Some(keyspace) = engine.keyspaces.get(id) else {
        return FlushPlan::default();
    };
    let policy = keyspace.policy.load_full();
    if !policy.plans_flushes() {
        return FlushPlan::default();
    }
    let (entries, bytes) = (memtable.entries() as u64, memtable.bytes() as u64);
    let sealed = KeySample { entries, bytes, keys: memtable.sample() };
    let state = engine.state.lock();
    let Some(record) = state.version_set.keyspaces.get(&id).cloned() else {
        return FlushPlan::default();
    };
    let (running, fresh) = (state.planner.running(id), RunId(engine.ids.next()));
    drop(state);
    let planning = PlanContext {
        shape: &record.shape,
        state: &record.policy_state,
        running: &running,
        observed: &keyspace.reads.access_stats.observed(&keyspace.super_version.load().tree),
        filter_bits: engine.options.table.filter_bits_per_key,
        workers: engine.background.workers(),
        l0_stop_trigger: engine.options.l0_stop_trigger,
        oldest_snapshot: engine.snapshots.oldest(),
        fresh,
    };
    let plan = policy.flush(&planning, &sealed);
    match validate_flush(&plan) {
        Ok(()) => plan,
        Err(refusal) => {
            engine.emit(|| Event::PlanRefused { keyspace: id, why: refusal.to_string() });
            FlushPlan::default()
        }
    }
}

/// Gives the runs that a plan creates, which it names from `fresh` on, the names from `next` on:
/// what was made since it was asked for has some of the others.
pub(super) fn rename(plan: &mut Compaction, fresh: RunId, next: RunId) {
    for run in plan.groups.iter_mut().map(|group| &mut group.destination.run) {
        if *run >= fresh {
            run.0 = run.0.saturating_add(next.0 - fresh.0);
        }
    }
}
