//! A piece of background work, run in slices by an executor.

use crate::engine::Engine;
use crate::error::Result;
use crate::jobs::Progress;
use crate::jobs::{Flush, Merge};
use crate::keyspace::KeyspaceId;
use crate::version::ObsoleteFile;
use std::sync::Arc;
use terrane_policy::Group;

/// What a job does.
pub(crate) enum Work {
    /// Writes a memtable as a table.
    Flush(Box<Flush>),
    /// Merges a group.
    Merge(Box<Merge>),
    /// Relabels a group's tables.
    Move { compaction: u64, keyspace: KeyspaceId, group: Group },
    /// Makes the log that follows the one that fills.
    SpareLog,
    /// Adds or drops a level.
    Reshape { keyspace: KeyspaceId },
    /// Gives a file's room back.
    Remove(ObsoleteFile),
    /// Does housekeeping of the storage.
    Vacuum,
    /// Nothing is left to do.
    Ended,
}

/// One piece of background work. It may move between threads between slices.
pub struct Job {
    engine: Arc<Engine>,
    work: Work,
}

impl Job {
    pub(crate) fn new(engine: Arc<Engine>, work: Work) -> Self {
        Job { engine, work }
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

    /// Works for about `bytes` bytes read or written. At its end the result takes effect.
    ///
    /// # Errors
    /// Damage or a failing file system. The job is over then: what it wrote is removed, and the engine
    /// rests until background work is asked for again.
    pub fn run_for(&mut self, bytes: u64) -> Result<Progress> {
        let done = self.step(bytes);
        match &done {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => self.end(false),
            Err(e) => {
                // Housekeeping that fails holds nothing up: recovery sweeps what it left.
                // A write that needs a log meets the reason itself.
                let housekeeping =
                    matches!(self.work, Work::Remove(_) | Work::Vacuum | Work::SpareLog);
                self.engine.job_failed(e, !housekeeping);
                self.end(true);
            }
        }
        done
    }

    fn step(&mut self, bytes: u64) -> Result<Progress> {
        let engine = &self.engine;
        match &mut self.work {
            Work::Flush(flush) => flush.step(engine, bytes),
            Work::Merge(merge) => merge.step(engine, bytes),
            Work::Move { compaction, keyspace, group } => {
                if !engine.install_group(*compaction, *keyspace, group, &[])? {
                    engine.group_abandoned(*compaction, group);
                }
                Ok(Progress::Done)
            }
            Work::SpareLog => engine.add_spare_log(0).map(|()| Progress::Done),
            Work::Reshape { keyspace } => {
                engine.install_reshape(*keyspace).map(|()| Progress::Done)
            }
            Work::Remove(obsolete_file) => {
                engine.remove_file(obsolete_file.clear(engine.cache())).map(|()| Progress::Done)
            }
            Work::Vacuum => {
                Ok(if engine.vacuum_storage()? { Progress::More } else { Progress::Done })
            }
            Work::Ended => Ok(Progress::Done),
        }
    }

    /// Lets go of what the work holds; `abandoned` if it did not come to its end.
    fn end(&mut self, abandoned: bool) {
        match std::mem::replace(&mut self.work, Work::Ended) {
            Work::Flush(flush) if abandoned => flush.abandon(&self.engine),
            Work::Merge(merge) if abandoned => merge.abandon(&self.engine),
            Work::Move { compaction, group, .. } if abandoned => {
                self.engine.group_abandoned(compaction, &group);
            }
            Work::Reshape { keyspace } if abandoned => {
                self.engine.reshape_abandoned(keyspace);
            }
            Work::Flush(_)
            | Work::Merge(_)
            | Work::Move { .. }
            | Work::Reshape { .. }
            | Work::Remove(_)
            | Work::SpareLog
            | Work::Vacuum
            | Work::Ended => {}
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end(true);
    }
}
