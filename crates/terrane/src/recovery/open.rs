//! Opening: a new store is created, one that is there is recovered ([`recover`](super::recover)).

use super::recover::{begin_log, recover};
use crate::engine::{Engine, SpareLog};
use crate::error::{Corruption, Error, Result};
use crate::install::adopt_keyspace;
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId};
use crate::options::{Options, policy_json};
use crate::recovery::check_log_numbers;
use crate::storage::{FileId, FileKind, Storage};
use crate::version::{Change, VersionSet};
use std::sync::Arc;

/// The keyspace that is always there.
const DEFAULT_ID: KeyspaceId = KeyspaceId(0);

/// Whether a file name is that of a table.
fn is_table(name: &str) -> bool {
    FileId::parse(name).is_some_and(|id| id.kind == FileKind::Table)
}

/// Opens the store in `storage`, or creates it.
///
/// # Errors
/// [`crate::ErrorKind::NoStore`] if there is none and `create` is off;
/// [`crate::ErrorKind::InvalidArgument`] if there is one and `error_if_exists` is on, for an option
/// out of bounds, or if `read_only` is on and `storage` is not read-only;
/// [`crate::ErrorKind::Corrupt`] for damage;
/// [`crate::ErrorKind::NewerFormat`]; an I/O error.
pub(crate) fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Arc<Engine>> {
    options.validate()?;
    if options.read_only && !storage.read_only() {
        return Err(Error::invalid(
            "storage of a read-only store",
            "one that was opened read-only",
            format_args!("{}, which may be changed", storage.name()),
        ));
    }
    let recovered = storage.recover()?;
    let fresh = recovered.is_none();
    if fresh && !options.create {
        let why = "it is empty".to_owned();
        return Err(Error::no_store(storage.name(), why));
    }
    if !fresh && options.error_if_exists {
        return Err(Error::invalid(
            "place of a new store",
            "no store there yet",
            format_args!("one in {}", storage.name()),
        ));
    }
    let recovered = recovered.unwrap_or_default();
    // If nothing will be changed, reads that need a lost table report it, and the rest can be read.
    let read_only = storage.read_only();
    let is_refused = |damage: &Corruption| !(read_only && is_table(&damage.file));
    if let Some(damage) = storage.check_files()?.into_iter().find(is_refused) {
        return Err(damage.into());
    }
    let version_set = VersionSet::replay(&recovered.edits)?;
    check_log_numbers(&*storage, &version_set)?;
    storage.resume()?;
    let engine = Engine::new(storage, options, version_set)?;
    if fresh {
        create(&engine)?;
    } else {
        recover(&engine, &recovered)?;
    }
    Ok(engine)
}

/// Writes the first edit of a new store.
fn create(engine: &Engine) -> Result<()> {
    let policy = policy_json(&engine.options.policy);
    engine.ids.skip_to(1);
    let number = engine.ids.fresh();
    let capacity = engine.options.log_bytes_after(0);
    let file = engine.storage.create(FileId::log(number), capacity)?;
    let name = DEFAULT_KEYSPACE.to_owned();
    let changes = vec![
        Change::CreateKeyspace { id: DEFAULT_ID, name, policy },
        Change::RetireLogs { below: 0, next: 1 },
        engine.log.opened(number, number),
    ];
    let mut state = engine.state.lock_edits()?.apply(changes, &[FileId::log(number)], &[])?;
    state.logs.set_next_bytes(engine.options.log_bytes_after(capacity));
    adopt_keyspace(engine, &state, DEFAULT_ID)?;
    drop(state);
    begin_log(engine, SpareLog { number, file_number: number, file, capacity }, 1, 0)
}
