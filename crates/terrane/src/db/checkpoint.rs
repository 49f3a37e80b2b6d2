//! Checkpoints: the store as it is now, in another storage. It is also how a store leaves its
//! directory for a single-file volume, and comes back.
//!
//! 1. Everything is flushed, so that the logs are short.
//! 2. Under the locks of writers and of the catalog: sync the logs, copy what they hold, note the
//!    catalog and pin every table. This is the moment that the checkpoint shows.
//! 3. Without locks: bring each table over, by a hard link where both storages can, else by copying.
//! 4. Name all of it in the target's first commit. Until then the target holds no store.

use super::state::View;
use super::{Engine, lock};
use crate::error::{Error, Result};
use crate::storage::{Commit, File, FileId, Storage, read_exact_at, write_all_at};
use crate::version::{Catalog, LogRecord};
use std::sync::Arc;

/// Bytes copied at once.
const CHUNK: usize = 1 << 20;

impl Engine {
    /// Puts the store, as it is now, into `target`, which holds none yet.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the target holds a store, damage, or a failing medium.
    pub fn checkpoint(&self, target: &dyn Storage) -> Result<()> {
        if target.recover()?.is_some() {
            return Err(Error::invalid(
                "place of a checkpoint",
                "no store there yet",
                format_args!("one in {}", target.name()),
            ));
        }
        let mut added = Vec::new();
        let (catalog, views) = self.freeze(target, &mut added)?;
        for info in catalog.tables() {
            let id = FileId::table(info.id.0);
            if !target.link(id, &*self.storage)? {
                let from = self.storage.open(id)?;
                let to = target.create(id, info.bytes)?;
                copy(&*from, &*to, info.bytes)?;
            }
            added.push(id);
        }
        drop(views);
        let edit = catalog.snapshot().encode();
        let commit =
            Commit { edit: &edit, added: &added, dropped: &[], snapshot: &|| edit.clone() };
        target.commit(&commit)
    }

    /// Copies the logs, and answers the catalog that fits them with what keeps its tables.
    fn freeze(
        &self,
        target: &dyn Storage,
        added: &mut Vec<FileId>,
    ) -> Result<(Catalog, Vec<Arc<View>>)> {
        let mut writer = lock(&self.writer);
        writer.sync()?;
        let state = self.open_state()?;
        let sealed = state.sealed_logs.iter();
        let mut logs: Vec<_> =
            sealed.map(|log| (log.number, log.file.clone(), log.bytes)).collect();
        logs.extend(writer.log.iter().map(|log| (log.number(), log.file().clone(), log.bytes())));
        let mut catalog = state.catalog.clone();
        catalog.logs.clear();
        for (number, from, bytes) in logs {
            let id = FileId::log(number);
            // No larger than it is: the copy, once opened, makes itself a log to go on in.
            let to = target.create(id, bytes)?;
            copy(&*from, &*to, bytes)?;
            catalog.logs.push(LogRecord { number, file: number });
            added.push(id);
        }
        let views = self.keyspaces.load().values().map(|k| k.view.load_full()).collect();
        Ok((catalog, views))
    }
}

/// Copies the first `bytes` bytes of a file, and syncs the copy.
fn copy(from: &dyn File, to: &dyn File, bytes: u64) -> Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    while at < bytes {
        let size = usize::try_from(bytes - at).unwrap_or(CHUNK).min(CHUNK);
        let Some(part) = chunk.get_mut(..size) else { break };
        read_exact_at(from, part, at)?;
        write_all_at(to, part, at)?;
        at += size as u64;
    }
    to.sync()
}
