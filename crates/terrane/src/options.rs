//! What a caller may choose when a store is opened.

use crate::error::{Error, Result};
use crate::event::Listener;
use crate::memtable::Memtable;
use crate::table::TableOptions;
use terrane_policy::PolicyOptions;

/// What a write waits for before it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The write is on the medium when the call returns. Survives a power cut.
    Sync,
    /// The write is in the log file when the call returns: it survives the end of the process, and
    /// a power cut may take it together with everything after it. A driver syncs the log at least
    /// every [`Options::sync_interval_ms`].
    #[default]
    Buffered,
}

/// How a store is opened and bounded. `Options::default()` suits a native program;
/// [`Options::small`] a browser tab.
#[derive(Clone)]
pub struct Options {
    /// Create the store if there is none.
    pub create: bool,
    /// Refuse to open a store that is already there.
    pub error_if_exists: bool,
    /// Bytes at which a memtable is sealed and flushed to level 0.
    pub memtable_bytes: u64,
    /// Sealed memtables of one keyspace that may wait for their flush before writes wait, too.
    pub memtables_max: usize,
    /// Size of a preallocated log file, in bytes.
    pub log_bytes: u64,
    /// Log bytes in all, beyond which the keyspace that holds the oldest record is flushed.
    pub logs_bytes_max: u64,
    /// Runs in level 0 at which writes wait for a compaction.
    pub level0_runs_max: usize,
    /// Memory in all, in bytes: half of it for memtables, the rest for the indexes and filters of
    /// open tables and, as far as they leave room, for the block cache. Beside it stand what is
    /// under way: about 1 MiB for each input of a merge, and the indexes and filters of its outputs,
    /// some 2% of their bytes, until they take the place of the inputs.
    pub memory_bytes: u64,
    /// The most that the block cache takes of it, in bytes; 0 for no cache.
    pub cache_bytes: u64,
    /// How long a buffered write may wait for the driver's sync, in milliseconds.
    pub sync_interval_ms: u32,
    /// How tables are built.
    pub table: TableOptions,
    /// The compaction policy of keyspaces that are created.
    pub policy: PolicyOptions,
    /// Receives every event, if given.
    pub listener: Option<Listener>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            create: true,
            error_if_exists: false,
            memtable_bytes: 16 << 20,
            memtables_max: 3,
            log_bytes: 16 << 20,
            logs_bytes_max: 96 << 20,
            level0_runs_max: 16,
            memory_bytes: 128 << 20,
            cache_bytes: 64 << 20,
            sync_interval_ms: 1000,
            table: TableOptions::default(),
            policy: PolicyOptions::default(),
            listener: None,
        }
    }
}

impl Options {
    /// Refuses bounds with which nothing could be written.
    pub(crate) fn validate(&self) -> Result<()> {
        let bounds = [
            ("memtable_bytes", self.memtable_bytes),
            ("memtables_max", self.memtables_max as u64),
            ("log_bytes", self.log_bytes),
            ("level0_runs_max", self.level0_runs_max as u64),
        ];
        match bounds.into_iter().find(|(_, bound)| *bound == 0) {
            Some((what, _)) => Err(Error::invalid(what, "at least 1", "0")),
            None => Ok(()),
        }
    }

    /// A memtable of the size that these options give it.
    pub(crate) fn memtable(&self) -> Memtable {
        Memtable::new(usize::try_from(self.memtable_bytes).unwrap_or(usize::MAX))
    }

    /// Bounds for a browser tab: about a sixth of the default memory.
    #[must_use]
    pub fn small() -> Self {
        Options {
            memtable_bytes: 4 << 20,
            memtables_max: 2,
            log_bytes: 4 << 20,
            logs_bytes_max: 16 << 20,
            memory_bytes: 24 << 20,
            cache_bytes: 8 << 20,
            ..Options::default()
        }
    }
}
