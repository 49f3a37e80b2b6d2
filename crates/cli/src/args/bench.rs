//! Measurements.

use super::{POLICY, policy};
use crate::exit::TABLE;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum, value_parser};
use std::path::PathBuf;
use terrane_policy::PolicyOptions;

/// Measure how fast stores are, and what they write and take for it
///
/// The workloads are those of RocksDB's db_bench under the same names: one thread, single puts,
/// keys of 8 bytes with zeros after them, values that compress to half.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct BenchArgs {
    /// The store's directory, which stays; by default a temporary one
    ///
    /// What does not begin with a fill goes to the store that an earlier `bench` left there. With
    /// `--policy all` each policy has a directory within.
    pub dir: Option<PathBuf>,
    /// What to measure, in this order; a fill begins a new store
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES",
          default_values_t = [Benchmark::FillSeq, Benchmark::FillRandom, Benchmark::Overwrite,
                              Benchmark::ReadRandom, Benchmark::ReadMissing,
                              Benchmark::SeekRandom])]
    pub benchmarks: Vec<Benchmark>,
    /// Keys, and writes of a benchmark
    #[arg(long, default_value_t = 2_000_000, value_parser = value_parser!(u64).range(1..=1 << 40))]
    pub num: u64,
    /// Reads of a benchmark [default: as many as keys]
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    pub reads: Option<u64>,
    /// Bytes of a key
    #[arg(long, default_value_t = 16,
          value_parser = RangedU64ValueParser::<usize>::new().range(8..=1024))]
    pub key_bytes: usize,
    /// Bytes of a value
    #[arg(long, default_value_t = 100,
          value_parser = RangedU64ValueParser::<usize>::new().range(0..=1 << 20))]
    pub value_bytes: usize,
    /// Rows that seekrandom reads from where it lands
    #[arg(long, value_name = "ROWS", default_value_t = 100)]
    pub seek_nexts: u64,
    /// The seed of random keys
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Put each write on the medium before the next
    #[arg(long)]
    pub sync: bool,
    /// The compaction policy: a preset, JSON, or `all` for each preset in turn
    #[arg(long, value_name = POLICY, value_parser = policies)]
    pub policy: Option<Policies>,
    /// Begin the next benchmark while compactions of the one before are still due
    #[arg(long)]
    pub no_settle: bool,
    /// MiB at which a memtable is flushed [default: 64; 4 with `--policy all`, so that trees have
    /// levels]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(1..=65_536))]
    pub memtable_mib: Option<u64>,
    /// MiB of the block cache
    #[arg(long, value_name = "MIB", default_value_t = 64,
          value_parser = value_parser!(u64).range(0..=1 << 20))]
    pub cache_mib: u64,
    /// MiB of the store's memory budget, of which memtables and the cache take a part
    #[arg(long, value_name = "MIB", default_value_t = 128,
          value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub memory_mib: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[value(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// Puts, in the order of the keys, into a new store
    FillSeq,
    /// Puts of random keys into a new store
    FillRandom,
    /// Puts of random keys into the store
    Overwrite,
    /// Gets of random keys
    ReadRandom,
    /// Gets of random keys that are not there
    ReadMissing,
    /// Scans of some rows from random keys on
    SeekRandom,
    /// Deletes of random keys
    DeleteRandom,
}

impl BenchArgs {
    /// MiB at which a memtable is flushed.
    pub fn memtable_mib(&self) -> u64 {
        let default = if matches!(self.policy, Some(Policies::All)) { 4 } else { 64 };
        self.memtable_mib.unwrap_or(default)
    }
}

/// Which policies are measured.
#[derive(Clone, Debug)]
pub enum Policies {
    All,
    One(PolicyOptions),
}

fn policies(text: &str) -> Result<Policies, String> {
    match text {
        "all" => Ok(Policies::All),
        text => policy(text).map(Policies::One),
    }
}
