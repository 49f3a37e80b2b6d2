//! Transactions that wait for nothing: they run where they are called, if memory has what they read.
//!
//! 1. Nobody else can write while the body runs: it holds the lead of the write group and the writer's lock.
//! 2. So its reads are those of the moment at which its batch is committed, and the batch needs no conditions.
//! 3. A read that needs a file, any scan, and any question for changes end the try. Nothing is written then.

use super::Transaction;
use crate::db::{Db, Inner, Keyspace, Snapshot};
use crate::error::{Error, ErrorKind, Result};
use crate::read::{TryGet, Versioned};
use crate::write;
use std::cell::Cell;

impl Db {
    /// Runs `body` once, and commits what it writes, buffered, if that waits for nothing: no file, no other writer, no
    /// stall, no slowdown. Returns `None` otherwise, with nothing written, for a thread that may wait and calls
    /// [`Db::transact`]. `body` should be short, since all writes wait for it, and call only its transaction.
    ///
    /// # Errors
    /// An error of `body`, after which nothing is written; those of [`Db::write`].
    pub fn try_transact<T, E: From<Error>>(
        &self,
        body: impl FnOnce(&mut Transaction) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let Inner { engine, executor, group, .. } = &*self.inner;
        if executor.would_slow(engine, 0) {
            return Ok(None);
        }
        // Its snapshot is released after the locks.
        let mut held = None;
        let written = group.try_update::<T, E>(engine, || {
            let would_read = Some(Cell::new(false));
            let transaction = held.insert(Transaction { would_read, ..Transaction::new(self) });
            let returned = body(transaction);
            if transaction.would_read.as_ref().is_some_and(Cell::get) {
                return Ok(None);
            }
            let value = returned?;
            let batch = transaction.take_batch()?;
            Ok(Some((write::combined(engine, &batch)?.unwrap_or(batch), value)))
        })?;
        if written.is_some() {
            executor.wake(engine);
        }
        Ok(written)
    }
}

/// Reads a key in memory.
pub(super) fn cached(
    snapshot: &Snapshot,
    keyspace: &Keyspace,
    key: &[u8],
    would_read: &Cell<bool>,
) -> Result<Option<Versioned>> {
    match snapshot.lookup(keyspace, 1)?.try_get_versioned(key)? {
        TryGet::Value(found) => Ok(Some(found)),
        TryGet::Absent => Ok(None),
        TryGet::WouldRead => {
            would_read.set(true);
            Err(ErrorKind::WouldRead.into())
        }
    }
}

/// Refuses what may read files, in a transaction that may touch none.
pub(super) fn refuse_files(would_read: Option<&Cell<bool>>) -> Result<()> {
    let Some(would_read) = would_read else { return Ok(()) };
    would_read.set(true);
    Err(ErrorKind::WouldRead.into())
}
