//! Simulations against models that share no code with them.

mod advice;
mod baselines;
mod clients;
mod events;
mod explain;
mod filters;
mod flash;
mod fluid;
mod level0;
mod limits;
mod machine;
mod models;
mod page_cache;
mod pending;
mod reads;
mod reasons;
mod seeks;
mod tuning;
mod workloads;

use crate::*;
use terrane_policy::{PolicyOptions, presets};

/// Entries of 100 bytes, 64 of them a buffer, on a machine that does everything at once.
fn small(policy: PolicyOptions, workload: Workload) -> Config {
    let device = Device {
        read_speed: 1e15,
        write_speed: 1e15,
        request_micros: 0.0,
        merge_nanos_per_byte: 0.0,
        ..Device::default()
    };
    Config {
        policy,
        buffer_bytes: 64 * 100,
        key_bytes: 10,
        value_bytes: 90,
        block_bytes: 400,
        cache_bytes: 0,
        log: false,
        device,
        workload,
        window: 100,
        ..Config::default()
    }
}

/// A policy from JSON.
fn policy(json: &str) -> PolicyOptions {
    serde_json::from_str(json).unwrap()
}

/// Every preset at the scale of [`small`].
fn all_small() -> Vec<PolicyOptions> {
    let presets = presets().into_iter().filter_map(|preset| PolicyOptions::preset(preset.name));
    presets.map(|options| options.sized(6000, 3000)).collect()
}

/// Runs to the end and keeps the store.
fn run(config: Config) -> Simulation {
    let mut simulation = Simulation::new(config).unwrap();
    while simulation.advance(37).unwrap() {}
    simulation
}

fn updates(load: u64, operations: u64, choice: Choice) -> Workload {
    let mix = Mix { update: 0.7, delete: 0.2, insert: 0.1, ..Mix::default() };
    Workload::then(load, operations, Clients { mix, choice, ..Clients::default() })
}

/// The figures of the phase of this name.
fn phase(report: &Report, name: &str) -> Figures {
    report.phases.iter().find(|phase| phase.name == name).unwrap().figures.clone()
}
