//! Checkpoints: the store as it is at one moment, in another storage. It is also how a store leaves
//! its directory for a single-file volume, and returns.
//!
//! 1. Pin the store ([`pin`](super::pin)): its tables, its logs and what the version set says of them at one moment.
//! 2. Step by step, without locks: verify what the logs held, and copy it; then verify each table
//!    and bring it over, by a hard link where both storages can, else by copying. So damage ends the
//!    checkpoint, and is not copied.
//! 3. Name all of it in the target's first commit. Until then the target holds no store.
//! 4. Vacuum the target: a volume returns the space that it allocated too much.
//!
//! A step that fails is the last: what it left undone, the commit would name all the same.

use super::pin::Pin;
use crate::db::Db;
use crate::engine::HeldLogs;
use crate::error::{Error, Result};
use crate::storage::{Commit, File, FileId, Storage, read_exact_at, write_all_at};
use crate::table::TableCheck;
use crate::version::LiveTable;
use crate::wal::Replay;
use std::sync::Arc;

/// Bytes verified or copied in a step.
const CHUNK: usize = 256 << 10;

/// A checkpoint on its way. It keeps the store open; dropped before its end it leaves none behind.
pub struct Checkpoint {
    db: Db,
    /// Logs, until all of them are copied, and the verification of those.
    logs: Option<HeldLogs>,
    verified: usize,
    replay: Option<Replay>,
    /// Tables that have not been started; the last is next.
    tables: Vec<Arc<LiveTable>>,
    table: Option<(TableCheck, Arc<LiveTable>)>,
    transfer: Option<Transfer>,
    /// All that is brought over.
    added: Vec<FileId>,
    /// The edit that names it all, until that is done.
    edit: Option<Vec<u8>>,
    failed: Option<Error>,
}

impl Db {
    /// Starts to put the store, as it is at this moment, into `target`, which holds none yet.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the target holds a store, a closed store, an I/O error.
    pub fn begin_checkpoint(&self, target: &dyn Storage) -> Result<Checkpoint> {
        if target.recover()?.is_some() {
            return Err(Error::invalid(
                "place of a checkpoint",
                "no store there yet",
                format_args!("one in {}", target.name()),
            ));
        }
        let pin = Pin::take(self)?;
        let added = pin.files();
        let Pin { tables, logs, version_set, last, .. } = pin;
        Ok(Checkpoint {
            db: self.clone(),
            replay: Some(Replay::new(version_set.log_start, last)),
            logs: Some(logs),
            verified: 0,
            tables,
            table: None,
            transfer: None,
            added,
            edit: Some(version_set.snapshot().encode()),
            failed: None,
        })
    }

    /// Puts the store, as it is now, into `target`, which holds none yet: another directory, or a
    /// volume in a single file. Nobody waits meanwhile.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (dir.path().join("notes"), dir.path().join("copy"));
    /// use std::sync::Arc;
    /// use terrane::storage::{Directory, vfs::NativeVfs};
    /// use terrane::{Db, Durability, Options};
    ///
    /// let db = Db::open(&path, Options::default())?;
    /// db.default_keyspace().put("key", "value", Durability::Buffered)?;
    /// let create = true;
    /// db.checkpoint(&Directory::open(Arc::new(NativeVfs::open(&copy, create)?))?)?;
    ///
    /// let copy = Db::open(&copy, Options::default())?;
    /// assert_eq!(copy.default_keyspace().get("key")?, Some(b"value".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::begin_checkpoint`] and [`Checkpoint::step`].
    pub fn checkpoint(&self, target: &dyn Storage) -> Result<()> {
        // So that the copy has little to replay when it is opened.
        self.flush()?;
        let mut checkpoint = self.begin_checkpoint(target)?;
        while checkpoint.step(target)? {}
        Ok(())
    }
}

impl Checkpoint {
    /// Does a step, of a quarter of a MiB or a log at most; returns whether more is left. `target` is
    /// the one that it started with.
    ///
    /// # Errors
    /// Damage, a full disk, an I/O error, a closed store. Every later step returns the same, and the
    /// target gets no store.
    pub fn step(&mut self, target: &dyn Storage) -> Result<bool> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let step = self.advance(target);
        self.failed = step.as_ref().err().cloned();
        step
    }

    fn advance(&mut self, target: &dyn Storage) -> Result<bool> {
        drop(self.db.engine().state.lock_open()?);
        if let Some(transfer) = &mut self.transfer {
            if !transfer.advance()? {
                self.transfer = None;
            }
            return Ok(true);
        }
        if self.advance_logs(target)? || self.advance_tables(target)? {
            return Ok(true);
        }
        let Some(edit) = self.edit.take() else { return target.vacuum() };
        target.commit(&Commit {
            edit: &edit,
            added: &self.added,
            dropped: &[],
            snapshot: &|| edit.clone(),
        })?;
        Ok(true)
    }

    /// Verifies the next log or, when all are, starts to copy one; returns whether there was one.
    fn advance_logs(&mut self, target: &dyn Storage) -> Result<bool> {
        let Some(held) = &mut self.logs else { return Ok(false) };
        if let Some(replay) = &mut self.replay {
            if let Some(log) = held.logs.get(self.verified) {
                let file: Arc<dyn File> = Arc::new(log.clone());
                replay.log(log.id, &file, log.through, &mut |_, _| Ok(()))?;
                self.verified += 1;
                return Ok(true);
            }
            self.replay.take().map(Replay::end).transpose()?;
        }
        let Some(log) = held.logs.pop() else {
            self.logs = None;
            return Ok(false);
        };
        // No larger than it is: the copy, once opened, makes itself a log to continue in.
        let to = target.create(FileId::log(log.id.number), log.bytes)?;
        let (bytes, from) = (log.bytes, Arc::new(log));
        self.transfer = Some(Transfer { from, to, at: 0, bytes, _table: None });
        Ok(true)
    }

    /// Verifies a piece of the next table, or brings it over; returns whether there was one.
    fn advance_tables(&mut self, target: &dyn Storage) -> Result<bool> {
        let next = || self.tables.pop().map(|live| (TableCheck::begin(live.table().clone()), live));
        let Some((mut check, live)) = self.table.take().or_else(next) else { return Ok(false) };
        if check.step(CHUNK as u64) {
            self.table = Some((check, live));
            return Ok(true);
        }
        if let Some(damage) = check.into_found()?.into_iter().next() {
            return Err(damage.into());
        }
        let storage = &*self.db.engine().storage;
        let info = live.table().info();
        let (id, bytes) = (FileId::table(info.id.0), info.bytes);
        if !target.link(id, storage)? {
            let (from, to) = (storage.open(id)?, target.create(id, bytes)?);
            self.transfer = Some(Transfer { from, to, at: 0, bytes, _table: Some(live) });
        }
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
    /// Copies a chunk; returns whether more is left; when nothing is, the copy is durable.
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
