//! Writes and updates of a connection.
//!
//! 1. Writes that read nothing are gathered. Writes that follow each other are written in place if that waits for
//!    nothing: as one record of the log, in which each has a sequence number of its own.
//! 2. An update runs in place, in a transaction that waits for nothing. If only a file has a key, a reader's thread
//!    reads it first.
//! 3. An update of long values reads and builds them on a thread of its own, before anybody waits for it. It is
//!    committed if they have not changed, and runs again otherwise.
//! 4. All other writes and updates are submitted to the committer, one after another, before the first outcome is
//!    awaited.
//! 5. All are buffered. In a server whose writes are durable, their replies wait for a sync: see `shared_syncs`.
//! 6. Connections write in place one at a time: see `State::turn`.

use super::access::{Blind, Changes};
use super::commands::Command;
use super::executor::{Call, Executor};
use super::failure::Failure;
use super::pending::Pending;
use super::reply::Reply;
use super::request::Arguments;
use std::sync::Arc;
use terrane::{Durability, ErrorKind, Transaction, WriteBatch};

/// Tries of a write in place while others write: with the spins between them, a few microseconds.
const TRIES: u32 = 5;
/// Spins between two tries.
const SPINS: u32 = 40;
/// The longest writes and updates that run in place: some ten microseconds of work.
pub(super) const IN_PLACE_BYTES: usize = 16 << 10;
/// Bytes beyond which a value, or arguments, are long: copying them takes longer than others should wait.
pub(super) const LONG_BYTES: usize = 64 << 10;
/// The most updates of long values that run at once: each has its values in memory.
pub(super) const LONG_UPDATES_MAX: usize = 2;
/// The most arguments of an update that runs in place.
const IN_PLACE_ARGUMENTS: usize = 64;
/// The most writes that are gathered, and the most that are submitted before the first is awaited.
const PENDING_MAX: usize = 256;

/// The result of a try to run an update or a transaction in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tried<T> {
    Done(T),
    /// It would wait.
    Waits,
    /// It has a long value.
    Long,
}

/// Writes that follow each other, and reply OK.
#[derive(Default)]
pub(super) struct Gathered {
    batches: Vec<WriteBatch>,
    bytes: usize,
}

impl Executor {
    pub(super) async fn write(&mut self, call: Call<'_>, reply: &mut Reply) -> Result<(), Failure> {
        if call.command.name == "flushall" {
            self.shared.resp.databases.open_existing(&self.shared.db).await?;
        }
        let mut access = Blind::new(self.shared.db.inner());
        // Every such command replies OK, once it is written.
        let mut unused = Reply::new(reply.protocol);
        self.run_on(&mut access, call, &mut unused)?;
        let batch = access.batch;
        self.gathered.bytes += batch.bytes().len();
        self.gathered.batches.push(batch);
        if self.gathered.bytes > IN_PLACE_BYTES || self.gathered.batches.len() >= PENDING_MAX {
            self.write_gathered(reply).await;
        }
        Ok(())
    }

    /// Writes the gathered batches in place, or submits them.
    async fn write_gathered(&mut self, reply: &mut Reply) {
        let Gathered { batches, bytes } = std::mem::take(&mut self.gathered);
        if batches.is_empty() {
            return;
        }
        if self.pending.is_empty() && bytes <= IN_PLACE_BYTES {
            match self.try_write(&batches) {
                Ok(false) => {}
                Ok(true) => {
                    self.has_written = true;
                    return batches.iter().for_each(|_| reply.ok());
                }
                Err(failure) => return batches.iter().for_each(|_| self.fail(&failure, reply)),
            }
        }
        for batch in batches {
            let submitted = self.shared.db.submit(Vec::new(), batch, Durability::Buffered).await;
            let pending = match submitted {
                Ok(submitted) => Pending::Write(submitted),
                Err(error) => Pending::Failed(error.into()),
            };
            self.add_pending(pending, reply).await;
        }
    }

    /// Writes batches in place. Returns `false` if that would wait.
    fn try_write(&self, batches: &[WriteBatch]) -> Result<bool, Failure> {
        let _turn = self.shared.resp.take_turn();
        for _ in 0..TRIES {
            if self.shared.db.inner().try_write_all(batches)?.is_some() {
                return Ok(true);
            }
            spin();
        }
        Ok(false)
    }

    /// Adds a write whose outcome will be awaited. Awaits all if they are many.
    async fn add_pending(&mut self, pending: Pending, reply: &mut Reply) {
        self.pending.push(pending);
        if self.pending.len() >= PENDING_MAX {
            self.await_pending(reply).await;
        }
    }

    /// Finishes all writes, and replies to them.
    pub(super) async fn finish_writes(&mut self, reply: &mut Reply) {
        self.write_gathered(reply).await;
        self.await_pending(reply).await;
    }

    async fn await_pending(&mut self, reply: &mut Reply) {
        for pending in std::mem::take(&mut self.pending) {
            match pending.outcome().await {
                Ok(encoded) => {
                    self.has_written = true;
                    reply.append(encoded);
                }
                Err(failure) => self.fail(&failure, reply),
            }
        }
    }

    pub(super) async fn update(
        &mut self,
        call: Call<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        let Call { command, arguments, .. } = call;
        self.write_gathered(reply).await;
        let is_in_place = self.pending.is_empty()
            && arguments.size() <= IN_PLACE_BYTES
            && arguments.len() <= IN_PLACE_ARGUMENTS;
        let mut tried = Tried::Waits;
        // After a long value, others are likely to be long as well.
        if is_in_place && !self.expects_long {
            tried = self.try_update(call, reply)?;
        }
        if tried == Tried::Waits {
            let is_long = self.warm(command, arguments).await? || arguments.size() > LONG_BYTES;
            tried = match is_long {
                true => Tried::Long,
                false if is_in_place => self.try_update(call, reply)?,
                false => Tried::Waits,
            };
        }
        self.expects_long = tried == Tried::Long;
        if tried == Tried::Done(()) {
            self.has_written = true;
            return Ok(());
        }
        let run = self.detached(call, reply.protocol);
        let run = move |transaction: &mut Transaction| run(&mut Changes::new(transaction));
        if tried == Tried::Long {
            self.finish_writes(reply).await;
            let encoded = self.transact(true, run).await?;
            self.has_written = true;
            reply.append(encoded);
            return Ok(());
        }
        let submitted = self.shared.db.submit_update(Durability::Buffered, run).await?;
        self.add_pending(Pending::Update(submitted), reply).await;
        Ok(())
    }

    /// Runs a transaction on another thread. If `is_long`, it has a thread of its own, so that nobody waits while it
    /// reads and builds values; if these change meanwhile, it runs again on the committer's thread.
    pub(super) async fn transact<T: Send + 'static>(
        &self,
        is_long: bool,
        run: impl Fn(&mut Transaction) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, Failure> {
        let db = &self.shared.db;
        let run = Arc::new(run);
        if is_long {
            // The semaphore is never closed, so this cannot fail.
            let _place = self.shared.resp.long_updates.acquire().await;
            let running = run.clone();
            let run = move |transaction: &mut Transaction| running(transaction);
            let done = db.transact(Durability::Buffered, run).await;
            match done {
                Err(Failure::Store(e)) if matches!(e.kind(), ErrorKind::Conflict) => {}
                done => return done,
            }
        }
        db.update(Durability::Buffered, move |transaction| run(transaction)).await
    }

    /// Tries to run an update in place.
    fn try_update(&self, call: Call<'_>, reply: &mut Reply) -> Result<Tried<()>, Failure> {
        let start = reply.len();
        let tried = self.try_transact(|mut access| {
            reply.truncate(start);
            self.run_on(&mut access, call, reply)
        });
        if !matches!(tried, Ok(Tried::Done(()))) {
            reply.truncate(start);
        }
        tried
    }

    /// Tries to run a transaction in place.
    pub(super) fn try_transact<T>(
        &self,
        mut run: impl FnMut(Changes<'_>) -> Result<T, Failure>,
    ) -> Result<Tried<T>, Failure> {
        let _turn = self.shared.resp.take_turn();
        for _ in 0..TRIES {
            let tried = self
                .shared
                .db
                .inner()
                .try_transact(|transaction| run(Changes::short(transaction, LONG_BYTES)));
            match tried {
                Ok(Some(done)) => return Ok(Tried::Done(done)),
                Ok(None) => spin(),
                Err(Failure::WouldWait) => return Ok(Tried::Long),
                Err(failure) => return Err(failure),
            }
        }
        Ok(Tried::Waits)
    }

    /// Reads the keys of a command into the cache, where the committer finds them. Returns whether a value is long.
    async fn warm(&self, command: &Command, arguments: Arguments<'_>) -> Result<bool, Failure> {
        let mut is_long = false;
        if let Some(keyspace) = self.shared.resp.databases.get(self.session.database) {
            for key in command.keys_of(arguments) {
                let found = keyspace.get_versioned(key).await?;
                is_long |= found.is_some_and(|found| found.value.len() > LONG_BYTES);
            }
        }
        Ok(is_long)
    }
}

/// Lets another writer finish.
fn spin() {
    for _ in 0..SPINS {
        std::hint::spin_loop();
    }
}
