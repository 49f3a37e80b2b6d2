//! Calls of a session that run on another thread. They own everything they use, so that the session can be closed
//! meanwhile.

use crate::session::{found_of, values_of};
use crate::writer::{Uncommitted, Writer};
use std::sync::Arc;
use terrane::{Durability, Keyspace, Result, Snapshot};

/// Reads of a keyspace at one moment.
pub struct Reads {
    keyspace: Keyspace,
    snapshot: Arc<Snapshot>,
}

impl Reads {
    pub(crate) fn new(keyspace: Keyspace, snapshot: Arc<Snapshot>) -> Self {
        Reads { keyspace, snapshot }
    }

    /// Returns the values of encoded keys, as a list.
    ///
    /// # Errors
    /// Damage or an I/O error, a closed store; values of more than 256 MiB, or of more than there is memory for.
    pub fn get_many(&self, keys: &[u8]) -> Result<Vec<u8>> {
        values_of(keys, |count| self.snapshot.lookup(&self.keyspace, count))
    }

    /// Returns for each of the encoded keys a byte, 1 if it has a value.
    ///
    /// # Errors
    /// Damage or an I/O error, a closed store.
    pub fn has_many(&self, keys: &[u8]) -> Result<Vec<u8>> {
        found_of(keys, |count| self.snapshot.lookup(&self.keyspace, count))
    }
}

/// A batch that has yet to be committed.
pub struct Write {
    writer: Writer,
    batch: Uncommitted,
}

impl Write {
    pub(crate) fn new(writer: Writer, batch: Uncommitted) -> Self {
        Write { writer, batch }
    }

    /// Commits the batch, and makes it durable if `sync`. Returns its sequence number.
    ///
    /// # Errors
    /// An I/O error, a closed store.
    pub fn commit(self, sync: bool) -> Result<f64> {
        let durability = if sync { Durability::Sync } else { Durability::Buffered };
        self.writer.write(self.batch, durability).map(|sequence| sequence as f64)
    }
}
