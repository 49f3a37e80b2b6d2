//! Simulations.

use super::{POLICY, policy_at};
use crate::exit::TABLE;
use clap::Args;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use terrane_policy::PolicyOptions;
use terrane_sim::{Device, FlashOptions, Workload};

/// Simulate what a policy costs at any scale: writes, space, reads, stalls, and wear of flash
///
/// The policies are the real ones; keys are exact, values are sizes, and time is virtual. By
/// default the setting is that of the Spooky paper, at a load of a million entries.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct SimulateArgs {
    /// The compaction policy: a preset, whose sizes grow with the buffer, or JSON
    #[arg(long, value_name = POLICY, value_parser = chosen_policy)]
    pub policy: Option<ChosenPolicy>,
    /// What the application does: a name, or JSON
    ///
    /// unique-random, sequential, uniform, zipf, moving-zipf, shifting-ranges, deletes, ycsb-a to
    /// ycsb-f
    /// [default: unique-random]
    #[arg(long, value_name = "NAME|JSON", value_parser = chosen_workload)]
    pub workload: Option<ChosenWorkload>,
    /// Keys that are inserted first [default: 1000000]
    #[arg(long)]
    pub entries: Option<u64>,
    /// Operations after that [default: as many as entries, if the workload has any]
    #[arg(long)]
    pub operations: Option<u64>,
    /// The machine: spooky, vertiorizon, coordinated, ptierdb, bucketlsm, or JSON
    #[arg(long, value_name = "NAME|JSON", value_parser = device)]
    pub device: Option<Device>,
    /// Simulate the garbage collection of flash of this geometry: `default` (960 GB), or JSON
    #[arg(long, value_name = "default|JSON", value_parser = flash)]
    pub flash: Option<FlashOptions>,
    /// Everything as JSON; other options go over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Bytes of entries at which a memtable is flushed
    #[arg(long, value_name = "BYTES")]
    pub buffer_bytes: Option<u64>,
    /// Bytes of a key
    #[arg(long, value_name = "BYTES")]
    pub key_bytes: Option<u64>,
    /// Bytes of a value
    #[arg(long, value_name = "BYTES")]
    pub value_bytes: Option<u64>,
    /// Bytes of the block cache
    #[arg(long, value_name = "BYTES")]
    pub cache_bytes: Option<u64>,
    /// Merges at once
    #[arg(long)]
    pub workers: Option<usize>,
    /// Operations per second at most
    #[arg(long)]
    pub rate: Option<f64>,
    /// The seed of everything random
    #[arg(long)]
    pub seed: Option<u64>,
    /// Write no log
    #[arg(long)]
    pub no_log: bool,
    /// List every window in the JSON report
    #[arg(long)]
    pub timeline: bool,
    /// Write the event stream that the engine would write, a JSON object a line, with `seconds`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A policy, and whether it is a preset.
#[derive(Clone, Debug)]
pub struct ChosenPolicy {
    pub options: PolicyOptions,
    pub preset: bool,
}

/// Sizes follow the simulated buffers, or are those of the preset.
fn chosen_policy(text: &str) -> Result<ChosenPolicy, String> {
    let preset = PolicyOptions::preset(text).is_some();
    Ok(ChosenPolicy { options: policy_at(text, |preset| preset)?, preset })
}

/// A workload, whose scale a name leaves open.
#[derive(Clone, Debug)]
pub enum ChosenWorkload {
    Named(String),
    Given(Workload),
}

fn chosen_workload(text: &str) -> Result<ChosenWorkload, String> {
    let names = Workload::presets().into_iter().map(|p| p.name);
    match named(text, Workload::preset(text, 1, 1), names)? {
        Some(_) => Ok(ChosenWorkload::Named(text.to_owned())),
        None => json(text).map(ChosenWorkload::Given),
    }
}

fn device(text: &str) -> Result<Device, String> {
    let names = Device::presets().into_iter().map(|p| p.name);
    named(text, Device::preset(text), names)?.map_or_else(|| json(text), Ok)
}

fn flash(text: &str) -> Result<FlashOptions, String> {
    let default = (text == "default").then(FlashOptions::default);
    named(text, default, ["default"].into_iter())?.map_or_else(|| json(text), Ok)
}

/// What a name stands for; nothing for JSON.
fn named<T>(
    text: &str,
    found: Option<T>,
    names: impl Iterator<Item = &'static str>,
) -> Result<Option<T>, String> {
    if found.is_some() || text.trim_start().starts_with('{') {
        return Ok(found);
    }
    Err(format!("expected {}, or JSON", names.collect::<Vec<_>>().join(", ")))
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}
