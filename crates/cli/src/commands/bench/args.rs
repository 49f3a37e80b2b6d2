//! The arguments of `bench`.

use crate::args::{POLICY, policy};
use crate::background::Background;
use crate::commands::simulate::{ChosenWorkload, chosen_workload};
use crate::exit::{Exit, Failure};
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum, value_parser};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use terrane::table::{Compression, TableOptions};
use terrane::{Durability, Options};
use terrane_policy::{FilterBits, PolicyOptions};
use terrane_sim::Workload;
use terrane_workload::{Keys, Rows};

pub const EXAMPLES: &str = "\
The benchmarks are those of RocksDB's db_bench under the same names: one thread, single puts, 8-byte
keys padded with zeros, values that compress to half. Those that do not follow a fill use the store
that an earlier `bench` left in DIR. With `--policy all` each policy has a directory within it.

A workload (`--workload`) is one of `terrane simulate`, on tables without compression: its
operations run on one thread, and its figures have the simulator's names. With `--keys FILE` keys
are the lines of a file, each once: fillseq writes them all in its order.

Benchmarks:
  fillseq       put keys in order into a new store
  fillrandom    put random keys into a new store
  overwrite     put random keys
  readrandom    get random keys
  readmissing   get keys that do not exist
  seekrandom    seek to random keys and read some rows from there
  deleterandom  delete random keys

Examples:
  terrane bench --policy all --benchmarks fillrandom,readrandom
  terrane bench --policy vertiorizon --workload updates-50 --simulate
  terrane bench --workload unique-random --workers 2 --background-mib 20 --simulate --json
  terrane bench --policy universal --benchmarks fillseq --keys urls.txt
  terrane bench --drain --num 4000000 --rounds 5
  terrane bench big --benchmarks fillrandom --num 50000000     the store stays in big
  terrane bench big --benchmarks readrandom --reads 1000000    on the store that bench left in big";

/// Measure throughput, latency, and write, read and space amplification
#[derive(Args)]
pub struct BenchArgs {
    /// Keep the store in this directory [default: a temporary one]
    pub dir: Option<PathBuf>,
    /// Run these benchmarks, in order; a fill starts a new store
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "fillseq,fillrandom,overwrite,readrandom,readmissing,seekrandom"
    )]
    pub benchmarks: Vec<Benchmark>,
    /// Run a workload of `terrane simulate` instead: a load of --num keys, then --operations
    #[arg(long, value_name = "NAME|JSON", value_parser = chosen_workload,
          conflicts_with_all = ["benchmarks", "reads", "seek_nexts"])]
    pub workload: Option<ChosenWorkload>,
    /// Run this many operations in each phase after a workload's load [default: the number of keys]
    #[arg(long, requires = "workload", value_parser = value_parser!(u64).range(1..=1 << 40))]
    operations: Option<u64>,
    /// Report the slowest window of this many operations of a workload
    #[arg(long, requires = "workload", default_value_t = 100_000, value_parser = value_parser!(u64).range(1..=1 << 30))]
    pub window: u64,
    /// Show the figures of the simulator beside those of a workload
    #[arg(long, requires = "workload")]
    pub simulate: bool,
    /// Measure instead how long a full level 0 takes to drain, by threads: as one task, shared
    /// (leveled with max-subcompactions), in buckets, and under universal, partitioned and not
    #[arg(long, conflicts_with_all = ["dir", "benchmarks", "workload", "policy", "reads", "keys", 
              "sync", "seek_nexts", "memtable_mib", "workers", "no_wait_until_idle"])]
    pub drain: bool,
    /// Measure each case of `--drain` this many times
    #[arg(long, requires = "drain", default_value_t = 3, value_parser = value_parser!(u64).range(1..=100))]
    pub rounds: u64,
    /// Use this many keys, and writes in a benchmark [default: 2000000]
    #[arg(long, value_parser = value_parser!(u64).range(1..=1 << 40))]
    num: Option<u64>,
    /// Take the lines of a file as keys, each once
    #[arg(long, value_name = "FILE", value_parser = keys,
          conflicts_with_all = ["num", "key_bytes", "workload"])]
    pub keys: Option<Keys>,
    /// Read this many times in a benchmark [default: the number of keys]
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    pub reads: Option<u64>,
    /// Set the size of a key in bytes
    #[arg(long, default_value_t = 16,
          value_parser = RangedU64ValueParser::<usize>::new().range(8..=1024))]
    pub key_bytes: usize,
    /// Set the size of a value in bytes
    #[arg(long, default_value_t = 100,
          value_parser = RangedU64ValueParser::<usize>::new().range(0..=1 << 20))]
    pub value_bytes: usize,
    /// Read this many rows in seekrandom after each seek
    #[arg(long, value_name = "ROWS", default_value_t = 100)]
    pub seek_nexts: u64,
    /// Draw random keys from this seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Make each write durable before the next
    #[arg(long)]
    pub sync: bool,
    /// Use this compaction policy: a preset, JSON, or `all` for every preset in turn
    #[arg(long, value_name = POLICY, value_parser = policies)]
    pub policy: Option<Policies>,
    #[command(flatten)]
    pub background: Background,
    /// Start the next benchmark while compactions are still due
    #[arg(long)]
    pub no_wait_until_idle: bool,
    /// Set the memtable size in MiB [default: 64; 4 with `--policy all`]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(1..=65_536))]
    pub memtable_mib: Option<u64>,
    /// Set the size of the block cache in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64,
          value_parser = value_parser!(u64).range(0..=1 << 20))]
    pub cache_mib: u64,
    /// Limit memory, memtables and block cache included, in MiB [default: enough for two memtables and the cache]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub memory_mib: Option<u64>,
    /// Set filter bits per key: 0 for no filters, up to 64 [default: 10]
    #[arg(long, value_name = "BITS", value_parser = filter_bits)]
    pub filter_bits: Option<FilterBits>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[value(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    FillSeq,
    FillRandom,
    Overwrite,
    ReadRandom,
    ReadMissing,
    SeekRandom,
    DeleteRandom,
}

impl BenchArgs {
    /// Number of keys, and of writes in a benchmark.
    pub fn num(&self) -> u64 {
        match &self.keys {
            Some(Keys::Lines(lines)) => lines.len() as u64,
            _ => self.num.unwrap_or(2_000_000),
        }
    }

    /// Durability of each write.
    pub fn durability(&self) -> Durability {
        if self.sync { Durability::Sync } else { Durability::Buffered }
    }

    /// Rows of the store.
    pub fn rows(&self) -> Rows {
        Rows {
            entries: self.num(),
            keys: self.keys.clone().unwrap_or(Keys::Numbers),
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
        }
    }

    /// Memtable size in MiB.
    pub fn memtable_mib(&self) -> u64 {
        let default = if matches!(self.policy, Some(Policies::All)) { 4 } else { 64 };
        self.memtable_mib.unwrap_or(default)
    }

    /// The workload at the scale of these arguments; one in JSON has its own.
    pub fn workload(&self) -> Result<Option<Workload>, Failure> {
        let operations = self.operations.unwrap_or(self.num());
        Ok(match &self.workload {
            None => None,
            Some(ChosenWorkload::Named(name)) => Workload::preset(name, self.num(), operations),
            Some(ChosenWorkload::Given(workload)) => {
                let scales = [("--num", self.num), ("--operations", self.operations)];
                if let Some((option, _)) = scales.iter().find(|(_, scale)| scale.is_some()) {
                    let expected = r#""load" and "operations" in the workload"#;
                    let sentence = format!("expected {expected}, found {option} beside its JSON");
                    return Err(Failure::new(Exit::Usage, sentence));
                }
                if let Some(phase) = workload.phases.iter().find(|phase| phase.clients.len() > 1) {
                    let (name, kinds) = (&phase.name, phase.clients.len());
                    let expected = "clients of one kind in each phase, as one thread runs them";
                    let sentence =
                        format!("expected {expected}, found {kinds} kinds in \"{name}\"");
                    return Err(Failure::new(Exit::Usage, sentence));
                }
                Some(workload.clone())
            }
        })
    }

    /// Returns the options of a store with memtables of `memtable_bytes`, and background work as given.
    pub fn options(&self, memtable_bytes: u64) -> Options {
        let defaults = Options::default();
        let logs = defaults.max_total_wal_bytes.max(4 * memtable_bytes);
        let mut options = self
            .background
            .of(defaults)
            .memtable_bytes(memtable_bytes)
            .max_total_wal_bytes(logs)
            .cache_bytes(self.cache_mib << 20)
            .table(self.table());
        options.memory_bytes = self.memory_mib.map(|mib| mib << 20);
        options
    }

    /// Returns the options of tables.
    pub fn table(&self) -> TableOptions {
        let mut table = TableOptions::default();
        if self.workload.is_some() {
            // As in the simulator.
            table.compression = Compression::None;
        }
        table.filter_bits_per_key = self.filter_bits.unwrap_or(table.filter_bits_per_key);
        table
    }
}

/// The policies to measure.
#[derive(Clone, Debug)]
pub enum Policies {
    All,
    One(PolicyOptions),
}

/// Keys of a file, each once, in its order.
fn keys(path: &str) -> Result<Keys, String> {
    let text = std::fs::read(path).map_err(|e| e.to_string())?;
    let mut seen = HashSet::new();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let distinct: Arc<[_]> = lines.filter(|line| seen.insert(*line)).map(Box::from).collect();
    match distinct.is_empty() {
        true => Err("expected lines, found none".to_owned()),
        false => Ok(Keys::Lines(distinct)),
    }
}

fn filter_bits(text: &str) -> Result<FilterBits, String> {
    let bits = text.parse().ok().and_then(FilterBits::new);
    bits.ok_or_else(|| format!("expected 0 to 64, found {text}; for example: 9.5"))
}

fn policies(text: &str) -> Result<Policies, String> {
    match text {
        "all" => Ok(Policies::All),
        text => policy(text).map(Policies::One),
    }
}
