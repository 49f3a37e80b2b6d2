//! A piece of background work, run in slices by an executor.

use super::planning::plan_flush;
use super::work::Work;
use crate::engine::{Engine, Keyspaces, Snapshots};
use crate::error::Result;
use crate::install;
use crate::jobs::{Flush, Outcome, Progress, TableSetWriter};
use crate::keyspace::KeyspaceId;
use std::sync::Arc;
use terrane_table::read::Resolver;
use terrane_types::range_deletes::RangeDeletes;

/// One piece of background work. It may move between threads between slices. Dropped before its end
/// it is abandoned: what it wrote is removed, and what it held is free for another.
pub struct Job {
    engine: Arc<Engine>,
    work: Work,
    /// Result of the work, if installing it was left to another slice.
    ended: Option<Result<Outcome>>,
}

impl Job {
    pub(crate) fn new(engine: Arc<Engine>, work: Work) -> Self {
        Job { engine, work, ended: None }
    }

    /// Whether writers may be waiting for it.
    #[must_use]
    pub fn is_flush(&self) -> bool {
        matches!(self.work, Work::Flush(_))
    }

    /// Whether it reads and writes no table.
    #[must_use]
    pub fn is_light(&self) -> bool {
        matches!(self.work, Work::Remove(_) | Work::Move { .. })
    }

    /// Whether it writes tables.
    pub(crate) fn moves_bytes(&self) -> bool {
        matches!(self.work, Work::Flush(_) | Work::Merge(_))
    }

    /// Returns a description of the work.
    pub(crate) fn name(&self) -> String {
        let of = |keyspace: &KeyspaceId| {
            self.engine.keyspaces.name(*keyspace).unwrap_or_else(|| keyspace.0.to_string())
        };
        match &self.work {
            Work::Flush(flush) => format!("flush of keyspace {}", of(&flush.keyspace)),
            Work::Merge(merge) => {
                let (part, parts) = merge.part.place();
                let keyspace = of(&merge.part.merge.keyspace);
                format!("part {part} of {parts} of a merge of keyspace {keyspace}")
            }
            Work::Move { keyspace, .. } => format!("move within keyspace {}", of(keyspace)),
            Work::Reshape { keyspace } => format!("change of levels of keyspace {}", of(keyspace)),
            Work::SpareLog => "creation of a log".to_owned(),
            Work::Remove(_) => "removal of a file".to_owned(),
            Work::Vacuum => "vacuuming".to_owned(),
            Work::Ended => "end of a job".to_owned(),
        }
    }

    /// Whether it reads or writes tables, and with them nothing that the engine's owner has to itself.
    #[cfg(any(target_feature = "atomics", test))]
    pub(crate) fn is_for_threads(&self) -> bool {
        matches!(self.work, Work::Flush(_) | Work::Merge(_))
    }

    /// Works as [`Job::run_for`] does, but leaves the end to it: the next slice has the result take
    /// effect, or returns the error.
    #[cfg(any(target_feature = "atomics", test))]
    pub(crate) fn work_for(&mut self, bytes: u64) -> Progress {
        self.ended = self.work(bytes).transpose();
        if self.ended.is_none() { Progress::More } else { Progress::Done }
    }

    /// Works for about `bytes` bytes read or written. At its end the result takes effect.
    ///
    /// # Errors
    /// Damage or an I/O failure. The job is over then: what it wrote is removed, and the engine
    /// rests until background work is asked for again.
    pub fn run_for(&mut self, bytes: u64) -> Result<Progress> {
        let done = self.step(bytes);
        match &done {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => self.work = Work::Ended,
            Err(e) => {
                // A removal or vacuuming that fails holds nothing up: it is tried again later.
                // A write that needs a log finds the reason itself.
                let housekeeping =
                    matches!(self.work, Work::Remove(_) | Work::Vacuum | Work::SpareLog);
                self.engine.job_failed(e, !housekeeping);
                self.abandon();
            }
        }
        done
    }

    /// Runs a slice, and has the outcome installed when there is one.
    fn step(&mut self, bytes: u64) -> Result<Progress> {
        let ended = self.ended.take().or_else(|| self.work(bytes).transpose());
        let Some(outcome) = ended.transpose()? else { return Ok(Progress::More) };
        if !install::install(&self.engine, outcome)? {
            self.abandon();
        }
        Ok(Progress::Done)
    }

    /// Runs a slice; returns the outcome at the end of the work.
    fn work(&mut self, bytes: u64) -> Result<Option<Outcome>> {
        let engine = &self.engine;
        Ok(Some(match &mut self.work {
            Work::Flush(flush) => {
                if !flush.is_planned() {
                    plan(engine, flush)?;
                }
                return flush.step(bytes);
            }
            Work::Merge(merge) => {
                return engine.costs.time_slice(bytes, || merge.step(&engine.jobs, bytes));
            }
            Work::Vacuum if engine.storage.vacuum()? => return Ok(None),
            Work::Remove(file) => {
                engine.jobs.remove(file)?;
                Outcome::Nothing
            }
            Work::Move { compaction, keyspace, group } => Outcome::Moved {
                keyspace: *keyspace,
                compaction: *compaction,
                group: group.clone(),
            },
            Work::Reshape { keyspace } => Outcome::Reshaped { keyspace: *keyspace },
            Work::SpareLog => Outcome::NeedsSpareLog,
            Work::Vacuum | Work::Ended => Outcome::Nothing,
        }))
    }

    /// Discards what was written and releases what the work holds.
    fn abandon(&mut self) {
        let engine = &self.engine;
        match std::mem::replace(&mut self.work, Work::Ended) {
            Work::Flush(mut flush) => {
                flush.discard(engine.state.in_doubt());
                install::abandon_flush(
                    &engine.state,
                    &engine.background,
                    flush.keyspace,
                    flush.through,
                );
            }
            Work::Merge(mut merge) => {
                if merge.abandon(engine.state.in_doubt()) {
                    let merge = &merge.part.merge;
                    install::abandon_group(engine, merge.compaction, &merge.group);
                }
            }
            Work::Move { compaction, group, .. } => {
                install::abandon_group(engine, compaction, &group)
            }
            Work::Reshape { keyspace } => install::abandon_reshape(engine, keyspace),
            Work::Remove(file) => engine.jobs.obsolete_files.keep_failed(file),
            Work::SpareLog | Work::Vacuum | Work::Ended => {}
        }
    }
}

/// Plans a flush as it starts, with no lock held.
fn plan(engine: &Engine, flush: &mut Flush) -> Result<()> {
    let plan = plan_flush(engine, flush.keyspace, &flush.memtable);
    let outputs = TableSetWriter::new(
        &engine.jobs,
        flush.keyspace,
        engine.keyspaces.name(flush.keyspace),
        plan.cuts.clone(),
        u64::MAX,
        plan.filter_bits,
    );
    let range_deletes = deletes_over(&engine.keyspaces, &engine.snapshots, flush);
    let outputs = outputs.applying(range_deletes.newest());
    let resolver = Resolver::new(engine.snapshots.readers())
        .applying(range_deletes.clone())
        .merging(engine.options.merge_operator.clone());
    flush.plan(plan, outputs, resolver, range_deletes)
}

/// The range deletes of a memtable that is flushed, and of those that are newer.
fn deletes_over(keyspaces: &Keyspaces, snapshots: &Snapshots, flush: &Flush) -> RangeDeletes {
    let mut list = RangeDeletes::default();
    if let Some(keyspace) = keyspaces.load().get(&flush.keyspace) {
        for memtable in keyspace.super_version.load().memtables() {
            list.merge(&memtable.range_deletes());
            if Arc::ptr_eq(memtable, &flush.memtable) {
                break;
            }
        }
    }
    // What is not visible yet may have no record, or one that fails.
    let visible = snapshots.visible();
    list.retain(|_, seq| seq <= visible)
}

impl Drop for Job {
    fn drop(&mut self) {
        self.abandon();
    }
}
