//! What the keyspace's policy remembers after an edit, as a change of that edit.

use crate::engine::{Engine, KeyspaceInner};
use crate::keyspace::KeyspaceId;
use crate::version::{Change, KeyspaceRecord, VersionSet};
use std::sync::Arc;
use terrane_policy::{
    Decision, Group, Installed, MAX_STATE, Observed, Shape, ShapeEdit, Step, TableInfo,
};

/// What the keyspace's policy remembers once a group is installed that it did not plan, if that
/// changes. Its memory may be at odds with the shape then, so it starts from the shape alone.
pub(super) fn not_its_own(
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

/// What the keyspace's policy remembers after this step, if that changes, and what it decides for the
/// listener of `engine`.
pub(super) fn remembered(
    engine: &Engine,
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
    if engine.jobs.events.is_heard() {
        decisions = policy.decisions(&record.policy_state, &installed);
    }
    (memory(record, keyspace.id, next), decisions)
}

/// What the keyspace's policy remembers of a shape that it did not plan, if that changes.
pub(super) fn adopted(
    version_set: &VersionSet,
    keyspace: &KeyspaceInner,
    shape: &Shape,
) -> Option<Change> {
    let record = version_set.keyspaces.get(&keyspace.id)?;
    memory(record, keyspace.id, keyspace.policy.load().adopt(shape))
}

fn memory(record: &KeyspaceRecord, keyspace: KeyspaceId, next: Vec<u8>) -> Option<Change> {
    let changed = next != record.policy_state && next.len() <= MAX_STATE;
    changed.then_some(Change::PolicyState { keyspace, state: next })
}
