//! Statistics: what the store holds and what its work has cost.

use crate::db::Db;
use crate::engine::{Engine, WriteWaits};
use crate::entry::Seq;
use crate::error::Result;
use crate::executor::background_stats::BackgroundStats;
use crate::features::{COUNTERS, EXPIRY, MERGE_OPERATOR};
use crate::keyspace::is_reserved;
use crate::left_out::on_one_thread;
use crate::storage::Space;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::version::LevelCounts;
use std::fmt;
use terrane_platform::THREADS;
use terrane_policy::{Capacity, Fact, PolicyOptions};
use terrane_table::read::ReadCounts;

/// Statistics of a level of a keyspace.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct LevelStats {
    /// Sorted runs.
    pub runs: usize,
    /// Tables.
    pub tables: usize,
    /// Size of the tables' files, in bytes.
    pub bytes: u64,
    /// Entries, counting every version and tombstone.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Capacity that its policy allows.
    pub capacity: Capacity,
    /// Memory that all its filters take, in bytes.
    pub filter_bytes: u64,
    /// Filters of this level that gets asked since the store was opened.
    pub filter_lookups: u64,
    /// Filters among those that did not rule the key out.
    pub filter_positives: u64,
    /// Filters among those whose table had no version of the key visible to the get.
    pub filter_false_positives: u64,
}

/// Kind of the values of a keyspace. The first merge, or value that expires, fixes it for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ValueKind {
    /// Values that neither expire nor were merged. The keyspace can still take any kind.
    Plain,
    /// Values that may expire. The keyspace takes no merges.
    Expiring,
    /// Values that merges of numbers may have changed. The keyspace takes no values that expire.
    Counters,
    /// Values that merges with the store's operator may have changed. The keyspace takes no values that expire.
    MergeOperator,
}

impl ValueKind {
    /// Returns the kind of a keyspace with these features.
    fn of(features: u32) -> Self {
        match features {
            EXPIRY => ValueKind::Expiring,
            COUNTERS => ValueKind::Counters,
            MERGE_OPERATOR => ValueKind::MergeOperator,
            _ => ValueKind::Plain,
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ValueKind::Plain => "plain",
            ValueKind::Expiring => "expiring",
            ValueKind::Counters => "counters",
            ValueKind::MergeOperator => "merge operator",
        })
    }
}

/// Statistics of a keyspace.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// Name of the keyspace.
    pub name: String,
    /// Kind of the keyspace's values.
    pub values: ValueKind,
    /// Name of the compaction policy.
    pub policy: String,
    /// Stored policy options that this release does not know or allow, in words.
    pub policy_problems: Vec<String>,
    /// Facts that the policy remembers: counters, boundaries and the like.
    pub policy_facts: Vec<Fact>,
    /// Levels, from level 0 down.
    pub levels: Vec<LevelStats>,
    /// Bytes of memory in memtables.
    pub memtable_bytes: u64,
    /// Entries in memtables.
    pub memtable_entries: u64,
    /// Sealed memtables that wait to be flushed.
    pub memtables_sealed: usize,
    /// Range deletes that hide entries of its tables.
    pub range_deletes: RangeDeleteStats,
}

/// The range deletes that hide entries of a keyspace's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RangeDeleteStats {
    /// The number of disjoint key ranges that they cover.
    pub fragments: usize,
    /// Their memory, in bytes. At 4 MiB range deletes of the keyspace stall.
    pub bytes: usize,
}

/// The oldest snapshot that is held, which keeps old versions from being dropped. Transactions hold snapshots as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct OldestSnapshot {
    /// The last sequence number that is visible in it.
    pub sequence: Seq,
    /// Time since it was taken, in microseconds.
    pub age_micros: u64,
}

/// The store's statistics at one moment. Counters start at zero when the store is opened.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The keyspaces.
    pub keyspaces: Vec<KeyspaceStats>,
    /// The last visible sequence number.
    pub last_sequence: Seq,
    /// The oldest snapshot, if any is held.
    pub oldest_snapshot: Option<OldestSnapshot>,
    /// Space allocated on the file system, and in use.
    pub space: Space,
    /// WAL files, including spare ones.
    pub wal_files: usize,
    /// Bytes of incomplete writes, in logs and manifest, that opening the store discarded.
    pub discarded_bytes: u64,
    /// Bytes of such writes in quarantine, from this and earlier openings.
    pub quarantine_bytes: u64,
    /// Bytes of batches written to the WAL.
    pub user_bytes: u64,
    /// Entries written.
    pub entries: u64,
    /// Bytes of records written to the log.
    pub wal_bytes: u64,
    /// Bytes written to the manifest.
    pub manifest_bytes: u64,
    /// Bytes of tables written by flushes.
    pub flushed_bytes: u64,
    /// Bytes of tables read by merges.
    pub merge_read_bytes: u64,
    /// Bytes of tables written by merges.
    pub merge_written_bytes: u64,
    /// Writes that stalled: for memtables, memory, level 0 or, natively, compaction debt.
    pub stalls: u64,
    /// All waits of writes, by their reason.
    pub waits: WriteWaits,
    /// Background work, if threads do it.
    #[serde(skip_serializing_if = "on_one_thread")]
    pub background: BackgroundStats,
    /// Table reads by gets.
    pub gets: ReadCounts,
    /// Table reads by scans, each counted when it is dropped.
    pub scans: ReadCounts,
}

impl Db {
    /// The store's statistics.
    ///
    /// # Errors
    /// An I/O error.
    pub fn stats(&self) -> Result<Stats> {
        let stats = stats(self.engine())?;
        // Without threads no job waits for one.
        if !THREADS {
            return Ok(stats);
        }
        Ok(Stats { background: self.background(&stats), ..stats })
    }
}

/// The store's statistics.
///
/// # Errors
/// An I/O error.
pub(crate) fn stats(engine: &Engine) -> Result<Stats> {
    let keyspaces = engine.keyspaces.load();
    let state = engine.state.lock();
    let version_set = state.version_set.clone();
    let sealed = state.logs.sealed_bytes() + state.logs.retained.bytes();
    drop(state);
    let mut space = engine.storage.space()?;
    let needed = space.live + sealed + engine.log.bytes();
    // The manifest's region may not be allocated to its end.
    space.live = needed.min(space.taken);
    let record = |id| version_set.keyspaces.get(&id);
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Ok(Stats {
        keyspaces: keyspaces
            .values()
            .filter(|keyspace| !is_reserved(&keyspace.name))
            .map(|keyspace| {
                let super_version = keyspace.super_version.load();
                let (policy, record) = (keyspace.policy.load(), record(keyspace.id));
                let (shape, remembered) =
                    (super_version.tree.shape(), record.map(|r| &r.policy_state));
                let status = policy.status(shape, remembered.map_or(&[], |state| state));
                let mut capacities = status.capacities.into_iter();
                let levels = shape.levels().iter();
                KeyspaceStats {
                    name: keyspace.name.clone(),
                    values: ValueKind::of(record.map_or(0, |record| record.features)),
                    policy: policy.name().to_owned(),
                    policy_problems: record
                        .map_or_else(Vec::new, |record| PolicyOptions::stored(&record.policy).1),
                    policy_facts: status.facts,
                    levels: levels
                        .enumerate()
                        .map(|(n, level)| {
                            let capacity = capacities.next().unwrap_or_default();
                            level_stats(level, capacity, super_version.counters.level(n))
                        })
                        .collect(),
                    memtable_bytes: super_version.memtables().map(|m| m.bytes() as u64).sum(),
                    memtable_entries: super_version.memtables().map(|m| m.entries() as u64).sum(),
                    memtables_sealed: super_version.sealed.len(),
                    range_deletes: RangeDeleteStats {
                        fragments: super_version.tree.range_deletes().fragments().len(),
                        bytes: super_version.tree.range_deletes().bytes(),
                    },
                }
            })
            .collect(),
        last_sequence: engine.snapshots.visible(),
        oldest_snapshot: engine.snapshots.oldest_held().map(|(sequence, since)| {
            let age_micros = engine.jobs.events.micros().saturating_sub(since);
            OldestSnapshot { sequence, age_micros }
        }),
        space,
        wal_files: version_set.logs.len(),
        discarded_bytes: engine.counters.discarded(),
        quarantine_bytes: version_set.quarantine_bytes(),
        user_bytes: count(&engine.counters.user_bytes),
        entries: count(&engine.counters.entries),
        wal_bytes: count(&engine.counters.wal_bytes),
        manifest_bytes: engine.storage.manifest_bytes(),
        flushed_bytes: count(&engine.counters.flushed_bytes),
        merge_read_bytes: count(&engine.counters.merge_read_bytes),
        merge_written_bytes: count(&engine.counters.merge_written_bytes),
        stalls: count(&engine.counters.stalls),
        waits: engine.counters.waits.stats(),
        background: BackgroundStats::default(),
        gets: engine.counters.gets.sums(),
        scans: engine.counters.scans.sums(),
    })
}

fn level_stats(
    level: &terrane_policy::Level,
    capacity: Capacity,
    counts: LevelCounts,
) -> LevelStats {
    let totals = level.totals();
    LevelStats {
        runs: level.runs.len(),
        tables: totals.tables,
        bytes: totals.bytes(),
        entries: totals.entries(),
        tombstones: totals.tombstones(),
        capacity,
        filter_bytes: totals.filter_bytes(),
        filter_lookups: counts.lookups,
        filter_positives: counts.passes,
        filter_false_positives: counts.false_positives,
    }
}
