//! The options of an opening of a store.

use crate::session::Session;
use crate::tree::{policy, set_policy};
use terrane::policy::FilterBits;
use terrane::{Options, Result};

/// The options of an opening. The policy is that of keyspaces created later and, unless `keep_policy`, of the
/// default keyspace from now on.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// Whether a store is created if there is none.
    pub create: bool,
    /// Whether a store that exists is an error.
    pub error_if_exists: bool,
    /// Whether the default keyspace keeps the policy that it has.
    pub keep_policy: bool,
    /// The size of a memtable in bytes.
    pub memtable_bytes: Option<u32>,
    /// The size of the block cache in bytes.
    pub cache_bytes: Option<u32>,
    /// Thousandths of bits per key of filters.
    pub filter_thousandths: Option<u32>,
    /// Bytes of logs that are kept for the change feed.
    pub feed_bytes: Option<u32>,
    /// The policy's options, as JSON.
    pub policy: Option<String>,
}

impl Opening {
    /// Returns the engine's options: `defaults`, but for what this opening sets.
    ///
    /// # Errors
    /// An invalid policy.
    pub fn options(&self, mut defaults: Options) -> Result<Options> {
        let memtable_bytes = self.memtable_bytes.map_or(defaults.memtable_bytes, u64::from);
        let cache_bytes = self.cache_bytes.map_or(defaults.cache_bytes, u64::from);
        // Half of the memory is for memtables, and at least two of them.
        let memory_bytes = 2 * cache_bytes.max(2 * memtable_bytes);
        let memory_bytes =
            defaults.memory_bytes.map_or(memory_bytes, |bytes| bytes.max(memory_bytes));
        let mut table = defaults.table;
        if let Some(thousandths) = self.filter_thousandths {
            table.filter_bits_per_key = FilterBits::from_thousandths(thousandths);
        }
        if let Some(json) = &self.policy {
            defaults.policy = policy(json)?;
        }
        let feed_bytes = self.feed_bytes.map_or(defaults.feed_bytes, u64::from);
        Ok(defaults
            .create(self.create)
            .error_if_exists(self.error_if_exists)
            .memtable_bytes(memtable_bytes)
            .memory_bytes(memory_bytes)
            .cache_bytes(cache_bytes)
            .feed_bytes(feed_bytes)
            .table(table))
    }

    /// Applies the policy to a store that was opened with [`Opening::options`], or to one that was open before.
    ///
    /// # Errors
    /// An invalid policy, an I/O error.
    pub fn session(&self, session: Session) -> Result<Session> {
        if let Some(json) = self.policy.as_deref().filter(|_| !self.keep_policy) {
            set_policy(&session.db().default_keyspace(), &policy(json)?)?;
        }
        Ok(session)
    }
}
