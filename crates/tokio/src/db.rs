//! The store, and the blocking threads that do what would block the runtime.

use crate::changes::{Changes, Feed};
use crate::committer::{Committer, Request};
use crate::submitted::{Submitted, SubmittedUpdate};
use crate::{Condition, Keyspace, Snapshot};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use terrane::{
    Closed, Durability, Error, FeedCursor, Options, Outcome, Result, Seq, Transaction, TryWrite,
    WriteBatch,
};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

/// Blocking threads for each processor that read at once.
const READERS_PER_CORE: usize = 4;
/// The longest batch that is written in a task: about ten microseconds of work.
const INLINE_BYTES: usize = 16 << 10;

/// An open store, shared by its clones and keyspaces. [`Db::close`] closes it. Otherwise its committer closes it some
/// time after the last clone and the last keyspace are dropped.
#[derive(Clone)]
pub struct Db {
    inner: terrane::Db,
    committer: Committer,
    readers: Readers,
    feed: Feed,
}

impl From<terrane::Db> for Db {
    fn from(inner: terrane::Db) -> Self {
        let committer = Committer::start(inner.clone());
        Db { inner, committer, readers: Readers::new(), feed: Feed::default() }
    }
}

impl Db {
    /// Opens or creates the store in directory `path`; see [`terrane::Db::open`].
    ///
    /// # Errors
    /// The errors of [`terrane::Db::open`].
    pub async fn open(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let path = path.as_ref().to_owned();
        let open = move || terrane::Db::open(path, options);
        Ok(Db::from(blocking(open).await?))
    }

    /// Returns the store itself, for calls that may block.
    #[must_use]
    pub fn inner(&self) -> &terrane::Db {
        &self.inner
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Runs a call that may block, such as a check or a checkpoint, on a blocking thread.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn run<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        call: impl FnOnce(&terrane::Db) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let db = self.inner.clone();
        blocking(move || call(&db)).await
    }

    /// Runs a call that reads, such as pages of a cursor, on one of a bounded number of blocking threads.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn read<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        call: impl FnOnce(&terrane::Db) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let db = self.inner.clone();
        self.readers.clone().run(move || call(&db)).await
    }

    /// Returns the batches after `since` as they become durable; see [`terrane::Db::changes`].
    ///
    /// # Errors
    /// The errors of [`terrane::Db::changes`]; a thread that cannot be started.
    pub fn changes(&self, since: FeedCursor) -> Result<Changes> {
        let watch = || (self.inner.feed_watch(), self.inner.feed_cursor());
        Changes::new(self.inner.changes(since)?, self.readers.clone(), &self.feed, watch)
    }

    /// Returns the keyspace that is always there.
    #[must_use]
    pub fn default_keyspace(&self) -> Keyspace {
        Keyspace::new(self.clone(), self.inner.default_keyspace())
    }

    /// Returns the keyspace of this name, or creates it.
    ///
    /// # Errors
    /// The errors of [`terrane::Db::create_keyspace`].
    pub async fn create_keyspace(&self, name: &str) -> Result<Keyspace> {
        let name = name.to_owned();
        let created = self.run(move |db| db.create_keyspace(&name)).await?;
        Ok(Keyspace::new(self.clone(), created))
    }

    /// Returns the keyspace of this name, or `None` if there is none.
    ///
    /// # Errors
    /// A closed store.
    pub async fn open_keyspace(&self, name: &str) -> Result<Option<Keyspace>> {
        // One short lock.
        Ok(self.inner.open_keyspace(name)?.map(|found| Keyspace::new(self.clone(), found)))
    }

    /// Removes a keyspace and all it holds; returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`terrane::Db::drop_keyspace`].
    pub async fn drop_keyspace(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.run(move |db| db.drop_keyspace(&name)).await
    }

    /// Returns a snapshot of the whole store as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.inner.snapshot(), self.readers.clone())
    }

    /// Writes a batch, and returns its sequence number. A short buffered one is written immediately if it need
    /// not wait; all others are committed together with those that other tasks write meanwhile. A dropped future may
    /// still write its batch, before any that is written later.
    ///
    /// # Errors
    /// The errors of [`terrane::Db::write`].
    pub async fn write(&self, batch: WriteBatch, durability: Durability) -> Result<Seq> {
        // A write whose future was dropped may wait for the committer: it comes first.
        let is_inline = durability == Durability::Buffered
            && batch.bytes().len() <= INLINE_BYTES
            && self.committer.is_idle();
        let batch = if is_inline {
            match self.inner.try_write(batch)? {
                TryWrite::Written(seq) => return Ok(seq),
                TryWrite::WouldWait(batch) => batch,
            }
        } else {
            batch
        };
        let outcome = self.write_if(Vec::new(), batch, durability).await?;
        outcome.written().ok_or_else(|| Closed::Leader.into())
    }

    /// Writes a batch if all conditions hold at the moment at which it is committed; see [`terrane::Db::write_if`].
    ///
    /// # Errors
    /// The errors of [`terrane::Db::write_if`].
    pub async fn write_if(
        &self,
        conditions: Vec<Condition>,
        batch: WriteBatch,
        durability: Durability,
    ) -> Result<Outcome> {
        self.submit(conditions, batch, durability).await?.outcome().await
    }

    /// Requests a batch as [`Db::write_if`] does, and returns once it has a place in the committer's queue: what is
    /// requested later comes after it. Batches that are submitted one after another can share a sync.
    ///
    /// # Errors
    /// A closed store.
    pub async fn submit(
        &self,
        conditions: Vec<Condition>,
        batch: WriteBatch,
        durability: Durability,
    ) -> Result<Submitted<Outcome>> {
        let (reply, outcome) = oneshot::channel();
        self.committer.send(Request::Write { conditions, batch, durability, reply }).await?;
        Ok(Submitted(outcome))
    }

    /// Runs a transaction on a blocking thread; see [`terrane::Db::transact`]. Many of them on the same keys are faster
    /// by [`Db::update`].
    ///
    /// # Errors
    /// The errors of [`terrane::Db::transact`].
    pub async fn transact<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        durability: Durability,
        body: impl FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.run(move |db| db.transact(durability, body)).await
    }

    /// Runs a transaction on the committer's thread, after all that were requested before: those never conflict with
    /// each other, and durable ones share a sync. `body` should be short, since all writes wait for it; writes of the
    /// store itself are refused in it. A count whose new value is not wanted is faster by [`Keyspace::merge`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> terrane::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("counters");
    /// use terrane::{Durability, Options};
    ///
    /// let db = terrane_tokio::Db::open(path, Options::default()).await?;
    /// let visits = db.create_keyspace("visits").await?.inner().clone();
    /// let count = db
    ///     .update(Durability::Sync, move |tx| -> terrane::Result<u64> {
    ///         // Decimal text, as merges have it.
    ///         let before = tx.get(&visits, "/index.html")?.unwrap_or_default();
    ///         let count = String::from_utf8_lossy(&before).parse().unwrap_or(0) + 1;
    ///         tx.put(&visits, "/index.html", count.to_string())?;
    ///         Ok(count)
    ///     })
    ///     .await?;
    /// assert_eq!(count, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`terrane::Db::transact`].
    pub async fn update<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        durability: Durability,
        body: impl FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.submit_update(durability, body).await?.outcome().await
    }

    /// Requests an update as [`Db::update`] does, and returns once it has a place in the committer's queue.
    ///
    /// # Errors
    /// A closed store.
    pub async fn submit_update<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        durability: Durability,
        body: impl FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
    ) -> Result<SubmittedUpdate<T, E>> {
        let (reply, result) = oneshot::channel();
        self.committer.send(Request::update(durability, body, reply)).await?;
        Ok(SubmittedUpdate(result))
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error.
    pub async fn sync(&self) -> Result<()> {
        self.run(|db| db.sync()).await
    }

    /// Flushes every memtable.
    ///
    /// # Errors
    /// An I/O error or a full disk.
    pub async fn flush(&self) -> Result<()> {
        self.run(|db| db.flush()).await
    }

    /// Closes the store, for every clone, once all writes that were requested before are done.
    ///
    /// # Errors
    /// The errors of [`terrane::Db::close`].
    pub async fn close(self) -> Result<()> {
        let (reply, closed) = oneshot::channel();
        self.committer.send(Request::Close { reply }).await?;
        closed.await.unwrap_or_else(|_| Err(Closed::Leader.into()))
    }
}

/// Runs blocking calls on the runtime's blocking threads, a bounded number at once.
#[derive(Clone)]
pub(crate) struct Readers {
    permits: Arc<Semaphore>,
}

impl Readers {
    fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Readers { permits: Arc::new(Semaphore::new(READERS_PER_CORE * cores)) }
    }

    /// Runs a call. It continues if the future is dropped meanwhile.
    pub async fn run<T: Send + 'static, E: From<Error> + Send + 'static>(
        self,
        call: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let permit = self.permits.acquire_owned().await;
        let permit = permit.map_err(|_| E::from(Error::from(Closed::Store)))?;
        blocking(move || {
            let _permit = permit;
            call()
        })
        .await
    }
}

/// Runs a call on one of the runtime's blocking threads, without a bound of its own: it may wait for other calls.
async fn blocking<T: Send + 'static, E: From<Error> + Send + 'static>(
    call: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match spawn_blocking(call).await {
        Ok(result) => result,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down.
            Err(_) => Err(Error::from(Closed::Store).into()),
        },
    }
}
