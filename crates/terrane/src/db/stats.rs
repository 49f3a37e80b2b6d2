//! Figures: what the store holds and what its work has cost.

use super::{Engine, lock};
use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::read::{ReadCounters, ReadCounts};
use crate::storage::Space;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::version::LiveTable;
use std::sync::Arc;
use terrane_policy::Shape;

/// Work done since the store was opened.
#[derive(Default)]
pub(crate) struct Counters {
    pub user_bytes: AtomicU64,
    pub entries: AtomicU64,
    pub flushed_bytes: AtomicU64,
    pub merge_read_bytes: AtomicU64,
    pub merge_written_bytes: AtomicU64,
    pub stalls: AtomicU64,
    pub gets: ReadCounters,
    /// Shared with scans, which may outlive the engine.
    pub scans: Arc<ReadCounters>,
}

impl Counters {
    pub fn logged(&self, bytes: u64, entries: u64) {
        self.user_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.entries.fetch_add(entries, Ordering::Relaxed);
    }

    pub fn flushed(&self, bytes: u64) {
        self.flushed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// One level of a keyspace.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LevelStats {
    /// Sorted runs.
    pub runs: usize,
    /// Tables.
    pub tables: usize,
    /// Bytes on the medium.
    pub bytes: u64,
    /// Entries, all versions and tombstones counted.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
}

/// One keyspace.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// The name of its policy.
    pub policy: String,
    /// Its levels, from the staging area down.
    pub levels: Vec<LevelStats>,
    /// Bytes of memory in its memtables.
    pub memtable_bytes: u64,
    /// Entries in its memtables.
    pub memtable_entries: u64,
    /// Memtables that wait for their flush.
    pub memtables_sealed: usize,
}

/// A picture of the store's figures. Counts of work start at zero when the store is opened.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Stats {
    /// The keyspaces.
    pub keyspaces: Vec<KeyspaceStats>,
    /// The last sequence that is visible.
    pub last_sequence: Seq,
    /// Room taken on the medium.
    pub space: Space,
    /// Log files that are live, spares included.
    pub logs: usize,
    /// Bytes of batches written to the log.
    pub user_bytes: u64,
    /// Entries written.
    pub entries: u64,
    /// Bytes of tables written by flushes.
    pub flushed_bytes: u64,
    /// Bytes of tables read by merges.
    pub merge_read_bytes: u64,
    /// Bytes of tables written by merges.
    pub merge_written_bytes: u64,
    /// Writes that were told to wait.
    pub stalls: u64,
    /// What gets did with tables.
    pub gets: ReadCounts,
    /// What scans did with tables; each counts when it is dropped.
    pub scans: ReadCounts,
}

impl Engine {
    /// The store's figures.
    ///
    /// # Errors
    /// A failing medium.
    pub fn stats(&self) -> Result<Stats> {
        let keyspaces = self.keyspaces.load();
        let logs = lock(&self.state).catalog.logs.len();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(Stats {
            keyspaces: keyspaces
                .values()
                .map(|keyspace| {
                    let view = keyspace.view.load();
                    KeyspaceStats {
                        name: keyspace.name.clone(),
                        policy: keyspace.policy.load().name().to_owned(),
                        levels: view.tree.shape().levels.iter().map(level_stats).collect(),
                        memtable_bytes: view.memtables().map(|m| m.bytes() as u64).sum(),
                        memtable_entries: view.memtables().map(|m| m.entries() as u64).sum(),
                        memtables_sealed: view.sealed.len(),
                    }
                })
                .collect(),
            last_sequence: self.visible.load(Ordering::Acquire),
            space: self.storage.space()?,
            logs,
            user_bytes: count(&self.counters.user_bytes),
            entries: count(&self.counters.entries),
            flushed_bytes: count(&self.counters.flushed_bytes),
            merge_read_bytes: count(&self.counters.merge_read_bytes),
            merge_written_bytes: count(&self.counters.merge_written_bytes),
            stalls: count(&self.counters.stalls),
            gets: self.counters.gets.sums(),
            scans: self.counters.scans.sums(),
        })
    }

    /// The shape of a keyspace's tree as it is now.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn shape(&self, keyspace: KeyspaceId) -> Result<Arc<Shape>> {
        let keyspaces = self.keyspaces.load();
        let keyspace = keyspaces.get(&keyspace).ok_or(Error::Closed(Closed::Keyspace))?;
        Ok(keyspace.view.load().tree.shape().clone())
    }

    /// Counts a merge.
    pub(crate) fn merged(&self, read_bytes: u64, outputs: &[Arc<LiveTable>]) {
        let written: u64 = outputs.iter().map(|t| t.table().info().bytes).sum();
        self.counters.merge_read_bytes.fetch_add(read_bytes, Ordering::Relaxed);
        self.counters.merge_written_bytes.fetch_add(written, Ordering::Relaxed);
    }
}

fn level_stats(level: &terrane_policy::Level) -> LevelStats {
    let tables = || level.tables();
    LevelStats {
        runs: level.runs.len(),
        tables: tables().count(),
        bytes: level.bytes(),
        entries: tables().map(|t| t.entries).sum(),
        tombstones: tables().map(|t| t.tombstones).sum(),
    }
}
