//! The results of a simulation.

use serde::Serialize;
use std::collections::BTreeMap;
use terrane_workload::{Distribution, Kind, Latency};

/// The results. Amplifications are ratios; times are in seconds of virtual time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The policy's name.
    pub policy: &'static str,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Figures of the whole run, including compactions after the last operation.
    #[serde(flatten)]
    pub whole: Figures,
    /// The same for each phase.
    pub phases: Vec<PhaseReport>,
    /// The tree at the end, level 0 first.
    pub levels: Vec<LevelReport>,
    /// The bytes of its tables.
    pub table_bytes: Distribution,
    /// Every window, if the configuration asks for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Window>,
}

/// A phase of the run. What a flush or a merge wrote, and the time that it took, counts in the phase in
/// which it ends: after a burst the rest may have more than its share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseReport {
    /// `load`, the name of one of the workload's phases, or `wait-until-idle` for the time in which the
    /// tree becomes idle before such a phase or at the end.
    pub name: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A level at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelReport {
    /// Its runs.
    pub runs: usize,
    /// Their tables.
    pub tables: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The merges that took from one level into the next, or within it, by its number at the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MergeFigures {
    /// Number of values.
    pub count: u64,
    /// Tables that each read.
    pub input_tables: Distribution,
    /// Their bytes.
    pub input_bytes: Distribution,
    /// Microseconds from its start until it took effect.
    pub micros: Distribution,
}

/// Figures of a level over a period, by the level's number at the time: it changes when a level is added
/// or dropped above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelFigures {
    /// Bytes that merges wrote into it.
    pub written_bytes: u64,
    /// Point reads that asked a filter of one of its tables.
    pub lookups: u64,
    /// Those that the filter passed.
    pub filter_positives: u64,
    /// Those passed although the table did not hold the key.
    pub false_positives: u64,
}

/// Seconds in which writes were stalled, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StallSeconds {
    /// Too many memtables waited to be flushed.
    pub memtables: f64,
    /// Level 0 had too many runs.
    pub level0: f64,
    /// Too many bytes waited to be compacted.
    pub compaction_bytes: f64,
    /// Writes were not stalled but slowed down, since many bytes waited to be compacted.
    pub slowed: f64,
    /// Writes were slowed down, since level 0 had many runs.
    pub slowed_level0: f64,
}

/// Measurements over a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Its duration.
    pub seconds: f64,
    /// Operations of the application.
    pub operations: u64,
    /// Bytes that they wrote.
    pub user_bytes: u64,
    /// Bytes of the newest versions of all live keys, at the end.
    pub logical_bytes: u64,
    /// Memtables that became runs.
    pub flushes: u64,
    /// Their bytes.
    pub flushed_bytes: u64,
    /// Bytes written by flushes and merges per byte written by the application; none if it wrote
    /// nothing, as in `wait-until-idle`.
    pub write_amp: Option<f64>,
    /// The same without flushes, as most models count it.
    pub write_amp_compaction: Option<f64>,
    /// Bytes written to flash, including the log and garbage collection, per byte written by the
    /// application.
    pub write_amp_total: Option<f64>,
    /// Bytes written to flash per byte that the store wrote to the device.
    pub write_amp_device: Option<f64>,
    /// Bytes of the log.
    pub wal_bytes: u64,
    /// Bytes written to the log of values, which counts towards the tree's amplification.
    pub value_log_bytes: u64,
    /// The greatest ratio of the bytes of all tables, including inputs of merges and unfinished
    /// outputs, to the logical bytes at that time. Times before the store holds 32 buffers, or half
    /// the load if that is less, do not count.
    pub space_amp_peak: f64,
    /// The mean of that ratio over time.
    pub space_amp_mean: f64,
    /// The peak of the bytes of all tables.
    pub store_bytes_peak: u64,
    /// The mean number of runs.
    pub runs_mean: f64,
    /// The peak number of runs.
    pub runs_max: u64,
    /// The mean number of tables.
    pub tables_mean: f64,
    /// The peak number of tables.
    pub tables_max: u64,
    /// The peak number of files: tables, including unfinished ones.
    pub files_max: u64,
    /// Point reads.
    pub gets: u64,
    /// Mean number of blocks that such a read fetched from the device.
    pub read_ios_per_get: f64,
    /// Range reads.
    pub scans: u64,
    /// Mean number of tables of which such a read needed a block.
    pub tables_per_scan: f64,
    /// Mean number of blocks that such a read fetched from the device.
    pub read_ios_per_scan: f64,
    /// The cache hit rate.
    pub cache_hit_rate: f64,
    /// Compactions that ended.
    pub compactions: u64,
    /// Mean number of groups per compaction.
    pub groups_per_compaction: f64,
    /// Merges and moved tables of a compaction.
    pub compaction_groups: Distribution,
    /// Tables that a compaction moved.
    pub compaction_moves: Distribution,
    /// Their bytes.
    pub compaction_moved_bytes: Distribution,
    /// Seconds in which any merge ran.
    pub compaction_seconds: f64,
    /// Bytes that merges wrote for each of these seconds.
    pub compaction_throughput: f64,
    /// Duration of merges, from the start until they took effect; none without merges.
    pub merge_seconds: Option<Latency>,
    /// Groups that only moved tables.
    pub trivial_moves: u64,
    /// Bytes of the tables that moved.
    pub moved_bytes: u64,
    /// Bytes that merges read.
    pub merge_read_bytes: u64,
    /// Bytes that merges wrote.
    pub merge_written_bytes: u64,
    /// The same by level, level 0 first, with what filters did there.
    pub by_level: Vec<LevelFigures>,
    /// Merges by the newest level that they took from, level 0 first.
    pub merges: Vec<MergeFigures>,
    /// Plans that the validator refused.
    pub refused_plans: u64,
    /// Latencies by kind of operation.
    pub latencies: BTreeMap<Kind, Latency>,
    /// Operations per second.
    pub throughput_mean: f64,
    /// Those of the slowest window, which may start with any operation; of all operations where there
    /// are fewer.
    pub throughput_worst_window: f64,
    /// Time in which writes were stalled.
    pub stall_seconds: StallSeconds,
    /// The share of time that workers spent merging.
    pub worker_utilisation: f64,
    /// The share of time in which the device was busy.
    pub device_utilisation: f64,
    /// The mean number of cores that computed.
    pub cores_busy_mean: f64,
}

/// A window of consecutive operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// End of the phase.
    pub seconds: f64,
    /// Operations so far.
    pub operations: u64,
    /// Bytes that the application has written so far.
    pub user_bytes: u64,
    /// Operations per second in it.
    pub throughput: f64,
    /// Write amplification in it; none if the application wrote nothing.
    pub write_amp: Option<f64>,
    /// Write amplification of garbage collection in it.
    pub write_amp_device: Option<f64>,
    /// Workers that merged, on average over it.
    pub busy_workers: f64,
    /// Bytes of all tables when it ended.
    pub store_bytes: u64,
    /// Bytes of live keys when it ended.
    pub logical_bytes: u64,
}
