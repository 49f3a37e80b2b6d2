//! The arguments of `simulate`.

use crate::args::{POLICY, json, policy_at};
use clap::Args;
use std::path::PathBuf;
use terrane_policy::PolicyOptions;
use terrane_sim::{Device, FlashOptions, Workload};

pub const EXAMPLES: &str = "\
The policies are the real ones; keys are exact, values are sizes, and time is virtual. The default
setting is that of the Spooky paper with a million entries. The file of --config can also set what
other stores do: \"guards\", \"pause-deeper-merges\", \"value-pointer-bytes\", \"lazy-scans\", \"seeks\".

Examples:
  terrane simulate --policy leveled --workload uniform --entries 4000000
  terrane simulate --policy '{\"policy\":\"leveled\",\"size-ratio\":4}' --json
  terrane simulate --workload zipf --flash '{\"capacity-bytes\":4000000000}' --trace t.jsonl";

/// Simulate a compaction policy at any scale: amplification, stalls, flash wear
#[derive(Args)]
pub struct SimulateArgs {
    /// Simulate this compaction policy: a preset, whose sizes scale with the buffer, or JSON
    #[arg(long, value_name = POLICY, value_parser = chosen_policy)]
    pub policy: Option<ChosenPolicy>,
    /// Run this workload [default: unique-random]: unique-random, sequential, uniform, zipf, moving-zipf,
    /// fillrandom, mixgraph1, mixgraph2, ycsb-get, ycsb-scan, deletes, updates-10, -50 and -90,
    /// updates-75-scans, each also with -zipf, ycsb-a to ycsb-f, or JSON
    #[arg(long, value_name = "NAME|JSON", value_parser = chosen_workload)]
    pub workload: Option<ChosenWorkload>,
    /// Insert this many keys first [default: 1000000]
    #[arg(long)]
    pub entries: Option<u64>,
    /// Run this many operations in each phase after that [default: as many as entries]
    #[arg(long)]
    pub operations: Option<u64>,
    /// Use this machine: spooky, vertiorizon, coordinated, ptierdb, bucketlsm or JSON
    #[arg(long, value_name = "NAME|JSON", value_parser = device)]
    pub device: Option<Device>,
    /// Simulate the garbage collection of a flash device: `default` (960 GB) or JSON
    #[arg(long, value_name = "default|JSON", value_parser = flash)]
    pub flash: Option<FlashOptions>,
    /// Read the configuration from a JSON file, or several; other options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Simulate only those of several configurations whose name contains this
    #[arg(long, value_name = "TEXT", requires = "config")]
    pub case: Option<String>,
    /// Set the size of a memtable
    #[arg(long, value_name = "BYTES")]
    pub buffer_bytes: Option<u64>,
    /// Set the size of a key
    #[arg(long, value_name = "BYTES")]
    pub key_bytes: Option<u64>,
    /// Set the size of a value
    #[arg(long, value_name = "BYTES")]
    pub value_bytes: Option<u64>,
    /// Compress values in tables by this factor [default: 1]
    #[arg(long, value_name = "FACTOR")]
    pub value_compression: Option<f64>,
    /// Start keys with this many prefixes, of two bytes [default: none]
    #[arg(long)]
    pub prefixes: Option<u64>,
    /// Skew prefixes: the k-th has a share in proportion to k^-EXPONENT [default: 0]
    #[arg(long, value_name = "EXPONENT", requires = "prefixes")]
    pub prefix_exponent: Option<f64>,
    /// Set the size of the block cache
    #[arg(long, value_name = "BYTES")]
    pub cache_bytes: Option<u64>,
    /// Merge with this many threads
    #[arg(long)]
    pub workers: Option<usize>,
    /// Share a merge among at most this many threads
    #[arg(long)]
    pub subcompactions: Option<usize>,
    /// Share this many processor cores among all threads [default: one for each]
    #[arg(long)]
    pub cores: Option<usize>,
    /// Run this many clients after the load
    #[arg(long)]
    pub clients: Option<usize>,
    /// Start this many operations per second; 0: clients go as fast as they can
    #[arg(long)]
    pub rate: Option<f64>,
    /// Wait after the load until compactions have nothing left to do
    #[arg(long)]
    pub wait_until_idle: bool,
    /// Report the slowest window of this many operations [default: 100000]
    #[arg(long)]
    pub window: Option<u64>,
    /// Draw all random numbers from this seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Simulate without a write-ahead log
    #[arg(long)]
    pub no_wal: bool,
    /// Include every time window in the JSON report
    #[arg(long)]
    pub timeline: bool,
    /// Write the engine's events to a file, a JSON object a line, with virtual `micros`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// JSON that each option accepts.
const WORKLOAD: &str = r#"{"load":1000000,"phases":[{"operations":1000000,"clients":[{"mix":{"read":0.5,"update":0.5}}]}]}"#;
const DEVICE: &str = r#"{"read-speed":3000000000,"write-speed":1500000000}"#;
const FLASH: &str = r#"{"capacity-bytes":4000000000}"#;
pub const CONFIG: &str = r#"{"policy":{"policy":"tiered"},"workload":{"load":1000000}}"#;

/// A policy, and whether it is a preset.
#[derive(Clone, Debug)]
pub struct ChosenPolicy {
    pub options: PolicyOptions,
    pub preset: bool,
}

/// Sizes follow the simulated buffers, or are those of the preset.
pub fn chosen_policy(text: &str) -> Result<ChosenPolicy, String> {
    const ELSEWHERE: &str = "files are for --config, as are the designs of other stores: a file with \
                             {\"guards\":{}} or {\"pause-deeper-merges\":true}";
    let preset = PolicyOptions::preset(text).is_some();
    let options = policy_at(text, |preset| preset).map_err(|why| match text.trim_start() {
        json if json.starts_with('{') => why,
        _ => format!("{why}; {ELSEWHERE}"),
    })?;
    Ok(ChosenPolicy { options, preset })
}

/// A workload; a name leaves its scale open.
#[derive(Clone, Debug)]
pub enum ChosenWorkload {
    Named(String),
    Given(Workload),
}

pub fn chosen_workload(text: &str) -> Result<ChosenWorkload, String> {
    let names = Workload::presets().into_iter().map(|p| p.name);
    match named(text, Workload::preset(text, 1, 1), names, WORKLOAD)? {
        Some(_) => Ok(ChosenWorkload::Named(text.to_owned())),
        None => json(text, WORKLOAD).map(ChosenWorkload::Given),
    }
}

pub fn device(text: &str) -> Result<Device, String> {
    let names = Device::presets().into_iter().map(|p| p.name);
    named(text, Device::preset(text), names, DEVICE)?.map_or_else(|| json(text, DEVICE), Ok)
}

fn flash(text: &str) -> Result<FlashOptions, String> {
    let default = (text == "default").then(FlashOptions::default);
    let names = ["default"].into_iter();
    named(text, default, names, FLASH)?.map_or_else(|| json(text, FLASH), Ok)
}

/// Returns the value of a name; `None` for JSON.
fn named<T>(
    text: &str,
    found: Option<T>,
    names: impl Iterator<Item = &'static str>,
    example: &str,
) -> Result<Option<T>, String> {
    if found.is_some() || text.trim_start().starts_with('{') {
        return Ok(found);
    }
    let names = names.collect::<Vec<_>>().join(", ");
    Err(format!("expected {names} or JSON\nfor example: {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_in_errors_are_accepted() {
        for config in [r#"{"guards":{}}"#, r#"{"pause-deeper-merges":true}"#] {
            assert!(chosen_policy("guards").unwrap_err().contains(config));
            assert!(serde_json::from_str::<terrane_sim::Config>(config).is_ok());
        }
        assert!(matches!(chosen_workload(WORKLOAD), Ok(ChosenWorkload::Given(_))));
        assert!(device(DEVICE).is_ok());
        assert!(flash(FLASH).is_ok());
        assert!(serde_json::from_str::<terrane_sim::Config>(CONFIG).is_ok());
        for error in [device("fast"), device("{}}"), device(r#"{"speed":1}"#)] {
            assert!(error.unwrap_err().ends_with(DEVICE));
        }
    }
}
