//! State of the keyspace's policy after an edit, as a change of that edit.

use crate::engine::KeyspaceInner;
use crate::event::{Event, EventStream};
use crate::keyspace::KeyspaceId;
use crate::version::{Change, KeyspaceRecord, VersionSet};
use std::sync::Arc;
use terrane_policy::{
    Decision, Group, Installed, MAX_STATE, Observed, Shape, ShapeEdit, Step, TableInfo,
};

/// Returns the state of the keyspace's policy after a group that it did not plan is installed, if the
/// state changes. Its memory of the tree may be wrong then, so it derives it from the shape.
pub(super) fn not_its_own(
    events: &EventStream,
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    group: &Group,
    outputs: &[TableInfo],
) -> Option<Change> {
    let run = group.destination.run;
    let added = outputs.iter().map(|t| (group.destination.level, run, Arc::new(t.clone())));
    let edit = ShapeEdit { added: added.collect(), dropped: group.inputs.clone() };
    let before = &version_set.keyspaces.get(&keyspace.id)?.shape;
    adopted(events, version_set, keyspace, &terrane_policy::apply(before, &edit).ok()?)
}

/// Returns the state of the keyspace's policy after this step, if it changes, and the decisions for
/// the listener of `engine`.
pub(super) fn remembered(
    events: &EventStream,
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    observed: &Observed,
    step: Step,
) -> (Option<Change>, Vec<Decision>) {
    let Some(record) = version_set.keyspaces.get(&keyspace.id) else { return Default::default() };
    let installed = Installed { before: &record.shape, observed, step };
    let policy = keyspace.policy.load();
    let next = policy.apply(&record.policy_state, &installed);
    let mut decisions = Vec::new();
    if events.is_heard() {
        decisions = policy.decisions(&record.policy_state, &installed);
    }
    (memory(events, record, keyspace.id, next), decisions)
}

/// Returns the state of the keyspace's policy for a shape that it did not plan, if it changes.
pub(super) fn adopted(
    events: &EventStream,
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    shape: &Shape,
) -> Option<Change> {
    let record = version_set.keyspaces.get(&keyspace.id)?;
    let next = keyspace.policy.load().readopt(&record.policy_state, shape);
    memory(events, record, keyspace.id, next)
}

fn memory(
    events: &EventStream,
    record: &KeyspaceRecord,
    keyspace: KeyspaceId,
    next: Vec<u8>,
) -> Option<Change> {
    let bytes = next.len();
    if bytes > MAX_STATE {
        events.emit(|| Event::PolicyStateRefused { keyspace, bytes });
        return None;
    }
    (next != record.policy_state).then_some(Change::PolicyState { keyspace, state: next })
}
