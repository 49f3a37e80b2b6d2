//! The path of one point read, step by step, in the form of the engine's traces.
//!
//! It changes nothing: no block comes into the cache, and no policy observes the read.
//!
//! 1. Memtables, newest first. Whoever holds a version of the key ends the search.
//! 2. Runs, newest first: the one table that covers the key, its filter, and one block if that passes.

use crate::entry::Entry;
use crate::reads::{entries_per_block, probe, runs};
use crate::simulation::Simulation;
use serde::Serialize;
use terrane_policy::{RunId, TableId};

/// One step of a point read, as the engine's traces have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum ReadStep {
    /// A memtable is searched.
    Memtable {
        /// 0 is the active memtable; the sealed ones follow, newest first.
        place: usize,
    },
    /// A run is searched.
    Run {
        /// Its level.
        level: usize,
        /// The run.
        run: RunId,
        /// The one table whose key range covers the key, if any.
        table: Option<TableId>,
    },
    /// The table's filter is consulted.
    Filter {
        /// Whether the key may be in the table; if `false`, it is not.
        may_contain: bool,
    },
    /// A block is searched.
    Block {
        /// Its offset in the table, in bytes.
        offset: u64,
        /// Its length, in bytes.
        bytes: u64,
        /// Source of the block: `cache` or `vfs`.
        origin: &'static str,
        /// Bytes to be read from the device for it.
        read: u64,
    },
    /// The newest version is a value.
    Value {
        /// Its sequence number.
        sequence: u64,
        /// Its length, in bytes.
        bytes: u64,
    },
    /// The newest version is a tombstone.
    Tombstone {
        /// Its sequence number.
        sequence: u64,
    },
    /// The key is not here.
    Absent {
        /// Whether a filter had passed the key: a false positive.
        false_positive: bool,
    },
}

/// The path of one point read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadPath {
    /// The key, as tables have it.
    pub key: Vec<u8>,
    /// The sequence number of the last write.
    pub sequence: u64,
    /// The steps, in order.
    pub steps: Vec<ReadStep>,
}

impl Simulation {
    /// The steps of a point read of a key at this moment.
    #[must_use]
    pub fn explain(&self, key: u64) -> ReadPath {
        let mut steps = Vec::new();
        self.search(key, &mut steps);
        ReadPath { key: key.to_be_bytes().to_vec(), sequence: self.memory.seq, steps }
    }

    /// The least key from this one on that a table holds, if there is one.
    #[must_use]
    pub fn key_from(&self, key: u64) -> Option<u64> {
        let bytes = key.to_be_bytes();
        let next = runs(&self.tree).filter_map(|(_, run)| {
            let info = run.tables().range(run.first_from(&bytes), run.tables().end()).next()?;
            let entries = &self.tree.table(info.id)?.entries;
            entries.get(entries.partition_point(|e| e.key() < key)).map(|e| e.key())
        });
        next.min()
    }

    fn search(&self, key: u64, steps: &mut Vec<ReadStep>) {
        let memtables = [&self.memory.active].into_iter().chain(self.memory.sealed.iter().rev());
        for (place, memtable) in memtables.enumerate() {
            steps.push(ReadStep::Memtable { place });
            let newest = memtable.entries.iter().rev().find(|e| e.key() == key);
            steps.push(self.outcome(newest.copied(), false));
            if newest.is_some() {
                return;
            }
        }
        let block_bytes = self.config.block_bytes;
        let per_block = entries_per_block(block_bytes, self.sizes.put());
        for (level, run) in runs(&self.tree) {
            let probe = probe(&self.tree, level, run, key, per_block);
            let table = probe.as_ref().map(|probe| probe.table);
            steps.push(ReadStep::Run { level, run: run.id, table });
            let Some(probe) = probe else { continue };
            let filtered = self.tree.table(probe.table).is_some_and(|t| t.false_positives < 1.0);
            if filtered {
                steps.push(ReadStep::Filter { may_contain: probe.block.is_some() });
            }
            if let Some((table, block)) = probe.block {
                let cached = self.cache.holds(table.0, block);
                steps.push(ReadStep::Block {
                    offset: block * block_bytes,
                    bytes: block_bytes,
                    origin: if cached { "cache" } else { "vfs" },
                    read: if cached { 0 } else { block_bytes },
                });
            }
            steps.push(self.outcome(probe.found, filtered && probe.block.is_some()));
            if probe.found.is_some() {
                return;
            }
        }
    }

    fn outcome(&self, found: Option<Entry>, passed: bool) -> ReadStep {
        match found {
            None => ReadStep::Absent { false_positive: passed },
            Some(entry) if entry.is_value() => {
                ReadStep::Value { sequence: entry.seq(), bytes: self.sizes.value }
            }
            Some(entry) => ReadStep::Tombstone { sequence: entry.seq() },
        }
    }
}
