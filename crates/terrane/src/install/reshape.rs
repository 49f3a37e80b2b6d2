//! A change of levels takes effect: runs are relabelled, and nothing is rewritten.

use super::policy_state::{adopted, remembered};
use super::tree::next_tree;
use crate::engine::{Engine, PendingReshape};
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::version::Change;
use std::sync::Arc;
use terrane_policy::{Reason, Reshape, Step, validate_reshape};

/// Makes the change of levels that waits for it, unless it fits no more: a compaction that was
/// asked for otherwise may have started since.
pub(super) fn install_reshape(engine: &Engine, id: KeyspaceId) -> Result<()> {
    let edits = engine.state.lock_edits()?;
    let state = engine.state.lock();
    // It stays where it is until it is made: its policy is not asked meanwhile.
    let Some(pending) = state.planner.reshape(id).cloned() else { return Ok(()) };
    let (running, version_set) = (state.planner.running(id), state.version_set.clone());
    drop(state);
    let Some(keyspace) = engine.keyspaces.get(id) else { return Ok(()) };
    let PendingReshape { reshape: Reshape { change, reason }, planner, observed } = pending;
    let shape = keyspace.super_version.load().tree.shape().clone();
    if let Err(refusal) = validate_reshape(&shape, &running, change) {
        engine.emit(|| Event::PlanRefused { keyspace: id, why: refusal.to_string() });
        abandon_reshape(engine, id);
        return Ok(());
    }
    let mut changes = vec![Change::Levels { keyspace: id, change }];
    let own = Arc::ptr_eq(&planner, &keyspace.policy.load_full());
    let (remembers, decisions) = if own {
        remembered(&engine.jobs.events, &version_set, &keyspace, &observed, Step::Reshape(change))
    } else {
        let next = terrane_policy::reshape(&shape, change).ok();
        (
            next.and_then(|next| adopted(&engine.jobs.events, &version_set, &keyspace, &next)),
            Vec::new(),
        )
    };
    changes.extend(remembers);
    let prepared = edits.prepare(changes)?;
    let tree = next_tree(&engine.options, &prepared.version_set, &keyspace, &[]);
    let mut state = edits.commit(prepared, &[], &[])?;
    engine.keyspaces.show(&state, &keyspace, tree, None);
    state.planner.end_reshape(id);
    if !own {
        keyspace.reads.access_stats.give_back(&observed);
    }
    let Reason { text: reason, terms } = reason;
    engine.emit(|| Event::LevelChanged { keyspace: id, change, reason, terms, observed });
    engine.report_policy(&state, &keyspace, decisions);
    drop(state);
    engine.background.notify_work();
    Ok(())
}

/// A change of levels was abandoned: the policy is asked again.
pub(crate) fn abandon_reshape(engine: &Engine, id: KeyspaceId) {
    let mut state = engine.state.lock();
    if let Some(PendingReshape { observed, .. }) = state.planner.end_reshape(id)
        && let Some(keyspace) = engine.keyspaces.load().get(&id)
    {
        keyspace.reads.access_stats.give_back(&observed);
    }
    drop(state);
    engine.background.notify_work();
}
