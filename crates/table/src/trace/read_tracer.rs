//! What a read does, told step by step to one who counts and, for a [`Trace`](super::Trace), keeps
//! each step.
//!
//! It is one type, not a parameter of everything that reads: code for each kind of read tracer would
//! be in the browser's module several times, and counting costs less than a block search by far.

use super::{ReadCounters, ReadCounts, Step};
use crate::entry::{Kind, Tag};
use crate::error::Result;
use std::sync::Arc;
use terrane_types::{RunId, TableId};

/// Where a block came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The block cache.
    Cache,
    /// Bytes that an earlier read of the same cursor took along.
    ReadAhead,
    /// The file system.
    Vfs,
}

/// Is told what a read does, in the order in which it does it.
#[derive(Default)]
pub struct ReadTracer {
    counts: ReadCounts,
    /// Each step, where they are wanted.
    steps: Option<Vec<Step>>,
    /// Where the counts are added when what they count has ended.
    sums: Option<Arc<ReadCounters>>,
}

impl ReadTracer {
    /// One that adds its counts to `sums` at its end.
    pub fn adding_to(sums: Arc<ReadCounters>) -> Self {
        ReadTracer { counts: ReadCounts::default(), steps: None, sums: Some(sums) }
    }

    /// One that keeps every step.
    pub fn tracing() -> Self {
        ReadTracer { counts: ReadCounts::default(), steps: Some(Vec::new()), sums: None }
    }

    /// What was counted so far.
    pub fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    /// The steps, if they were kept.
    pub fn take_steps(&mut self) -> Vec<Step> {
        self.steps.take().unwrap_or_default()
    }

    /// Keeps a step, if any is wanted.
    #[inline]
    fn step(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step());
        }
    }

    /// The operation goes on to tables: no memtable answered a get, or a scan is placed.
    #[inline]
    pub fn tables(&mut self) {
        self.counts.operations += 1;
    }

    /// A memtable is searched: 0 is the active one, then come the sealed ones, newest first.
    #[inline]
    pub fn memtable(&mut self, place: usize) {
        self.step(|| Step::Memtable { place });
    }

    /// A run is searched: the one table of it whose key range holds the key, if any does.
    #[inline]
    pub fn run(&mut self, level: usize, run: RunId, table: Option<TableId>) {
        self.step(|| Step::Run { level, run, table });
    }

    /// A scan goes over to this table of its run.
    #[inline]
    pub fn table(&mut self, table: TableId) {
        self.step(|| Step::Table { table });
    }

    /// A table's filter let the key pass, or ruled it out.
    #[inline]
    pub fn filter(&mut self, passed: bool) {
        self.counts.filter_negatives += u64::from(!passed);
        self.step(|| Step::Filter { may_contain: passed });
    }

    /// A block of `len` stored bytes at `offset` of its table is looked into; `read` bytes were
    /// read from the file system for it.
    #[inline]
    pub fn block(&mut self, offset: u64, len: u64, origin: Origin, read: u64) {
        self.counts.blocks += 1;
        self.counts.blocks_cached += u64::from(origin == Origin::Cache);
        self.counts.bytes_read += read;
        self.step(|| Step::Block { offset, bytes: len, origin, read });
    }

    /// A part of the table's index or filter was read from the file system, so many bytes.
    #[inline]
    pub fn read(&mut self, bytes: u64) {
        self.counts.bytes_read += bytes;
    }

    /// The newest version that the reader may see was found, with a value of so many bytes.
    #[inline]
    pub fn found(&mut self, tag: Tag, bytes: usize) {
        let sequence = tag.seq();
        self.step(|| match tag.kind() {
            Some(Kind::Delete) => Step::Tombstone { sequence },
            _ => Step::Value { sequence, bytes: bytes as u64 },
        });
    }

    /// The memtable or table has no version that the reader may see, though its filter let the key
    /// pass where `filtered`. `newer` finds out whether it has newer ones; it is asked for a trace.
    ///
    /// # Errors
    /// Those of `newer`.
    #[inline]
    pub fn absent(&mut self, filtered: bool, newer: impl FnOnce() -> Result<bool>) -> Result<()> {
        if let Some(steps) = &mut self.steps
            && newer()?
        {
            steps.push(Step::Newer);
            return Ok(());
        }
        self.counts.filter_false_positives += u64::from(filtered);
        self.step(|| Step::Absent { false_positive: filtered });
        Ok(())
    }

    /// A memtable or run came to stand on this key; on none where it has nothing in that direction.
    #[inline]
    pub fn positioned(&mut self, key: Option<&[u8]>) {
        self.step(|| Step::Stands { key: key.map(<[u8]>::to_vec) });
    }

    /// A scan shows a row.
    #[inline]
    pub fn row(&mut self, key: &[u8], value: &[u8]) {
        self.counts.rows += 1;
        self.step(|| Step::Row { key: key.to_vec(), bytes: value.len() as u64 });
    }
}

impl Drop for ReadTracer {
    fn drop(&mut self) {
        if let Some(sums) = &self.sums {
            sums.add(&self.counts);
        }
    }
}
