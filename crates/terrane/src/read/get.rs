//! A get of one key. Natively `get_shown` searches memory first.

use super::lookup::{Lookup, Versioned, lookup};
use crate::engine::{Engine, KeyspaceReads};
use crate::error::Result;
use crate::keyspace::KeyspaceId;
use terrane_table::read::Reader;

/// A get in a keyspace, through a handle, as it is now or was at a snapshot's sequence.
pub(crate) struct Get<'a> {
    pub engine: &'a Engine,
    pub keyspace: KeyspaceId,
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))] // for gets in memory, which are native
    pub reads: &'a KeyspaceReads,
    pub at: Option<Reader>,
}

impl<'a> Get<'a> {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// Damage, an I/O error, or a keyspace that was dropped.
    pub fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with(key, <[u8]>::to_vec)
    }

    /// Calls `work` with the value of a key, if there is one, and returns what it returned.
    ///
    /// # Errors
    /// The errors of [`Get::value`].
    #[inline]
    pub fn with<R>(&self, key: &[u8], work: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let (mut work, mut worked) = (Some(work), None);
        let lend = &mut |value: &[u8]| worked = work.take().map(|work| work(value));
        self.find(key, lend)?;
        Ok(worked)
    }

    /// Returns the value of a key and its version.
    ///
    /// # Errors
    /// The errors of [`Get::value`].
    pub fn versioned(&self, key: &[u8]) -> Result<Option<Versioned>> {
        let mut value = Vec::new();
        let found = self.find(key, &mut |found| value.extend_from_slice(found))?;
        Ok(found.map(|(seq, expires_at)| Versioned { value, seq, expires_at }))
    }

    pub(super) fn lookup(&self) -> Result<Lookup<'a>> {
        lookup(self.engine, self.keyspace, 1, self.at)
    }

    #[cfg(target_arch = "wasm32")]
    fn find(
        &self,
        key: &[u8],
        lend: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<super::search::Found>> {
        self.lookup()?.find(key, lend)
    }
}
