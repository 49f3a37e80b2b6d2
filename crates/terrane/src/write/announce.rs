//! Features of the store that batches need: an edit says so before the first log has such a batch.
//!
//! A keyspace has values that expire, counters, or merges with the store's operator, but no two of these: the start of
//! a counter whose value expired is undefined, and counters and a merge operator do not combine. The first batch that
//! needs one fixes the keyspace's mode for good.

use crate::batch::{self, WriteBatch};
use crate::engine::{Engine, Keyspaces, StoreClock};
use crate::error::{Closed, Error, Result};
use crate::features::{COUNTERS, EXPIRY, MERGE_OPERATOR, MODES};
use crate::operand::{AVAILABLE, missing_operator};
use crate::version::{Change, Features};

/// Whether the store, and each keyspace, has every feature that a batch needs.
pub(super) fn is_announced(keyspaces: &Keyspaces, clock: &StoreClock, batch: &WriteBatch) -> bool {
    keyspaces.have_features(batch) && (batch.features() & EXPIRY == 0 || clock.exists())
}

/// Gives the store and its keyspaces the features that a batch needs. No lock is held.
///
/// # Errors
/// Values that expire, without a wall clock; operands of a merge operator, without one; a keyspace of another mode,
/// or one that was dropped; a store that takes no writes; those of the commit of an edit.
pub(crate) fn announce(engine: &Engine, batch: &WriteBatch) -> Result<()> {
    if is_announced(&engine.keyspaces, &engine.snapshots.clock, batch) {
        return Ok(());
    }
    let needs = batch.features();
    if needs & EXPIRY != 0 {
        engine.snapshots.clock.needed()?;
    }
    if AVAILABLE && needs & MERGE_OPERATOR != 0 && engine.options.merge_operator.is_none() {
        return Err(missing_operator());
    }
    let edits = engine.state.lock_edits()?;
    let mut changes = Vec::new();
    let state = engine.state.lock();
    if !state.version_set.has(needs) {
        let required = needs.into();
        changes.push(Change::Features(Features { required, ..Features::default() }));
    }
    for (id, needs) in batch.features_by_keyspace() {
        let record = state.version_set.keyspaces.get(&id).ok_or(Closed::Keyspace)?;
        let features = needs & MODES;
        if AVAILABLE && (record.features | features).count_ones() > 1 {
            return Err(mode_conflict(&record.name, record.features, features));
        }
        if features & !record.features != 0 {
            changes.push(Change::KeyspaceFeatures { keyspace: id, features });
        }
    }
    drop(state);
    if !changes.is_empty() {
        drop(edits.apply(changes, &[], &[])?);
    }
    if needs & EXPIRY != 0 {
        engine.snapshots.clock.start();
    }
    engine.keyspaces.add_features(batch);
    Ok(())
}

/// Returns the batch with one operation for each key, where one is a merge with the store's operator after another;
/// `None` if the batch stays as it is.
///
/// # Errors
/// A result over its limit; operands of a merge operator, without one.
pub(crate) fn combined(engine: &Engine, batch: &WriteBatch) -> Result<Option<WriteBatch>> {
    batch::combined(batch, engine.options.merge_operator.as_ref())
}

#[cold]
fn mode_conflict(name: &str, has: u32, needs: u32) -> Error {
    let named = |features: u32, between: &str| {
        let named = [
            (EXPIRY, "values that expire"),
            (COUNTERS, "merges of numbers"),
            (MERGE_OPERATOR, "merges with Options::merge_operator"),
        ];
        let named = named.into_iter().filter(|(bit, _)| features & bit != 0);
        named.map(|(_, name)| name).collect::<Vec<_>>().join(between)
    };
    if has == 0 {
        let found = format_args!("{}; use a keyspace for each", named(needs, " and "));
        let expected = format_args!("one kind of value in \"{name}\"");
        return Error::invalid("keyspace", expected, found);
    }
    let (has, needs) = (named(has, " and "), named(needs & !has, " or "));
    let expected = format_args!("no {needs} in \"{name}\", which has had {has}");
    Error::invalid("keyspace", expected, "one; use another keyspace")
}
