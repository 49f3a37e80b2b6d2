//! One benchmark: the loop that is timed, and what it did to the store.
//!
//! 1. Operations run back to back; each one's time is from the end of the one before to its own.
//! 2. Between slices of them the clock stands: progress is shown, and a Ctrl-C is heard. The room
//!    that the store takes is looked at all the time.
//! 3. After writes it waits until no compaction is due, so that their cost counts and the next
//!    benchmark finds the tree idle.

use super::args::{BenchArgs, Benchmark};
use super::compactions::{CompactionFigures, Compactions};
use super::present::Present;
use super::slices;
use super::space::Watch;
use crate::exit::Failure;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use terrane::stats::{BackgroundStats, LevelStats, ReadCounts, WriteWaits};
use terrane::{Db, Keyspace, Stats};
use terrane_measure::{Micros, Moved, Terrane, Worker, memory};
use terrane_workload::{Clients, Kind, Latencies, Mix, Operation, Operations, Rows, Workload, mix};

/// Result of a benchmark. Bytes of rows are those of keys and values.
#[derive(Serialize)]
pub struct Report {
    pub policy: String,
    pub benchmark: Benchmark,
    pub operations: u64,
    /// Rows that reads found.
    pub found: Option<u64>,
    pub seconds: f64,
    pub operations_per_second: f64,
    /// Millions of bytes of rows written or read, a second.
    pub mb_per_second: f64,
    pub micros: Micros,
    /// Seconds until no compaction was due.
    pub idle_seconds: Option<f64>,
    /// Bytes of tables written for each byte of rows.
    pub write_amplification: Option<f64>,
    /// The same with what was written to the WAL and the manifest.
    pub write_amplification_with_wal: Option<f64>,
    /// Table blocks that a read looked into, on average.
    pub read_amplification: Option<f64>,
    /// Table reads of the operations.
    pub reads: Option<ReadCounts>,
    /// Filter outcomes by level.
    pub filters: Option<Vec<Filters>>,
    /// Sorted runs after it, memtables counted: the most that a read may have to look at.
    pub runs: usize,
    /// Bytes taken on the file system, logs counted, after it and at most.
    pub taken_bytes: u64,
    pub taken_bytes_peak: u64,
    /// These for each byte of live rows, where the store's rows are known.
    pub space_amplification: Option<f64>,
    pub space_amplification_peak: Option<f64>,
    /// Figures of compactions, and the tables after the benchmark.
    #[serde(flatten)]
    pub compactions: CompactionFigures,
    /// Writes that stalled.
    pub stalls: u64,
    /// All waits of writes, by their reason, since the store was opened.
    pub waits: WriteWaits,
    /// Background work.
    pub background: BackgroundStats,
    /// Greatest memory of the process, if the system reports it.
    pub memory_bytes_peak: Option<u64>,
}

/// The filters of a level.
#[derive(Serialize)]
pub struct Filters {
    /// Memory that all of them take, in bytes.
    pub bytes: u64,
    /// Filters asked, those among them that passed the key, and those that passed it falsely.
    pub lookups: u64,
    pub passes: u64,
    pub false_positives: u64,
}

/// A store under measurement.
pub struct Bench<'a> {
    pub args: &'a BenchArgs,
    /// Directory of the store.
    pub dir: PathBuf,
    pub db: Db,
    pub keyspace: Keyspace,
    /// Compactions of the store.
    pub compactions: Compactions,
    /// Keys that are present, unless the store is older than the run.
    pub present: Option<Present>,
    pub rows: Rows,
    /// Benchmarks that ran on the store.
    pub ran: u64,
}

/// The sums of a loop.
struct Tally {
    busy: Duration,
    latencies: Latencies,
    moved: Moved,
}

impl Bench<'_> {
    /// Runs a benchmark.
    pub fn run(&mut self, benchmark: Benchmark) -> Result<Report, Failure> {
        let writes = benchmark.writes();
        let (before, began) = (self.db.stats()?, self.compactions.mark());
        memory::reset_peak();
        let mut watch = Watch::over_files(self.dir.clone(), |_| true);
        let operations = match writes {
            true => self.args.num(),
            false => self.args.reads.unwrap_or(self.args.num()),
        };
        let tally = self.time(benchmark, operations)?;
        let waiting = Instant::now();
        let waits = writes && !self.args.no_wait_until_idle;
        if waits {
            self.db.wait_until_idle()?;
        }
        let idle_seconds = waits.then(|| waiting.elapsed().as_secs_f64());
        let after = self.db.stats()?;
        let taken_peak = watch.peak()?.max(after.space.taken);
        drop(watch);
        let row_bytes = self.rows.row_bytes();
        let bytes = tally.moved.read_bytes + tally.moved.written_bytes;
        let live_bytes = self.present.as_ref().map(|present| present.count() * row_bytes);
        let amplified = |bytes: u64, of: u64| (of > 0).then(|| bytes as f64 / of as f64);
        let seconds = tally.busy.as_secs_f64().max(1e-9);
        let tables = |s: &Stats| s.flushed_bytes + s.merge_written_bytes;
        let all = |s: &Stats| tables(s) + s.wal_bytes + s.manifest_bytes;
        let for_rows = |written: &dyn Fn(&Stats) -> u64| match writes {
            true => amplified(written(&after) - written(&before), bytes),
            false => None,
        };
        let reads = match benchmark {
            _ if writes => None,
            Benchmark::SeekRandom => Some(after.scans.since(&before.scans)),
            _ => Some(after.gets.since(&before.gets)),
        };
        Ok(Report {
            policy: self.keyspace.policy()?.name().to_owned(),
            benchmark,
            operations,
            found: (!writes).then_some(tally.moved.rows),
            seconds,
            operations_per_second: operations as f64 / seconds,
            mb_per_second: bytes as f64 / seconds / 1e6,
            micros: Micros::of(&tally.latencies),
            idle_seconds,
            write_amplification: for_rows(&tables),
            write_amplification_with_wal: for_rows(&all),
            read_amplification: reads.and_then(|reads| amplified(reads.blocks, operations)),
            reads,
            filters: (!writes).then(|| filters(&before, &after)),
            runs: runs(&after),
            taken_bytes: after.space.taken,
            taken_bytes_peak: taken_peak,
            space_amplification: live_bytes.and_then(|live| amplified(after.space.taken, live)),
            space_amplification_peak: live_bytes.and_then(|live| amplified(taken_peak, live)),
            compactions: self.compactions.since(&began, &self.keyspace)?,
            stalls: after.stalls - before.stalls,
            background: after.background.since(&before.background),
            waits: after.waits,
            memory_bytes_peak: memory::bytes("VmHWM"),
        })
    }

    /// Steps 1 and 2.
    fn time(&mut self, benchmark: Benchmark, operations: u64) -> Result<Tally, Failure> {
        let seed = self.args.seed ^ mix(self.ran << 8 | benchmark as u64);
        self.ran += 1;
        let Bench { args, db, keyspace, rows, present, .. } = self;
        let drawn = benchmark.operations(args, operations, seed).zip(1..);
        let mut terrane = Terrane::new(db, keyspace, args.durability());
        let mut worker = Worker::new(&mut terrane, rows);
        let (mut latencies, mut moved) = (Latencies::default(), Moved::default());
        let busy = slices::run(&mut worker, &benchmark.name(), operations, drawn, |timed| {
            latencies.add(timed.nanos);
            moved.add(timed.moved);
            let (Operation::Put(number) | Operation::Delete(number)) = timed.operation else {
                return;
            };
            let is_put = timed.operation == Operation::Put(number);
            present.iter_mut().for_each(|present| present.set(number, is_put));
        })?;
        Ok(Tally { busy, latencies, moved })
    }
}

impl Benchmark {
    /// Its name, as it is asked for.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub fn writes(self) -> bool {
        !matches!(self, Self::ReadRandom | Self::ReadMissing | Self::SeekRandom)
    }

    /// Returns its operations on the keys of the arguments.
    pub fn operations(
        self,
        args: &BenchArgs,
        operations: u64,
        seed: u64,
    ) -> impl Iterator<Item = Operation> + use<> {
        let kind = match self {
            Self::FillSeq => Kind::Insert,
            Self::FillRandom | Self::Overwrite => Kind::Update,
            Self::ReadRandom => Kind::Read,
            Self::ReadMissing => Kind::ReadMissing,
            Self::SeekRandom => Kind::Scan,
            Self::DeleteRandom => Kind::Delete,
        };
        let (keys, rows) = (args.num(), args.seek_nexts.max(1));
        let (mix, scan_entries, scan_entries_least) = (Mix::only(kind), rows, rows);
        let clients = Clients { mix, scan_entries, scan_entries_least, ..Clients::default() };
        let workload = Workload { keys, ..Workload::then(0, operations, clients) };
        // The number of a missing key is greater than all: the missing key beside one that may be there is meant.
        Operations::new(&workload, seed).map(move |drawn| drawn.map(|number| number % keys))
    }
}

/// Returns the filter outcomes of the default keyspace's levels between two moments.
fn filters(before: &Stats, after: &Stats) -> Vec<Filters> {
    let levels = |stats: &Stats| {
        let keyspace = stats.keyspaces.first();
        keyspace.map_or_else(Vec::new, |keyspace| keyspace.levels.clone())
    };
    let before = levels(before);
    let since = |n: usize, level: &LevelStats, of: fn(&LevelStats) -> u64| {
        of(level) - before.get(n).map_or(0, of)
    };
    let filters = |(n, level): (usize, &LevelStats)| Filters {
        bytes: level.filter_bytes,
        lookups: since(n, level, |level| level.filter_lookups),
        passes: since(n, level, |level| level.filter_positives),
        false_positives: since(n, level, |level| level.filter_false_positives),
    };
    levels(after).iter().enumerate().map(filters).collect()
}

/// Sorted runs of the default keyspace, the memtables among them.
fn runs(stats: &Stats) -> usize {
    let keyspace = stats.keyspaces.first();
    let tables = keyspace.map_or(0, |k| k.levels.iter().map(|level| level.runs).sum());
    let memtables =
        keyspace.map_or(0, |k| k.memtables_sealed + usize::from(k.memtable_entries > 0));
    tables + memtables
}
