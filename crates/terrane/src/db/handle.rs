//! The store in a caller's hands: an engine joined with the executor that runs its jobs.

use crate::batch::{MAX_BATCH_BYTES, WriteBatch};
use crate::db::{Keyspace, retries::Retries};
use crate::engine::Engine;
use crate::entry::{Millis, Seq};
use crate::error::{Closed, Error, Result};
use crate::event::Listener;
use crate::executor::{Executor, JobFilter, Progress, ThreadExecutor, catch, wait_until_idle};
use crate::install;
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId, is_reserved, unreserved};
use crate::options::{Durability, Options};
use crate::recovery;
use crate::schedule;
use crate::storage::{Storage, StoreId, hold, hold_file};
use crate::sync::{Mutex, lock};
use crate::write::{self, Checks, Condition, ConditionalBatch, GroupCommit, Outcome};
use std::sync::Arc;
use std::time::Duration;
use terrane_platform::BROWSER;

/// An open store: ordered maps from keys to values, in [`Keyspace`]s.
///
/// It is shared by its clones, its keyspaces, snapshots and scans, in any thread, and closes when the
/// last of them is dropped, or with [`Db::close`], which also reports what failed.
///
/// A child process that is forked from the process that opened the store can only read, through the keyspaces and
/// snapshots that it holds. Every change, and opening a keyspace, is refused.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes");
/// use terrane::{Db, Durability, Options, WriteBatch};
///
/// let db = Db::open(&path, Options::default())?;
/// let (notes, tags) = (db.default_keyspace(), db.create_keyspace("tags")?);
/// notes.put("2026-01", "first", Durability::Buffered)?;
///
/// // All of a batch is there, or none of it.
/// let mut batch = WriteBatch::new();
/// batch.put(&notes, "2026-02", "second")?;
/// batch.put(&tags, "second/2026-02", "")?;
/// db.write(batch, Durability::Sync)?;
/// db.close()?;
///
/// let db = Db::open(&path, Options::default())?;
/// assert_eq!(db.keyspaces(), ["default", "tags"]);
/// assert_eq!(db.default_keyspace().get("2026-02")?, Some(b"second".to_vec()));
/// assert!(db.check()?.damage.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Db {
    pub(crate) inner: Arc<Inner>,
}

/// Returns a duration in milliseconds, or the greatest number of them.
pub(super) fn to_millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

/// The result of a write that waits for nothing; see [`Db::try_write`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the batch may not be written"]
pub enum TryWrite {
    /// The batch is written, under this sequence number.
    Written(Seq),
    /// The batch is not written, since the write would wait.
    WouldWait(WriteBatch),
}

pub(crate) struct Inner {
    pub engine: Arc<Engine>,
    pub executor: Arc<dyn Executor>,
    pub(super) group: GroupCommit,
    pub retries: Retries,
    /// Guard that keeps others out, such as a lock file; released last.
    guard: Mutex<Option<Box<dyn Send + Sync>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.engine.state.owned().is_err() {
            // Closing a file here would release the lock of the process that opened the store.
            let guard = std::mem::take(&mut self.guard);
            return std::mem::forget((self.engine.clone(), self.executor.clone(), guard));
        }
        self.executor.stop(&self.engine);
        self.engine.remove_obsolete();
        // There is nobody to report an error to, and a sync that fails here was not promised.
        let _ = self.engine.close();
    }
}

impl Db {
    /// Opens or creates the store in directory `path`, a file for each table, with threads for
    /// background work. One process at a time. In a browser, which has no directories, it fails.
    ///
    /// # Errors
    /// * [`crate::ErrorKind::Busy`] if another process holds it
    /// * [`crate::ErrorKind::NoStore`] if there is none and `create` is off
    /// * [`crate::ErrorKind::InvalidArgument`] if there is one and `error_if_exists` is on, or an option is out of
    ///   bounds
    /// * [`crate::ErrorKind::Corrupt`] for damage
    /// * [`crate::ErrorKind::NewerFormat`] for a store of a later release
    /// * an I/O error
    pub fn open(path: impl AsRef<std::path::Path>, options: Options) -> Result<Db> {
        let executor = Arc::new(ThreadExecutor::new(options.workers));
        Db::open_with(path, options, executor)
    }

    /// Opens or creates the store in directory `path`, as [`Db::open`] does, with an executor of your own, such as a
    /// [`ThreadExecutor`](crate::executor::ThreadExecutor) that runs more merges at once, or in a
    /// [`WorkerPool`](crate::executor::WorkerPool) that several stores share.
    ///
    /// # Errors
    /// The errors of [`Db::open`].
    pub fn open_with(
        path: impl AsRef<std::path::Path>,
        options: Options,
        executor: Arc<dyn Executor>,
    ) -> Result<Db> {
        let (storage, lock) = hold(path.as_ref(), &options)?;
        let engine = recovery::open(Arc::new(storage), options)?;
        Ok(Db::join(engine, executor, Some(Box::new(lock))))
    }

    /// Opens or creates the store in the single file `path`, a volume, with threads for background
    /// work. One process at a time.
    ///
    /// # Errors
    /// The errors of [`Db::open`].
    pub fn open_file(path: impl AsRef<std::path::Path>, options: Options) -> Result<Db> {
        let volume = hold_file(path.as_ref(), options.create, options.read_only)?;
        let executor = Arc::new(ThreadExecutor::new(options.workers));
        Db::open_storage(Arc::new(volume), options, executor)
    }

    /// Opens or creates the store in `storage`; jobs are run by `executor`.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// use std::sync::Arc;
    /// use terrane::executor::SliceExecutor;
    /// use terrane::storage::{Directory, vfs::MemoryVfs};
    /// use terrane::{Db, Durability, Options};
    ///
    /// // In memory, with no thread but this one.
    /// let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new()))?);
    /// let db = Db::open_storage(storage, Options::small(), Arc::new(SliceExecutor::default()))?;
    /// db.default_keyspace().put("key", "value", Durability::Sync)?;
    /// while db.run_jobs(1 << 20)? {} // what threads would do in the background
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::open`] but for [`crate::ErrorKind::Busy`];
    /// [`crate::ErrorKind::InvalidArgument`] if `read_only` is on and `storage` is not read-only.
    pub fn open_storage(
        storage: Arc<dyn Storage>,
        options: Options,
        executor: Arc<dyn Executor>,
    ) -> Result<Db> {
        Ok(Db::join(recovery::open(storage, options)?, executor, None))
    }

    fn join(
        engine: Arc<Engine>,
        executor: Arc<dyn Executor>,
        guard: Option<Box<dyn Send + Sync>>,
    ) -> Db {
        engine.set_workers(executor.workers());
        executor.start(&engine);
        executor.wake(&engine);
        Db {
            inner: Arc::new(Inner {
                engine,
                executor,
                group: GroupCommit::default(),
                retries: Retries::default(),
                guard: Mutex::new(guard),
            }),
        }
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.engine
    }

    /// Returns the id of the store, drawn when it was created. A copy has another.
    #[must_use]
    pub fn id(&self) -> StoreId {
        self.engine().storage.id()
    }

    /// Returns the keyspace that is always there.
    #[must_use]
    pub fn default_keyspace(&self) -> Keyspace {
        Keyspace::new(self, KeyspaceId(0), DEFAULT_KEYSPACE)
    }

    /// Returns the keyspace of this name, or creates it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a name that is empty, longer than 1024 bytes, or starts with U+0000;
    /// an I/O error, or a closed store.
    pub fn create_keyspace(&self, name: &str) -> Result<Keyspace> {
        let id = install::create_keyspace(&self.inner.engine, unreserved(name)?)?;
        Ok(Keyspace::new(self, id, name))
    }

    /// Returns the keyspace of this name, or `None` if there is none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a name that starts with U+0000, or a closed store.
    pub fn open_keyspace(&self, name: &str) -> Result<Option<Keyspace>> {
        let id = install::find_keyspace(&self.inner.engine.state, unreserved(name)?)?;
        Ok(id.map(|id| Keyspace::new(self, id, name)))
    }

    /// Returns the names of the keyspaces.
    #[must_use]
    pub fn keyspaces(&self) -> Vec<String> {
        let mut names = self.inner.engine.keyspaces.names();
        names.retain(|name| !is_reserved(name));
        names
    }

    /// Removes a keyspace and all it holds, durably; returns whether there was one. Handles to it, and
    /// batches that name it, are refused from then on; scans under way end undisturbed. The removal has a sequence
    /// number, and the change feed has it as [`Change::DropKeyspace`](crate::Change::DropKeyspace).
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for the default keyspace or a name that starts with U+0000, or an I/O
    /// error. On a full disk the keyspace stays, and can be removed once there is space. After an error that leaves it
    /// open whether the keyspace is removed, the store takes no writes until it is opened again.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        self.drop_keyspace_with(name, &WriteBatch::new())
    }

    /// Returns the time that is `ttl` from now by the store's [wall clock](crate::Options::wall_clock), in milliseconds
    /// since the epoch, for [`WriteBatch::put_expiring_at`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a store without a clock.
    pub fn expires_in(&self, ttl: Duration) -> Result<Millis> {
        let clock = &self.inner.engine.snapshots.clock;
        clock.needed()?;
        Ok(clock.read().saturating_add(to_millis(ttl)))
    }

    /// Writes a batch: all of it or, after a crash, possibly none. Returns its sequence number, which is
    /// greater than that of every batch before it. An empty batch gets none: the last one is returned, and
    /// with [`Durability::Sync`] everything written before is durable then.
    ///
    /// # Errors
    /// * [`crate::ErrorKind::InvalidArgument`] for a merge, or a value that expires, in a keyspace that the other has
    ///   claimed (see [`WriteBatch::merge`]), and for a value that expires without a
    ///   [wall clock](crate::Options::wall_clock)
    /// * [`crate::ErrorKind::Closed`] for a closed store or a dropped keyspace
    /// * an I/O error or a full disk
    ///
    /// Nothing was acknowledged then.
    pub fn write(&self, batch: WriteBatch, durability: Durability) -> Result<Seq> {
        let Inner { engine, executor, group, .. } = &*self.inner;
        let bytes = batch.bytes().len() as u64;
        let written =
            group.write(engine, batch, durability, &|| executor.wait_for_progress(engine))?;
        executor.wrote(engine, bytes);
        Ok(written)
    }

    /// Writes a batch, buffered, if that waits for nothing: no other writer, no stall, no slowdown and no log file.
    /// Otherwise returns the batch, for a thread that may wait.
    ///
    /// # Errors
    /// The errors of [`Db::write`].
    pub fn try_write(&self, batch: WriteBatch) -> Result<TryWrite> {
        let written = self.try_write_all(std::slice::from_ref(&batch))?;
        Ok(written.map_or(TryWrite::WouldWait(batch), TryWrite::Written))
    }

    /// Writes batches in their order, each with a sequence number of its own, as one record of the log, if that waits
    /// for nothing. Returns the number of the last, or `None` if nothing was written. Empty ones get no number.
    ///
    /// # Errors
    /// Those of [`Db::write`].
    pub fn try_write_all(&self, batches: &[WriteBatch]) -> Result<Option<Seq>> {
        let Inner { engine, executor, group, .. } = &*self.inner;
        let bytes: usize = batches.iter().map(|batch| batch.bytes().len()).sum();
        if executor.would_slow(engine, bytes as u64) {
            return Ok(None);
        }
        let combined = batches.iter().map(|batch| write::combined(engine, batch));
        let combined = combined.collect::<Result<Vec<_>>>()?;
        let batches =
            batches.iter().zip(&combined).map(|(batch, one)| one.as_ref().unwrap_or(batch));
        let batches: Vec<_> = batches.filter(|batch| !batch.is_empty()).collect();
        let written = group.try_write(engine, &batches)?;
        if written.is_some() {
            executor.wake(engine);
        }
        Ok(written)
    }

    /// Writes a batch if all conditions hold at the moment at which it is committed.
    ///
    /// ```
    /// # fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("notes");
    /// use terrane::{Condition, Db, Durability, Options, Outcome, WriteBatch};
    ///
    /// let db = Db::open(path, Options::default())?;
    /// let users = db.default_keyspace();
    /// let sign_up = |name: &str| {
    ///     let mut batch = WriteBatch::new();
    ///     batch.put(&users, "ada@example.com", name)?;
    ///     db.write_if([Condition::absent(&users, "ada@example.com")], batch, Durability::Sync)
    /// };
    /// assert_eq!(sign_up("Ada")?, Outcome::Written(1));
    ///
    /// let Outcome::Refused(refusals) = sign_up("Impostor")? else { panic!("signed up twice") };
    /// let found = refusals[0].found.as_ref().expect("the first one");
    /// assert_eq!((&found.value[..], found.seq), (&b"Ada"[..], 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Db::write`]; [`crate::ErrorKind::Closed`] for a condition on a dropped keyspace;
    /// [`crate::ErrorKind::InvalidArgument`] for a snapshot of another store, or more than 10,000 conditions; damage or
    /// an I/O error when a key is read.
    pub fn write_if<'a>(
        &self,
        conditions: impl IntoIterator<Item = Condition<'a>>,
        batch: WriteBatch,
        durability: Durability,
    ) -> Result<Outcome> {
        let conditions = conditions.into_iter().collect();
        let results = self.write_group(vec![ConditionalBatch { conditions, batch }], durability)?;
        results.into_iter().next().unwrap_or_else(|| Err(Closed::Leader.into()))
    }

    /// Writes batches in their order, each if its conditions hold, as one record of the log with at most one sync.
    /// Returns the outcome of each. After a crash any number of them may be missing, from the last one on, unless
    /// they were synced.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for batches of more than 256 MiB together. Other errors, which are
    /// those of [`Db::write_if`], are results of single batches.
    pub fn write_group(
        &self,
        batches: Vec<ConditionalBatch<'_>>,
        durability: Durability,
    ) -> Result<Vec<Result<Outcome>>> {
        let Inner { engine, executor, group, .. } = &*self.inner;
        let bytes: usize = batches.iter().map(|write| write.batch.bytes().len()).sum();
        if bytes > MAX_BATCH_BYTES {
            let expected = format_args!("at most {MAX_BATCH_BYTES} bytes of batches");
            return Err(Error::invalid("group", expected, format_args!("{bytes} bytes")));
        }
        let syncs_nothing = |write: &ConditionalBatch<'_>| write.batch.is_empty();
        let sync = durability == Durability::Sync && batches.iter().any(syncs_nothing);
        let mut checked = Vec::with_capacity(batches.len());
        let mut results = Vec::with_capacity(batches.len());
        for ConditionalBatch { conditions, batch } in batches {
            let may_write = if batch.is_empty() {
                Ok(())
            } else {
                engine.state.writable().and_then(|()| write::announce(engine, &batch))
            };
            let combined = may_write.and_then(|()| write::combined(engine, &batch));
            let checks = combined.and_then(|combined| {
                Ok((Checks::new(engine, conditions)?, combined.unwrap_or(batch)))
            });
            results.push(checks.map(|write| checked.push(write)));
        }
        let catch_up = || executor.wait_for_progress(engine);
        let mut written = group.write_group(engine, checked, durability, &catch_up)?.into_iter();
        let mut next = || written.next().unwrap_or_else(|| Err(Closed::Leader.into()));
        let results: Vec<_> =
            results.into_iter().map(|checked| checked.and_then(|()| next())).collect();
        if results.iter().any(|result| matches!(result, Ok(Outcome::Written(_)))) {
            executor.wrote(engine, bytes as u64);
        } else if engine.background.work_waits() {
            // What was read for conditions is released.
            executor.wake(engine);
        }
        if sync {
            self.sync()?;
        }
        Ok(results)
    }

    /// Changes [`Options::background_bytes_per_second`], to which only a
    /// [`ThreadExecutor`](crate::executor::ThreadExecutor) keeps.
    pub fn set_background_bytes_per_second(&self, bytes: u64) {
        self.inner.engine.background.set_bytes_per_second(bytes);
    }

    /// Sets who receives events from now on, in place of [`Options::listener`]; `None` for nobody.
    pub fn set_listener(&self, listener: Option<Listener>) {
        self.inner.engine.jobs.events.set_listener(listener);
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error.
    pub fn sync(&self) -> Result<()> {
        self.inner.engine.sync()
    }

    /// Runs every job that is ready, and those that follow from them, until none is left.
    ///
    /// # Errors
    /// An I/O error or a full disk.
    pub fn wait_until_idle(&self) -> Result<()> {
        let Inner { engine, executor, .. } = &*self.inner;
        engine.state.owned()?;
        engine.retry();
        wait_until_idle(&**executor, engine, &|_| false)
    }

    /// Runs background work for about `bytes` bytes on this thread, if the executor leaves that to
    /// its owner; returns whether there is more to do.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn run_jobs(&self, bytes: u64) -> Result<bool> {
        self.inner.executor.run(&self.inner.engine, bytes)
    }

    /// Closes the store as [`Db::close`] does, after waiting up to `most` for running jobs to finish; it abandons the
    /// rest. No job starts meanwhile: a write that would stall, and a flush, fail as in a closed store. Only a
    /// [`ThreadExecutor`](crate::executor::ThreadExecutor) waits for its jobs.
    ///
    /// # Errors
    /// The errors of [`Db::close`].
    pub fn close_within(self, most: Duration) -> Result<()> {
        self.inner.engine.state.owned()?;
        self.inner.executor.drain(&self.inner.engine, most);
        self.end(|_| ())
    }

    /// Makes every write durable and closes the store, for every clone. Running jobs are abandoned with
    /// what they have written, which the next opening removes. Natively, where logs have more than 4 MiB
    /// for each memtable, this thread flushes memtables first, so that the next opening has next to nothing
    /// to replay; [`Db::close_within`] leaves that out, and so does dropping the last handle.
    ///
    /// # Errors
    /// An I/O error. The store is closed all the same.
    pub fn close(self) -> Result<()> {
        self.end(|engine| {
            // A page that is hidden has no time for it.
            if BROWSER {
                return;
            }
            let job = || "the flush of a store that closes".to_owned();
            // Where it fails or panics, the logs have all of it.
            let _ = catch(&engine.state, &engine.jobs.events, job, || flush_at_close(engine));
        })
    }

    /// Closes the store once its executor runs nothing, and `last` has run. Another may have the store
    /// when any close returns, so that they take turns.
    fn end(self, last: impl FnOnce(&Arc<Engine>)) -> Result<()> {
        let Inner { engine, executor, guard, .. } = &*self.inner;
        engine.state.owned()?;
        let mut guard = lock(guard);
        executor.stop(engine);
        last(engine);
        engine.remove_obsolete();
        let closed = engine.close();
        // Nothing is written from here on, whoever still holds a clone of this one.
        drop(guard.take());
        closed
    }
}

/// Flushes what would take long to replay, where the executor runs nothing.
fn flush_at_close(engine: &Arc<Engine>) -> Result<()> {
    if !write::begin_last_flush(engine)? {
        return Ok(());
    }
    // Not what is written and sealed meanwhile.
    let through = write::seal_all(engine)?;
    while !engine.state.lock().flushes.are_done(through)
        && let Some(mut job) = schedule::next_job(engine, JobFilter::Flush)
    {
        while job.run_for(u64::MAX)? == Progress::More {}
    }
    Ok(())
}
