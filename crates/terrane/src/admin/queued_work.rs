//! The background work of a store: what its executor counts, and the jobs that wait for a worker.

use super::Stats;
use crate::db::Db;
use crate::engine::StoreState;
use crate::executor::background_stats::BackgroundStats;
use crate::version::ObsoleteFiles;
use terrane_platform::BROWSER;

impl Db {
    /// The background work, with the bytes that the statistics have.
    pub(super) fn background(&self, stats: &Stats) -> BackgroundStats {
        let mut background = self.inner.executor.background();
        let engine = self.engine();
        count_queued(&engine.state, &engine.jobs.obsolete_files, &mut background);
        background.flushes = background.flushes.moving(0, stats.flushed_bytes);
        background.merges =
            background.merges.moving(stats.merge_read_bytes, stats.merge_written_bytes);
        background
    }
}

fn count_queued(
    store: &StoreState,
    obsolete_files: &ObsoleteFiles,
    background: &mut BackgroundStats,
) {
    if !BROWSER {
        background.removals.queued = obsolete_files.count() as u64;
    }
    let state = store.lock();
    background.flushes.queued = state.flushes.waiting() as u64;
    background.merges.queued = state.planner.waiting() as u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::jobs::Progress;
    use crate::schedule;
    use crate::schedule::{Job, JobFilter};
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::write;
    use crate::{Durability, Options};
    use std::sync::Arc;
    use terrane_policy::{Action, Compaction, Destination, Group, Observed, RunId};

    /// Memtables, parts of merges and files that no job has taken.
    fn queued(db: &Db) -> [u64; 3] {
        let mut background = BackgroundStats::default();
        let engine = db.engine();
        count_queued(&engine.state, &engine.jobs.obsolete_files, &mut background);
        [background.flushes, background.merges, background.removals].map(|jobs| jobs.queued)
    }

    #[test]
    fn queued_work_is_counted_by_kind() {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let (engine, rows) = (db.engine(), db.default_keyspace());
        let next = |kind| schedule::next_job(engine, kind).unwrap();
        let run = |mut job: Job| while job.run_for(u64::MAX).unwrap() == Progress::More {};
        for key in [1, 2] {
            rows.put([key], "value", Durability::Buffered).unwrap();
            write::seal_all(engine).unwrap();
        }
        assert_eq!(queued(&db), [2, 0, 0]);
        let flush = next(JobFilter::Flush);
        assert_eq!(queued(&db), [1, 0, 0]);
        [flush, next(JobFilter::Flush)].into_iter().for_each(run);

        let shape = rows.shape().unwrap();
        let groups = shape.tables().zip(engine.ids.next()..).map(|((.., table), run)| {
            let destination = Destination { level: 1, run: RunId(run) };
            let group = Group::new(vec![table.id], destination, Action::merge(u64::MAX));
            Group { parts: vec![vec![1], vec![2], vec![3]], ..group }
        });
        let plan = Compaction::parallel(groups.collect(), "a test");
        schedule::begin(
            engine,
            &mut engine.state.lock(),
            rows.id(),
            plan,
            None,
            Observed::default(),
        );
        assert_eq!(queued(&db), [0, 2, 0], "two groups");
        let parts = [next(JobFilter::Other)];
        assert_eq!(queued(&db), [0, 1 + 3, 0], "a group, and three parts of the other");
        parts.into_iter().for_each(run);
        (0..7).for_each(|_| run(next(JobFilter::Other)));
        // The last merge is released by the next search for work.
        assert!(engine.state.lock().planner.next_begun(usize::MAX).is_none());
        assert_eq!(queued(&db), [0, 0, 2], "the inputs");
    }
}
