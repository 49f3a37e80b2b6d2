//! Counts what a read does and, for a [`Trace`](super::Trace), records each step.
//!
//! This is one type rather than a type parameter of everything that reads: the browser's module would
//! contain the read path once per tracer, and counting costs far less than a block search.

use super::recorder::Recorder;
use super::{ReadCounters, ReadCounts, Step};
use crate::entry::{EXPIRY_BYTES, Kind, Millis, Seq, Tag};
use crate::error::{ErrorKind, Result};
use std::sync::Arc;
use terrane_types::{RunId, TableId};

/// Source of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The block cache.
    Cache,
    /// Bytes that an earlier read of the same cursor prefetched.
    ReadAhead,
    /// The file.
    Vfs,
}

/// Answer of a table's filter about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The table does not have it.
    Negative,
    /// The table may have it, and has it.
    Positive,
    /// The table may have it, and has no version of it that the reader sees.
    FalsePositive,
}

/// Receives what a read does, in order.
pub struct ReadTracer {
    counts: ReadCounts,
    steps: Recorder,
    /// Answer of the filter of the run searched last, if one was asked.
    verdict: Option<Verdict>,
    /// Whether each table counts its reads.
    watching: bool,
    /// Whether the read fails rather than touch a file.
    only_cached: bool,
    /// Counters to add to when the operation ends.
    sums: Option<Arc<ReadCounters>>,
}

impl ReadTracer {
    fn new(steps: Recorder, sums: Option<Arc<ReadCounters>>) -> Self {
        let (counts, verdict) = (ReadCounts::default(), None);
        ReadTracer { counts, steps, verdict, watching: false, only_cached: false, sums }
    }

    /// A tracer that adds its counts to `sums` when it is dropped.
    pub fn adding_to(sums: Arc<ReadCounters>) -> Self {
        ReadTracer::new(Recorder::IDLE, Some(sums))
    }

    /// A tracer that records every step.
    pub fn tracing() -> Self {
        ReadTracer::new(Recorder::recording(), None)
    }

    /// The same, of a read that each table counts if `watching`.
    #[must_use]
    pub fn watching(mut self, watching: bool) -> Self {
        self.watching = watching;
        self
    }

    /// Whether each table counts its reads.
    #[inline]
    pub fn watches(&self) -> bool {
        self.watching
    }

    /// Sets whether a read of what is not in memory fails with
    /// [`WouldRead`](crate::error::ErrorKind::WouldRead).
    pub fn set_only_cached(&mut self, only_cached: bool) {
        self.only_cached = only_cached;
    }

    /// Whether the read fails rather than touch a file.
    #[inline]
    pub fn only_cached(&self) -> bool {
        self.only_cached
    }

    /// Refuses to touch a file, if the read may not.
    #[cold]
    pub fn may_load(&self) -> Result<()> {
        if self.only_cached { Err(ErrorKind::WouldRead.into()) } else { Ok(()) }
    }

    /// The counts so far.
    pub fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    /// Adds the counts of a part of the operation.
    pub fn add(&mut self, counts: &ReadCounts) {
        self.counts = self.counts.plus(counts);
    }

    /// Takes the recorded steps.
    pub fn take_steps(&mut self) -> Vec<Step> {
        self.steps.take()
    }

    /// The operation reaches the tables: no memtable answered a get, or a scan seeks.
    #[inline]
    pub fn tables(&mut self) {
        self.counts.operations += 1;
    }

    /// A memtable is searched: 0 is the active one; the sealed ones follow, newest first.
    #[inline]
    pub fn memtable(&mut self, place: usize) {
        self.steps.step(|| Step::Memtable { place });
    }

    /// A range delete with this number hides what is older of the key.
    #[inline]
    pub fn range_delete(&mut self, sequence: Seq) {
        self.steps.step(|| Step::RangeDelete { sequence });
    }

    /// A run is searched, in the one table whose key range covers the key, if any.
    #[inline]
    pub fn run(&mut self, level: usize, run: RunId, table: Option<TableId>) {
        self.verdict = None;
        self.steps.step(|| Step::Run { level, run, table });
    }

    /// A scan moves to this table of its run.
    #[inline]
    pub fn table(&mut self, table: TableId) {
        self.steps.step(|| Step::Table { table });
    }

    /// A table's filter passed the key, or ruled it out.
    #[inline]
    pub fn filter(&mut self, passed: bool) {
        self.counts.filter_negatives += u64::from(!passed);
        self.verdict = Some(if passed { Verdict::Positive } else { Verdict::Negative });
        self.steps.step(|| Step::Filter { may_contain: passed });
    }

    /// Returns the answer of the filter of the run searched last, if one was asked.
    #[inline]
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// A block of `len` stored bytes at `offset` is searched; `read` bytes were read from the file for
    /// it.
    #[inline]
    pub fn block(&mut self, offset: u64, len: u64, origin: Origin, read: u64) {
        self.counts.blocks += 1;
        self.counts.blocks_cached += u64::from(origin == Origin::Cache);
        self.counts.bytes_read += read;
        self.steps.step(|| Step::Block { offset, bytes: len, origin, read });
    }

    /// Whether steps are recorded.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.steps.is_recording()
    }

    /// A partition of the table's index or filter was read from the file.
    #[inline]
    pub fn read(&mut self, bytes: u64) {
        self.counts.bytes_read += bytes;
    }

    /// The newest visible version was found, with a value of `bytes` bytes.
    #[inline]
    pub fn found(&mut self, tag: Tag, bytes: usize) {
        let sequence = tag.seq();
        self.steps.step(|| match tag.kind() {
            Some(Kind::Delete) => Step::Tombstone { sequence },
            Some(Kind::Merge) => Step::Operand { sequence, bytes: bytes as u64 },
            Some(Kind::PutExpiring) => {
                Step::Value { sequence, bytes: bytes.saturating_sub(EXPIRY_BYTES) as u64 }
            }
            _ => Step::Value { sequence, bytes: bytes as u64 },
        });
    }

    /// The value that was found has expired, at this time.
    #[inline]
    pub fn expired(&mut self, at: Millis) {
        self.steps.step(|| Step::Expired { at });
    }

    /// The memtable or table has no visible version; with `filtered`, its filter had passed the key.
    /// `newer` returns whether it has newer versions and is only called if steps are recorded.
    ///
    /// # Errors
    /// The errors of `newer`.
    #[inline]
    pub fn absent(&mut self, filtered: bool, newer: impl FnOnce() -> Result<bool>) -> Result<()> {
        if self.steps.is_recording() && newer()? {
            self.steps.step(|| Step::Newer);
            return Ok(());
        }
        if filtered {
            self.counts.filter_false_positives += 1;
            self.verdict = Some(Verdict::FalsePositive);
        }
        self.steps.step(|| Step::Absent { false_positive: filtered });
        Ok(())
    }

    /// A cursor is positioned on this key; on none if there is nothing in its direction.
    #[inline]
    pub fn positioned(&mut self, key: Option<&[u8]>) {
        self.steps.step(|| Step::Stands { key: key.map(<[u8]>::to_vec) });
    }

    /// A scan returns a row.
    #[inline]
    pub fn row(&mut self, key: &[u8], value: &[u8]) {
        self.counts.rows += 1;
        self.steps.step(|| Step::Row { key: key.to_vec(), bytes: value.len() as u64 });
    }
}

/// A tracer whose counts go nowhere.
impl Default for ReadTracer {
    fn default() -> Self {
        ReadTracer::new(Recorder::IDLE, None)
    }
}

impl Drop for ReadTracer {
    fn drop(&mut self) {
        if let Some(sums) = &self.sums {
            sums.add(&self.counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind of step.
    fn steps_of(tracer: &mut ReadTracer) {
        tracer.tables();
        tracer.memtable(1);
        tracer.run(2, RunId(3), Some(TableId(4)));
        tracer.table(TableId(5));
        tracer.filter(true);
        tracer.filter(false);
        tracer.block(100, 50, Origin::Cache, 0);
        tracer.block(150, 60, Origin::Vfs, 90);
        tracer.block(210, 30, Origin::ReadAhead, 0);
        tracer.read(1000);
        tracer.found(Tag::new(7, Kind::Put), 8);
        tracer.found(Tag::new(9, Kind::Delete), 0);
        tracer.absent(true, || Ok(false)).unwrap();
        tracer.absent(false, || Ok(false)).unwrap();
        tracer.positioned(Some(b"k"));
        tracer.positioned(None);
        tracer.row(b"k", b"value");
    }

    /// Returns the cost of these steps, twice.
    fn twice() -> ReadCounts {
        ReadCounts {
            operations: 2,
            rows: 2,
            filter_negatives: 2,
            filter_false_positives: 2,
            blocks: 6,
            blocks_cached: 2,
            bytes_read: 2 * 1090,
        }
    }

    #[test]
    fn a_tracer_counts_each_step_and_adds_the_counts_when_it_ends() {
        let sums = Arc::new(ReadCounters::default());
        let mut tracer = ReadTracer::adding_to(sums.clone());
        steps_of(&mut tracer);
        steps_of(&mut tracer);
        assert_eq!(*tracer.counts(), twice());
        assert!(tracer.take_steps().is_empty());
        assert_eq!(sums.sums(), ReadCounts::default());
        drop(tracer);
        assert_eq!(sums.sums(), twice());
    }

    #[test]
    fn a_tracing_tracer_records_each_step() {
        let mut tracer = ReadTracer::tracing();
        steps_of(&mut tracer);
        let block = |offset, bytes, origin, read| Step::Block { offset, bytes, origin, read };
        let expected = [
            Step::Memtable { place: 1 },
            Step::Run { level: 2, run: RunId(3), table: Some(TableId(4)) },
            Step::Table { table: TableId(5) },
            Step::Filter { may_contain: true },
            Step::Filter { may_contain: false },
            block(100, 50, Origin::Cache, 0),
            block(150, 60, Origin::Vfs, 90),
            block(210, 30, Origin::ReadAhead, 0),
            Step::Value { sequence: 7, bytes: 8 },
            Step::Tombstone { sequence: 9 },
            Step::Absent { false_positive: true },
            Step::Absent { false_positive: false },
            Step::Stands { key: Some(b"k".to_vec()) },
            Step::Stands { key: None },
            Step::Row { key: b"k".to_vec(), bytes: 5 },
        ];
        assert_eq!(tracer.take_steps(), expected);
        let mut tracer = ReadTracer::tracing();
        tracer.absent(true, || Ok(true)).unwrap();
        assert_eq!(
            (tracer.take_steps(), tracer.counts().filter_false_positives),
            (vec![Step::Newer], 0)
        );
    }

    #[test]
    fn a_trace_is_the_steps_and_costs_of_its_parts() {
        let mut trace = super::super::Trace::at(7);
        let mut steps = Vec::new();
        for _ in 0..2 {
            let (mut part, mut same) = (ReadTracer::tracing(), ReadTracer::tracing());
            steps_of(&mut part);
            steps_of(&mut same);
            trace.append(part);
            steps.extend(same.take_steps());
        }
        assert_eq!((trace.sequence, trace.counts), (7, twice()));
        assert_eq!(trace.steps, steps);
    }

    #[test]
    fn a_verdict_is_that_of_the_run_searched_last() {
        let mut tracer = ReadTracer::default();
        assert_eq!(tracer.verdict(), None);
        tracer.filter(false);
        assert_eq!(tracer.verdict(), Some(Verdict::Negative));
        tracer.filter(true);
        assert_eq!(tracer.verdict(), Some(Verdict::Positive));
        tracer.absent(true, || panic!("steps are not recorded")).unwrap();
        assert_eq!(tracer.verdict(), Some(Verdict::FalsePositive));
        tracer.run(0, RunId(1), None);
        assert_eq!(tracer.verdict(), None);
    }

    #[test]
    fn reads_are_watched_if_that_is_asked_for() {
        assert!(ReadTracer::default().watching(true).watches());
        assert!(!ReadTracer::default().watching(false).watches());
    }
}
