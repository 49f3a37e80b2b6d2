//! Snapshots, shared by the tasks and the conditions that read them.

use crate::db::Readers;
use crate::keyspace::read;
use crate::{Keyspace, Scan};
use std::sync::Arc;
use terrane::{KeyRange, Result, Seq};

/// The whole store as it was at one moment, until the last clone is dropped.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<terrane::Snapshot>,
    readers: Readers,
}

impl Snapshot {
    pub(crate) fn new(inner: terrane::Snapshot, readers: Readers) -> Self {
        Snapshot { inner: Arc::new(inner), readers }
    }

    pub(crate) fn inner(&self) -> &Arc<terrane::Snapshot> {
        &self.inner
    }

    /// Returns the last sequence number that is visible in it.
    #[must_use]
    pub fn sequence(&self) -> Seq {
        self.inner.sequence()
    }

    /// Returns the value that a key had.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped since.
    pub async fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let (snapshot, of) = (self.inner.clone(), keyspace.inner().clone());
        let lookup = self.inner.lookup(keyspace.inner(), 1);
        let blocking = move |key: Vec<u8>| snapshot.get(&of, key);
        read(&self.readers, lookup, key.as_ref(), blocking).await
    }

    /// Returns the pages of a range as it was.
    #[must_use]
    pub fn scan(&self, keyspace: &Keyspace, range: impl Into<KeyRange>) -> Scan {
        let (snapshot, of, range) = (self.inner.clone(), keyspace.inner().clone(), range.into());
        Scan::new(self.readers.clone(), move || snapshot.scan(&of, range))
    }
}
