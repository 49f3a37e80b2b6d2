//! Checkpoints: the store as it is at one moment, in another storage. It is also how a store leaves
//! its directory for a single-file volume, and comes back.
//!
//! 1. Under the locks of writers and of the catalog: sync the logs, note how far they go and what
//!    the catalog says, and pin every table. This is the moment that the checkpoint shows. From here
//!    on no log file serves again as long as the checkpoint may read it.
//! 2. Step by step, without locks: copy what the logs held, then bring each table over, by a hard
//!    link where both storages can, else by copying.
//! 3. Name all of it in the target's first commit. Until then the target holds no store.
//! 4. Have the target keep house: a volume gives back the room that it took too much.

use super::logs::{HeldLog, HeldLogs};
use super::{Db, lock};
use crate::error::{Error, Result};
use crate::storage::{Commit, File, FileId, Storage, read_exact_at, write_all_at};
use crate::version::{LiveTable, LogRecord};
use std::sync::Arc;

/// Bytes copied in a step.
const CHUNK: usize = 256 << 10;

/// A checkpoint on its way. It keeps the store open; dropped before its end it leaves none behind.
pub struct Checkpoint {
    db: Db,
    /// Logs and tables that have not been begun; the last is next.
    logs: Option<HeldLogs>,
    tables: Vec<Arc<LiveTable>>,
    transfer: Option<Transfer>,
    /// All that is brought over.
    added: Vec<FileId>,
    /// The edit that names it all, until that is done.
    edit: Option<Vec<u8>>,
}

impl Db {
    /// Begins to put the store, as it is at this moment, into `target`, which holds none yet.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the target holds a store, a closed store, a failing medium.
    pub fn begin_checkpoint(&self, target: &dyn Storage) -> Result<Checkpoint> {
        if target.recover()?.is_some() {
            return Err(Error::invalid(
                "place of a checkpoint",
                "no store there yet",
                format_args!("one in {}", target.name()),
            ));
        }
        let engine = self.engine();
        let mut writer = lock(&engine.writer);
        writer.sync()?;
        let state = engine.open_state()?;
        let tables = engine.live_tables();
        let logs = engine.hold_logs(&writer, &state);
        let mut catalog = state.catalog.clone();
        catalog.logs.clear();
        let mut added = Vec::new();
        for HeldLog { number, .. } in &logs.logs {
            catalog.logs.push(LogRecord { number: *number, file: *number });
            added.push(FileId::log(*number));
        }
        added.extend(tables.iter().map(|live| FileId::table(live.table().info().id.0)));
        let edit = Some(catalog.snapshot().encode());
        let db = self.clone();
        Ok(Checkpoint { db, logs: Some(logs), tables, transfer: None, added, edit })
    }

    /// Puts the store, as it is now, into `target`, which holds none yet: another directory, or a
    /// volume in a single file. Nobody waits meanwhile.
    ///
    /// # Errors
    /// As for [`Db::begin_checkpoint`] and [`Checkpoint::step`].
    pub fn checkpoint(&self, target: &dyn Storage) -> Result<()> {
        // So that the copy has little to replay when it is opened.
        self.flush()?;
        let mut checkpoint = self.begin_checkpoint(target)?;
        while checkpoint.step(target)? {}
        Ok(())
    }
}

impl Checkpoint {
    /// Does a step, of a quarter of a MiB at most; answers whether more is left. `target` is the one
    /// that it began with.
    ///
    /// # Errors
    /// Damage, a full or failing medium, a closed store.
    pub fn step(&mut self, target: &dyn Storage) -> Result<bool> {
        let engine = self.db.engine();
        drop(engine.open_state()?);
        if self.transfer.is_none() && self.begin_next(target)? {
            return Ok(true);
        }
        if let Some(transfer) = &mut self.transfer {
            if !transfer.advance()? {
                self.transfer = None;
            }
            return Ok(true);
        }
        let Some(edit) = self.edit.take() else { return target.tidy() };
        target.commit(&Commit {
            edit: &edit,
            added: &self.added,
            dropped: &[],
            snapshot: &|| edit.clone(),
        })?;
        Ok(true)
    }

    /// Begins to bring over the next file; answers whether there was one.
    fn begin_next(&mut self, target: &dyn Storage) -> Result<bool> {
        let storage = &*self.db.engine().storage;
        let (id, from, bytes, table) = if let Some(HeldLog { number, file, bytes }) =
            self.logs.as_mut().and_then(|held| held.logs.pop())
        {
            // No larger than it is: the copy, once opened, makes itself a log to go on in.
            (FileId::log(number), file, bytes, None)
        } else if let Some(table) = self.tables.pop() {
            self.logs = None;
            let info = table.table().info();
            let (id, bytes) = (FileId::table(info.id.0), info.bytes);
            if target.link(id, storage)? {
                return Ok(true);
            }
            (id, storage.open(id)?, bytes, Some(table))
        } else {
            return Ok(false);
        };
        let to = target.create(id, bytes)?;
        self.transfer = Some(Transfer { from, to, at: 0, bytes, _table: table });
        Ok(true)
    }
}

/// A file on its way.
struct Transfer {
    from: Arc<dyn File>,
    to: Arc<dyn File>,
    at: u64,
    bytes: u64,
    /// Keeps what is read.
    _table: Option<Arc<LiveTable>>,
}

impl Transfer {
    /// Copies a chunk; answers whether more is left, else all is on the medium.
    fn advance(&mut self) -> Result<bool> {
        let left = usize::try_from(self.bytes - self.at).unwrap_or(CHUNK);
        if left == 0 {
            return self.to.sync().map(|()| false);
        }
        let mut chunk = vec![0; left.min(CHUNK)];
        read_exact_at(&*self.from, &mut chunk, self.at)?;
        write_all_at(&*self.to, &chunk, self.at)?;
        self.at += chunk.len() as u64;
        Ok(true)
    }
}
