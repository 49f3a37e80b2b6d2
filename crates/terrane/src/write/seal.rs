//! Sealing: when memtables close for writing and wait for their flush.
//!
//! After each commit
//! 1. a memtable that is full, or has a thousand range deletes, is sealed;
//! 2. while all active memtables together take more than three quarters of the memtables' share of
//!    the memory budget, the largest is. What is sealed gives its memory back when it is flushed:
//!    where both take the whole share, writes wait for that, and no small memtable is sealed;
//! 3. while the logs take too much space and running flushes do not free it, the memtable that
//!    holds the oldest record is.
//!
//! The other share of the budget belongs to the cache: what open tables keep, index, filter, blocks.

use crate::batch::WriteBatch;
use crate::engine::{Engine, KeyspaceInner, KeyspaceMap, State, Writer};
use crate::entry::Seq;
use crate::error::Result;
use crate::event::Event;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::options::Options;
use crate::sync::atomic::Ordering;
use std::sync::Arc;

/// The most range deletes of a memtable: each copies the list of those before it.
const DELETIONS_MAX: usize = 1000;

/// Seals what must be sealed after a commit that touched `touched`.
pub(crate) fn seal_full(
    engine: &Engine,
    writer: &Writer,
    keyspaces: &KeyspaceMap,
    touched: &mut dyn Iterator<Item = KeyspaceId>,
) -> Result<()> {
    let through = writer.last();
    for keyspace in touched.filter_map(|id| keyspaces.get(&id)) {
        if is_full(&engine.options, &keyspace.super_version.load().active) {
            seal(engine, &mut *engine.state.lock_open()?, keyspace.id, through);
        }
    }
    while engine.memtables.active() > engine.options.memtables_share() / 4 * 3 {
        let active = keyspaces.values().map(|k| (k.super_version.load().active.bytes(), k.id));
        let Some((_, id)) = active.max().filter(|(bytes, _)| *bytes > 0) else { break };
        seal(engine, &mut *engine.state.lock_open()?, id, through);
    }
    let current = writer.bytes();
    seal_for_logs(engine, &mut *engine.state.lock_open()?, keyspaces, current, through);
    Ok(())
}

/// Whether a memtable takes no more.
pub(crate) fn is_full(options: &Options, memtable: &Memtable) -> bool {
    memtable.bytes() as u64 >= options.memtable_bytes || memtable.deletions() >= DELETIONS_MAX
}

/// Seals memtables while the logs that their oldest entries keep take too much space.
fn seal_for_logs(
    engine: &Engine,
    state: &mut State,
    keyspaces: &KeyspaceMap,
    current: u64,
    through: Seq,
) {
    let max = engine.options.max_total_wal_bytes;
    let Some(retiring) = state.logs.must_retire_through(current, max) else { return };
    for keyspace in keyspaces.values() {
        let first = keyspace.super_version.load().active.first_seq();
        if first.is_some_and(|first| first <= retiring) {
            seal(engine, state, keyspace.id, through);
        }
    }
}

/// Seals the memtables with range deletes of the keyspaces that batches name.
pub(super) fn seal_deleting(
    engine: &Engine,
    writer: &Writer,
    keyspaces: &KeyspaceMap,
    batches: &[&WriteBatch],
) -> Result<()> {
    let mut state = engine.state.lock_open()?;
    for id in batches.iter().flat_map(|batch| batch.keyspaces()) {
        let deletes = |k: &Arc<KeyspaceInner>| k.super_version.load().active.deletions() > 0;
        if keyspaces.get(&id).is_some_and(deletes) {
            seal(engine, &mut state, id, writer.last());
        }
    }
    Ok(())
}

/// Seals every memtable that holds anything, for an explicit flush; returns the last sequence.
pub(crate) fn seal_all(engine: &Engine) -> Result<Seq> {
    engine.state.writable()?;
    let writer = engine.log.writer();
    let mut state = engine.state.lock_open()?;
    state.health.retry();
    // What is sealed already, and failed to be flushed, is tried again as well, and so are removals, which make room.
    engine.jobs.obsolete_files.retry();
    engine.background.notify_work();
    for id in engine.keyspaces.load().keys() {
        seal(engine, &mut state, *id, writer.last());
    }
    // Where recovery had no room, more is visible than was written since; where a sync failed,
    // less.
    Ok(writer.last().max(engine.snapshots.visible()))
}

/// Closes a keyspace's memtable for writing. The caller holds the writer lock, so that every
/// entry up to `through` is in.
pub(crate) fn seal(engine: &Engine, state: &mut State, id: KeyspaceId, through: Seq) {
    let keyspaces = engine.keyspaces.load();
    let Some(keyspace) = keyspaces.get(&id) else { return };
    let super_version = keyspace.super_version.load_full();
    if super_version.active.is_empty() {
        return;
    }
    let mut sealed = vec![super_version.active.clone()];
    sealed.extend(super_version.sealed.iter().cloned());
    let active = Arc::new(engine.options.memtable());
    keyspace.show(super_version.replaced(active, sealed, super_version.tree.clone()));
    let memtable = super_version.active.clone();
    keyspace.reads.access_stats.updates.fetch_add(memtable.entries() as u64, Ordering::Relaxed);
    let bytes = memtable.bytes() as u64;
    engine.memtables.seal(bytes);
    state.flushes.push(id, memtable, through);
    // A new flush is a new chance for work that failed.
    state.health.retry();
    engine.jobs.obsolete_files.retry();
    engine.background.notify_work();
    engine.emit(|| Event::MemtableSealed { keyspace: id, bytes, through });
}
