//! The arguments, and the cases that they ask for.

use crate::case::{Case, Debt, Suite};
use crate::engines::ENGINES;
use anyhow::{Context, Result, ensure};
use clap::Parser;
use std::path::PathBuf;
use terrane_workload::{Keys, Rows};

/// Compares Terrane with other embedded stores.
#[derive(Parser)]
#[command(name = "cargo xtask bench native", bin_name = "cargo xtask bench native")]
pub struct Args {
    /// The engines, of those that this build has; terrane is always among them
    #[arg(long, value_delimiter = ',', value_parser = engine_name)]
    pub engines: Vec<String>,
    /// Number of runs of each case by each engine
    #[arg(long, default_value_t = 3)]
    pub rounds: u64,
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["core", "seq"])]
    suites: Vec<Suite>,
    /// Bytes of keys and of values
    #[arg(long, value_delimiter = ',', default_value = "16+100")]
    sizes: Vec<String>,
    /// Bytes of keys: `uniform`, spread evenly, or `text`, which have much in common at their beginning
    #[arg(long, default_value = "uniform", value_parser = keys)]
    keys: Keys,
    /// Rows of a store
    #[arg(long, default_value_t = 2_000_000)]
    entries: u64,
    /// Sizes of stores as multiples of the memory (cache and memtable) instead, such as 0.33,3,10
    #[arg(long, value_delimiter = ',')]
    times_memory: Vec<f64>,
    /// Threads
    #[arg(long, value_delimiter = ',', default_value = "1")]
    writers: Vec<u64>,
    /// Background threads (merges at once) of terrane, rocksdb, fjall, regolith and tidesdb; with 0, which only
    /// terrane has here, writes run the jobs. Default: each engine's own
    #[arg(long, value_delimiter = ',')]
    workers: Vec<u32>,
    #[arg(long, value_enum, value_delimiter = ',', default_value = "carried")]
    debt: Vec<Debt>,
    /// Operations a second of the open loop
    #[arg(long, value_delimiter = ',', default_value = "10000,50000")]
    rates: Vec<u64>,
    /// Seconds after which a phase ends, unless later phases depend on its rows
    #[arg(long, default_value_t = 60)]
    pub phase_seconds: u64,
    #[arg(long, default_value_t = 64)]
    pub cache_mib: u64,
    #[arg(long, default_value_t = 64)]
    pub memtable_mib: u64,
    /// Memory that a turn may take, page cache included, by a control group of Linux, which takes root; more than
    /// the engine's own
    #[arg(long)]
    pub memory_mib: Option<u64>,
    /// Directory of the stores; by default a temporary one
    #[arg(long)]
    pub dir: Option<PathBuf>,
    /// Writes every figure into this file
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Writes the report as a page with charts into this file
    #[arg(long)]
    pub page: Option<PathBuf>,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Turn of a process of the comparison
    #[arg(long, hide = true)]
    pub turn: Option<String>,
}

fn engine_name(name: &str) -> Result<String, String> {
    let names: Vec<&str> = ENGINES.iter().map(|(name, _, _)| *name).collect();
    match names.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("this build has {}", names.join(", "))),
    }
}

fn keys(name: &str) -> Result<Keys, String> {
    match name {
        "uniform" => Ok(Keys::Uniform),
        "text" => Ok(Keys::Text),
        other => Err(format!("expected uniform or text, found {other}")),
    }
}

impl Args {
    /// The engines that are asked for, or all.
    pub fn engines(&self) -> Vec<&'static str> {
        let wanted = |name: &str| {
            name == "terrane" || self.engines.is_empty() || self.engines.iter().any(|e| e == name)
        };
        ENGINES.iter().map(|(name, _, _)| *name).filter(|name| wanted(name)).collect()
    }

    /// Every combination.
    pub fn cases(&self) -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        let mut workers: Vec<_> = self.workers.iter().copied().map(Some).collect();
        if workers.is_empty() {
            workers.push(None);
        }
        for size in &self.sizes {
            let data = self.data(size)?;
            for (suite, data) in self.suites.iter().flat_map(|s| data.iter().map(|d| (*s, d))) {
                let rates = match suite {
                    Suite::OpenLoop => self.rates.iter().copied().map(Some).collect(),
                    _ => vec![None],
                };
                for debt in &self.debt {
                    for threads in &self.writers {
                        ensure!((1..=200).contains(threads), "1 to 200 writers");
                        for workers in &workers {
                            let (threads, debt, workers) = (*threads, *debt, *workers);
                            let data = || data.clone();
                            let case =
                                |rate| Case { suite, data: data(), threads, debt, rate, workers };
                            cases.extend(rates.iter().copied().map(case));
                        }
                    }
                }
            }
        }
        Ok(cases)
    }

    fn data(&self, size: &str) -> Result<Vec<Rows>> {
        let expected = || format!("expected sizes such as 16+100, found {size}");
        let (key, value) = size.split_once('+').with_context(expected)?;
        let (key_bytes, value_bytes) =
            (key.parse().with_context(expected)?, value.parse().with_context(expected)?);
        ensure!((12..=500).contains(&key_bytes), "keys have 12 to 500 bytes");
        ensure!(value_bytes >= 16, "values have 16 bytes or more");
        let keys = || self.keys.clone();
        let data =
            |entries: u64| Rows { entries: entries.max(1), keys: keys(), key_bytes, value_bytes };
        if self.times_memory.is_empty() {
            return Ok(vec![data(self.entries)]);
        }
        let memory = ((self.cache_mib + self.memtable_mib) << 20) as f64;
        let rows = |times: &f64| times * memory / data(1).row_bytes() as f64;
        Ok(self.times_memory.iter().map(|times| data(rows(times) as u64)).collect())
    }
}
