//! Background work in numbers: how busy each worker is, what waits for one, and what each kind of job moves.

use super::Stats;
use crate::db::Db;
use crate::engine::Engine;
use crate::sync::lock;

/// The background work of a store that has threads for it. Counters start at zero when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct BackgroundStats {
    /// The time since the workers started, in microseconds; 0 if the executor has none.
    pub elapsed_micros: u64,
    /// Busy time of each worker, in microseconds; a shared pool's includes other stores.
    pub busy_micros: Vec<u64>,
    /// Flushes.
    pub flushes: JobStats,
    /// Removals of obsolete files.
    #[cfg(not(target_arch = "wasm32"))]
    pub removals: JobStats,
    /// Merges, of which each part of a shared one counts, and all other jobs.
    pub merges: JobStats,
}

/// The jobs of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct JobStats {
    /// Jobs that wait for a worker.
    pub queued: u64,
    /// Jobs that are running.
    pub running: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// Time that workers spent on these jobs, in microseconds.
    pub busy_micros: u64,
    /// Bytes of tables read, counted when a job's outcome is installed.
    pub read_bytes: u64,
    /// Bytes of tables written, counted when a job's outcome is installed.
    pub written_bytes: u64,
    /// Bytes read and written for each second that a worker was busy with them.
    pub bytes_per_second: u64,
}

impl JobStats {
    /// Adds the bytes that the jobs have read and written.
    #[must_use]
    fn moving(self, read_bytes: u64, written_bytes: u64) -> Self {
        // In floating point: the product may exceed 64 bits.
        let bytes = read_bytes.saturating_add(written_bytes) as f64;
        let bytes_per_second = (bytes * 1e6 / self.busy_micros.max(1) as f64) as u64;
        JobStats { read_bytes, written_bytes, bytes_per_second, ..self }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn since(self, earlier: &JobStats) -> Self {
        let busy_micros = self.busy_micros.saturating_sub(earlier.busy_micros);
        let ended = self.ended.saturating_sub(earlier.ended);
        JobStats { ended, busy_micros, ..self }.moving(
            self.read_bytes.saturating_sub(earlier.read_bytes),
            self.written_bytes.saturating_sub(earlier.written_bytes),
        )
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl BackgroundStats {
    /// Returns the work since `earlier`; queued and running jobs are the current ones.
    #[must_use]
    pub fn since(&self, earlier: &BackgroundStats) -> BackgroundStats {
        let before = earlier.busy_micros.iter().copied().chain(std::iter::repeat(0));
        let busy = self.busy_micros.iter().zip(before);
        BackgroundStats {
            elapsed_micros: self.elapsed_micros.saturating_sub(earlier.elapsed_micros),
            busy_micros: busy.map(|(now, before)| now.saturating_sub(before)).collect(),
            flushes: self.flushes.since(&earlier.flushes),
            removals: self.removals.since(&earlier.removals),
            merges: self.merges.since(&earlier.merges),
        }
    }
}

impl Db {
    /// The background work, with the bytes that the statistics have.
    pub(super) fn background(&self, stats: &Stats) -> BackgroundStats {
        let mut background = self.inner.executor.background();
        count_queued(self.engine(), &mut background);
        background.flushes = background.flushes.moving(0, stats.flushed_bytes);
        background.merges =
            background.merges.moving(stats.merge_read_bytes, stats.merge_written_bytes);
        background
    }
}

fn count_queued(engine: &Engine, background: &mut BackgroundStats) {
    #[cfg(not(target_arch = "wasm32"))]
    {
        background.removals.queued = engine.jobs.obsolete_files.count() as u64;
    }
    let state = lock(&engine.state);
    background.flushes.queued = state.flushes.waiting() as u64;
    background.merges.queued = state.planner.waiting() as u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::jobs::Progress;
    use crate::schedule::{Job, JobFilter};
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Durability, Options};
    use std::sync::Arc;
    use terrane_policy::{Action, Compaction, Destination, Group, Observed, RunId};

    #[test]
    fn bytes_a_second_are_those_read_and_written_while_busy() {
        let busy = |busy_micros| JobStats { busy_micros, ..JobStats::default() };
        assert_eq!(busy(2_000_000).moving(300, 100).bytes_per_second, 200);
        assert_eq!(busy(500).moving(300, 100).bytes_per_second, 800_000);
        assert_eq!(busy(0).moving(0, 0).bytes_per_second, 0);
    }

    #[test]
    fn work_since_a_moment_is_the_difference_and_queues_are_current() {
        let jobs = |waiting, ended, busy_micros, bytes| {
            let jobs = JobStats { queued: waiting, running: waiting, ended, ..JobStats::default() };
            JobStats { busy_micros, ..jobs }.moving(bytes, bytes)
        };
        let at = |elapsed_micros, busy: &[u64], merges| BackgroundStats {
            elapsed_micros,
            busy_micros: busy.to_vec(),
            merges,
            ..BackgroundStats::default()
        };
        let earlier = at(1_000, &[600, 0], jobs(3, 1, 600, 50));
        let now = at(5_000, &[1_600, 2_000], jobs(1, 4, 3_600, 350));
        let since = at(4_000, &[1_000, 2_000], jobs(1, 3, 3_000, 300));
        assert_eq!(now.since(&earlier), since);
        assert_eq!(since.merges.bytes_per_second, 200_000);
    }

    /// Memtables, parts of merges and files that no job has taken.
    fn queued(db: &Db) -> [u64; 3] {
        let mut background = BackgroundStats::default();
        count_queued(db.engine(), &mut background);
        [background.flushes, background.merges, background.removals].map(|jobs| jobs.queued)
    }

    #[test]
    fn queued_work_is_counted_by_kind() {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let (engine, rows) = (db.engine(), db.default_keyspace());
        let next = |kind| engine.next_job(kind).unwrap();
        let run = |mut job: Job| while job.run_for(u64::MAX).unwrap() == Progress::More {};
        for key in [1, 2] {
            rows.put([key], "value", Durability::Buffered).unwrap();
            engine.seal_all().unwrap();
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
        engine.begin(&mut lock(&engine.state), rows.id(), plan, None, Observed::default());
        assert_eq!(queued(&db), [0, 2, 0], "two groups");
        let parts = [next(JobFilter::Other)];
        assert_eq!(queued(&db), [0, 1 + 3, 0], "a group, and three parts of the other");
        parts.into_iter().for_each(run);
        (0..7).for_each(|_| run(next(JobFilter::Other)));
        // The last merge is released by the next search for work.
        assert!(lock(&engine.state).planner.next_begun(usize::MAX).is_none());
        assert_eq!(queued(&db), [0, 0, 2], "the inputs");
    }
}
