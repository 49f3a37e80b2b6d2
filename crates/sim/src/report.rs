//! What a simulation answers.

use serde::Serialize;

/// Everything that was measured. Amplifications are ratios, times seconds of virtual time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The policy's name.
    pub policy: &'static str,
    /// What everything random was drawn from.
    pub seed: u64,
    /// Figures of the whole run, what compactions did after the last operation included.
    #[serde(flatten)]
    pub whole: Figures,
    /// The same, phase by phase.
    pub phases: Vec<Phase>,
    /// The tree at the end, level 0 first.
    pub levels: Vec<LevelReport>,
    /// Every window, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Window>,
}

/// A part of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// `load`, `operations`, or `wait_until_idle`: what is left to do after the last operation.
    pub name: &'static str,
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

/// Seconds in which writes waited, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StallSeconds {
    /// Too many memtables waited for their flush.
    pub memtables: f64,
    /// Too many runs stood in level 0.
    pub level0: f64,
}

/// What was measured over some time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// How long it took.
    pub seconds: f64,
    /// Operations of the application.
    pub operations: u64,
    /// Bytes that it wrote.
    pub user_bytes: u64,
    /// Bytes of the newest versions of all live keys, at the end.
    pub logical_bytes: u64,
    /// Memtables that became runs.
    pub flushes: u64,
    /// Their bytes.
    pub flushed_bytes: u64,
    /// Bytes that flushes and merges wrote, for each that the application wrote; none where it wrote
    /// nothing, as in `wait_until_idle`.
    pub write_amp: Option<f64>,
    /// The same without flushes, as most models count.
    pub write_amp_compaction: Option<f64>,
    /// Bytes written to flash, the log and garbage collection included, for each of the
    /// application's.
    pub write_amp_device: Option<f64>,
    /// Bytes written to flash for each that the store wrote to the device.
    pub gc_factor: Option<f64>,
    /// Bytes of the log.
    pub wal_file_bytes: u64,
    /// Greatest ratio of the bytes of all tables, inputs of merges and half-written outputs
    /// included, to the logical bytes at that moment. Moments before the store holds 32 buffers,
    /// or half the load if that is less, do not count.
    pub space_amp_peak: f64,
    /// Its mean over time.
    pub space_amp_mean: f64,
    /// The most that all tables took, in bytes.
    pub store_bytes_peak: u64,
    /// Runs, over time.
    pub runs_mean: f64,
    /// The most runs.
    pub runs_max: u64,
    /// Tables, over time.
    pub tables_mean: f64,
    /// The most tables.
    pub tables_max: u64,
    /// The most files at once: tables, and those half written.
    pub files_open_max: u64,
    /// Point reads.
    pub gets: u64,
    /// Blocks that one read from the device, on average.
    pub read_ios_per_get: f64,
    /// Range reads.
    pub scans: u64,
    /// Blocks that one read from the device, on average.
    pub read_ios_per_scan: f64,
    /// Share of blocks that were in the cache.
    pub cache_hit_rate: f64,
    /// Compactions that ended.
    pub compactions: u64,
    /// Groups of one, on average.
    pub groups_per_compaction: f64,
    /// Groups that only moved tables.
    pub trivial_moves: u64,
    /// Bytes of the tables that moved.
    pub moved_bytes: u64,
    /// Bytes that merges read.
    pub merge_read_bytes: u64,
    /// Bytes that merges wrote.
    pub merge_written_bytes: u64,
    /// Plans that the validator refused.
    pub refused_plans: u64,
    /// Operations per second.
    pub throughput_mean: f64,
    /// Those of the slowest window.
    pub throughput_worst_window: f64,
    /// Time in which writes waited.
    pub stall_seconds: StallSeconds,
    /// Share of their time that workers merged.
    pub worker_utilisation: f64,
}

/// Some operations in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// When it ended.
    pub seconds: f64,
    /// Operations so far.
    pub operations: u64,
    /// Bytes that the application has written so far.
    pub user_bytes: u64,
    /// Operations per second in it.
    pub throughput: f64,
    /// Amplification of writes in it; none where the application wrote nothing.
    pub write_amp: Option<f64>,
    /// That of garbage collection in it.
    pub gc_factor: Option<f64>,
    /// Bytes of all tables when it ended.
    pub store_bytes: u64,
    /// Bytes of live keys when it ended.
    pub logical_bytes: u64,
}
