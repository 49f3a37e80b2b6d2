//! Keyspaces are created, are dropped, and change their policy: one edit each.

use crate::engine::{EditLock, Engine, KeyspaceInner, State, StoreState};
use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::event::Event;
use crate::keyspace::{KeyspaceId, MAX_KEYSPACE_NAME_BYTES};
use crate::options::{build_policy, policy_json};
use crate::storage::FileId;
use crate::version::{Change, Tree};
use std::sync::Arc;
use terrane_policy::{MAX_STATE, PolicyOptions};

/// Refuses declared data whose filters would take more than the memory budget.
#[cfg(feature = "all")]
fn check_filters(
    options: &crate::options::Options,
    policy: &PolicyOptions,
    held: &crate::version::SuperVersion,
) -> Result<()> {
    let totals = held.tree.shape().totals();
    let mut present = (totals.entries(), totals.bytes());
    for memtable in held.sealed.iter().chain([&held.active]) {
        present.0 += memtable.entries() as u64;
        present.1 += memtable.bytes() as u64;
    }
    let bits = options.table.filter_bits_per_key;
    let checked = policy.check_filters(present, bits, options.budget());
    checked.map_err(crate::options::invalid_policy)
}

/// Returns the keyspace of this name, if there is one.
///
/// # Errors
/// A closed store.
pub(crate) fn find_keyspace(store: &StoreState, name: &str) -> Result<Option<KeyspaceId>> {
    Ok(store.lock_open()?.version_set.find(name))
}

/// Returns the keyspace of this name, of 1 to [`MAX_KEYSPACE_NAME_BYTES`] bytes, created if there is none.
///
/// # Errors
/// A name out of bounds, an I/O error, or a closed store.
pub(crate) fn create_keyspace(engine: &Engine, name: &str) -> Result<KeyspaceId> {
    if let Some(id) = find_keyspace(&engine.state, name)? {
        return Ok(id);
    }
    if name.is_empty() || name.len() > MAX_KEYSPACE_NAME_BYTES {
        return Err(Error::invalid(
            "name of a keyspace",
            format_args!("1 to {MAX_KEYSPACE_NAME_BYTES} bytes"),
            format_args!("{} bytes", name.len()),
        ));
    }
    let edits = engine.state.lock_edits()?;
    let state = engine.state.lock();
    if let Some(id) = state.version_set.find(name) {
        return Ok(id);
    }
    let fresh = engine.ids.fresh();
    let id = KeyspaceId(u32::try_from(fresh).map_err(|_| {
        Error::invalid("keyspace", "fewer than 2^32 numbers in the life of a store", fresh)
    })?);
    let policy = policy_json(&engine.options.policy);
    let create = Change::CreateKeyspace { id, name: name.to_owned(), policy };
    drop(state);
    let state = edits.apply(vec![create], &[], &[])?;
    adopt_keyspace(engine, &state, id)?;
    Ok(id)
}

/// Makes room for the edit that drops a keyspace, so that it fails before the batch of the drop is written, not after.
///
/// # Errors
/// An I/O error, such as a full disk.
pub(crate) fn reserve_drop(edits: &EditLock<'_>, keyspace: &KeyspaceInner) -> Result<()> {
    let drop = Change::DropKeyspace { id: keyspace.id, sequence: Seq::MAX };
    edits.reserve(vec![drop], &table_files(&keyspace.tree()))
}

fn table_files(tree: &Tree) -> Vec<FileId> {
    tree.tables().map(|table| FileId::table(table.table().info().id.0)).collect()
}

/// Drops a keyspace with all it holds by an edit, as the batch with the number `sequence` does. That batch is durable,
/// and the caller holds the writer's lock: no write is under way, whose entries would be added to the memory in use
/// after they were subtracted with their memtable.
pub(crate) fn drop_keyspace(
    engine: &Engine,
    edits: &EditLock<'_>,
    keyspace: &KeyspaceInner,
    sequence: Seq,
) -> Result<()> {
    let changes = vec![Change::DropKeyspace { id: keyspace.id, sequence }];
    let tree = keyspace.tree();
    let mut state = edits.apply(changes, &[], &table_files(&tree))?;
    tree.tables().for_each(|table| table.mark_dropped());
    forget_keyspace(engine, &mut state, keyspace);
    Ok(())
}

/// Removes a keyspace that was dropped from the live ones.
pub(crate) fn forget_keyspace(engine: &Engine, state: &mut State, keyspace: &KeyspaceInner) {
    engine.keyspaces.remove(state, keyspace);
    let super_version = keyspace.super_version.load_full();
    let sealed: u64 = super_version.sealed.iter().map(|memtable| memtable.bytes() as u64).sum();
    engine.memtables.free_sealed(sealed);
    engine.memtables.free_active(super_version.active.bytes() as u64);
    state.flushes.forget(keyspace.id);
    state.logs.forget_pins();
    state.planner.forget(keyspace.id);
}

/// The policy of a keyspace: what of its stored options this release does not know, or would not
/// set, is at its default.
///
/// # Errors
/// A keyspace that was dropped.
pub(crate) fn policy(store: &StoreState, id: KeyspaceId) -> Result<PolicyOptions> {
    let state = store.lock();
    let record = state.version_set.keyspaces.get(&id).ok_or(Closed::Keyspace)?;
    Ok(PolicyOptions::stored(&record.policy).0)
}

/// Gives a keyspace another policy. Plans that run continue to their end; the validator keeps the
/// new policy's plans from disturbing them.
///
/// # Errors
/// A parameter outside its range, declared data whose filters the store's memory cannot hold, a state
/// of the policy that is too long, a keyspace that was dropped, or an I/O error.
pub(crate) fn set_policy(engine: &Engine, id: KeyspaceId, policy: &PolicyOptions) -> Result<()> {
    let json = policy_json(policy);
    build_policy(policy)?;
    let edits = engine.state.lock_edits()?;
    let keyspace = engine.keyspaces.live(id)?;
    let built = engine.options.planner(&keyspace.name, policy)?;
    let super_version = keyspace.super_version.load_full();
    let shape = super_version.tree.shape().clone();
    #[cfg(feature = "all")]
    check_filters(&engine.options, policy, &super_version)?;
    let adopted = built.adopt(&shape);
    if adopted.len() > MAX_STATE {
        let expected = format_args!("at most {MAX_STATE} bytes");
        return Err(Error::invalid("state of the policy", expected, adopted.len()));
    }
    let changes = vec![
        Change::SetPolicy { keyspace: id, policy: json },
        Change::PolicyState { keyspace: id, state: adopted },
    ];
    let mut state = edits.apply(changes, &[], &[])?;
    keyspace.reads.access_stats.watch_for(&*built);
    keyspace.policy.store(Arc::new(built));
    state.planner.policy_changed(id);
    engine.emit(|| Event::PolicyChanged { keyspace: id, policy: policy.clone() });
    engine.report_policy(&state, &keyspace, Vec::new());
    let remembered = state.version_set.keyspaces.get(&id).map(|record| record.policy_state.clone());
    drop(state);
    if let Some(remembered) = remembered {
        let tree = keyspace.tree();
        tree.estimate_debt(&engine.options, &**keyspace.policy.load_full(), &remembered);
    }
    engine.background.notify_work();
    Ok(())
}

/// Adds a keyspace of the version set to the live ones.
pub(crate) fn adopt_keyspace(engine: &Engine, state: &State, id: KeyspaceId) -> Result<()> {
    let record = state.version_set.keyspaces.get(&id).ok_or(Closed::Keyspace)?;
    let keyspace = KeyspaceInner::new(id, record, Tree::default(), &engine.options)?;
    engine.keyspaces.add(state, keyspace);
    engine.emit(|| Event::KeyspaceCreated { keyspace: id, name: record.name.clone() });
    Ok(())
}
