//! Background work in numbers: how busy each worker is, what waits for one, and what each kind of job moves.

use crate::db::Db;
use crate::engine::{Engine, FlushStatus};
use crate::sync::lock;

/// The background work of a store whose jobs native threads run. Counters start at zero when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct BackgroundStats {
    /// How long there have been workers, in microseconds; 0 where the executor has none.
    pub elapsed_micros: u64,
    /// How long each worker was busy of that, in microseconds: in a pool, also with other stores.
    pub busy_micros: Vec<u64>,
    /// Flushes.
    pub flushes: JobStats,
    /// Removals of obsolete files.
    pub removals: JobStats,
    /// Merges, part by part, and whatever else is none of the others.
    pub merges: JobStats,
}

/// The jobs of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct JobStats {
    /// Jobs that wait for a worker.
    pub queued: u64,
    /// Jobs that have begun and not ended.
    pub running: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// How long workers were busy with them, in microseconds.
    pub busy_micros: u64,
    /// Bytes of tables that they have read, when they have taken effect.
    pub read_bytes: u64,
    /// Bytes of tables that they have written, when they have taken effect.
    pub written_bytes: u64,
}

impl JobStats {
    /// Bytes read and written for each second that a worker was busy with them.
    #[must_use]
    pub fn bytes_per_second(&self) -> u64 {
        let bytes = u128::from(self.read_bytes) + u128::from(self.written_bytes);
        let second = bytes * 1_000_000 / u128::from(self.busy_micros.max(1));
        u64::try_from(second).unwrap_or(u64::MAX)
    }
}

impl Db {
    /// The background work, without the bytes that it has moved.
    pub(super) fn background(&self) -> BackgroundStats {
        let mut background = self.inner.executor.background();
        self.engine().count_queued(&mut background);
        background
    }
}

impl Engine {
    fn count_queued(&self, background: &mut BackgroundStats) {
        background.removals.queued = self.jobs.obsolete_files.count() as u64;
        let state = lock(&self.state);
        let sealed = state.sealed.values().flatten();
        let waiting = sealed.filter(|sealed| matches!(sealed.status, FlushStatus::Waiting));
        background.flushes.queued = waiting.count() as u64;
        let groups: usize = state.compactions.iter().map(|c| c.waiting.len()).sum();
        let parts: usize = state.shared_merges.iter().map(|merge| merge.parts_left()).sum();
        background.merges.queued = (groups + parts) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_a_second_are_those_read_and_written_while_busy() {
        let merges = JobStats { read_bytes: 300, written_bytes: 100, ..JobStats::default() };
        assert_eq!(JobStats { busy_micros: 2_000_000, ..merges }.bytes_per_second(), 200);
        assert_eq!(JobStats { busy_micros: 500, ..merges }.bytes_per_second(), 800_000);
        assert_eq!(JobStats::default().bytes_per_second(), 0);
    }
}
