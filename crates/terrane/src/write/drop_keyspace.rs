//! The removal of a keyspace: a batch in the log, and then an edit.
//!
//! 1. Give the store the feature that the batch needs, and the log a spare file if the batch does not fit.
//! 2. Under the lock of edits make room for the edit: on a full disk the removal fails here, and nothing is written.
//! 3. Under the lock of the writer as well append the batch and sync it. The change feed has it from then on.
//! 4. Commit the edit that drops the keyspace, and remove it from the live ones. So no batch after this one names the
//!    keyspace, and no flush retires the log before the edit.
//! 5. Make the batch visible.
//!
//! A crash between steps 3 and 4 leaves a batch whose keyspace the manifest still has: recovery commits the edit. If
//! the edit fails all the same, the log takes no more until the store is opened again.

use super::announce::announce;
use super::commit::{check, record, rotate_log, show};
use crate::batch::{Operation, WriteBatch};
use crate::engine::{EditLock, Engine, KeyspaceInner, Writer};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::install;
use crate::keyspace::DEFAULT_KEYSPACE;
use crate::options::Durability;
use crate::rules::Rule;
use crate::wal::{log_file_bytes, payload_bytes};

/// Removes a keyspace with all it holds, and writes the entries of `with`, which names other keyspaces, in the same
/// batch; returns whether there was one. Without one nothing is written.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] for the default keyspace; a store that takes no writes; an I/O error.
pub(crate) fn drop_keyspace(engine: &Engine, name: &str, with: &WriteBatch) -> Result<bool> {
    if name == DEFAULT_KEYSPACE {
        let expected = "a keyspace other than the default one, which cannot be dropped";
        return Err(Error::invalid("keyspace to drop", expected, name));
    }
    engine.state.writable()?;
    while let Some(id) = install::find_keyspace(&engine.state, name)? {
        let mut batch = WriteBatch::new();
        batch.push(id, Operation::DropKeyspace(name.as_bytes()))?;
        for (id, operation) in with.iter().map_while(Result::ok) {
            batch.push(id, operation)?;
        }
        announce(engine, &batch)?;
        let bytes = payload_bytes([batch.bytes().len()].into_iter());
        let edits = engine.state.lock_edits()?;
        // Another thread may have dropped it meanwhile.
        let Some(keyspace) = engine.keyspaces.get(id) else { continue };
        install::reserve_drop(&edits, &keyspace)?;
        let mut writer = engine.log.writer();
        engine.log.syncs.usable()?;
        if writer.fits(bytes) || rotate_log(engine, &mut writer, log_file_bytes(bytes))? {
            check(&engine.keyspaces.load(), with)?;
            commit(engine, &edits, &mut writer, &keyspace, &batch)?;
            drop(writer);
            engine.background.notify_work();
            engine.emit(|| Event::KeyspaceDropped { keyspace: id, name: name.to_owned() });
            return Ok(true);
        }
        drop(writer);
        drop(edits);
        install::add_spare_log(engine, log_file_bytes(bytes))?;
    }
    Ok(false)
}

fn commit(
    engine: &Engine,
    edits: &EditLock<'_>,
    writer: &mut Writer,
    keyspace: &KeyspaceInner,
    batch: &WriteBatch,
) -> Result<()> {
    let keyspaces = engine.keyspaces.load_full();
    let is_synced = Rule::DropBeforeEdit.holds();
    let durability = if is_synced { Durability::Sync } else { Durability::Buffered };
    let recorded = record(engine, writer, &[batch], durability)?;
    install::drop_keyspace(engine, edits, keyspace, recorded.last)
        .inspect_err(|e| engine.log.syncs.poison(e))?;
    show(engine, writer, &keyspaces, &[batch], &recorded)
}
