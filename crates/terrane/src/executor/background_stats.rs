//! Background work in numbers: how busy each worker is, what waits for one, and what each kind of job moves.

use crate::left_out::in_browser;

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
    #[serde(skip_serializing_if = "in_browser")]
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
    pub(crate) fn moving(self, read_bytes: u64, written_bytes: u64) -> Self {
        // In floating point: the product may exceed 64 bits.
        let bytes = read_bytes.saturating_add(written_bytes) as f64;
        let bytes_per_second = (bytes * 1e6 / self.busy_micros.max(1) as f64) as u64;
        JobStats { read_bytes, written_bytes, bytes_per_second, ..self }
    }

    fn since(self, earlier: &JobStats) -> Self {
        let busy_micros = self.busy_micros.saturating_sub(earlier.busy_micros);
        let ended = self.ended.saturating_sub(earlier.ended);
        JobStats { ended, busy_micros, ..self }.moving(
            self.read_bytes.saturating_sub(earlier.read_bytes),
            self.written_bytes.saturating_sub(earlier.written_bytes),
        )
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
