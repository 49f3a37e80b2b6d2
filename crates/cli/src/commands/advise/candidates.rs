//! The policies that are compared, and their simulations.
//!
//! 1. Candidates are the present policy, every preset with the sizes of the present one, and its variants by size
//!    ratio.
//! 2. A large store is simulated with everything scaled down by one factor: keys, buffers, tables, cache, and the
//!    speeds of device and clients. Levels, overlaps and times stay what they are.

use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::meter::Meter;
use serde_json::Value as Json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use terrane_policy::{Parameter, PolicyOptions, Value, presets};
use terrane_sim::advice::Costs;
use terrane_sim::{Config, Device, Simulation};

/// Keys of the largest simulated store, and the least entries of a scaled buffer.
const KEYS_MAX: u64 = 200_000;
const BUFFER_KEYS_MIN: u64 = 200;
/// Least bytes of a table and of a level, as policies allow them.
const SIZE_MIN: u64 = 1024;
/// Size ratios of variants.
const RATIOS: [u64; 2] = [4, 8];
/// Operations between two looks at signals.
const SLICE: u64 = 20_000;

/// The parameters that are varied and scaled, as policies name them.
pub const SIZE_RATIO: &str = "size-ratio";
const LEVEL_BASE_BYTES: &str = "level-base-bytes";

/// Returns the value of a policy's parameter, if it is a number.
pub fn number(policy: &PolicyOptions, wanted: &str) -> Option<u64> {
    policy.parameters().into_iter().find_map(|Parameter { name, value, .. }| match value {
        Value::Number { value, .. } if name == wanted => Some(value),
        _ => None,
    })
}

/// Returns the policies to compare, the present one first.
pub fn candidates(present: &PolicyOptions) -> Vec<PolicyOptions> {
    let sized = |preset: PolicyOptions| match number(present, LEVEL_BASE_BYTES) {
        Some(base) => preset.sized(base, present.target_file_bytes()),
        None => preset.native(),
    };
    let mut all = vec![present.clone()];
    for preset in presets().iter().filter_map(|preset| PolicyOptions::preset(preset.name)) {
        let preset = sized(preset);
        let variants = RATIOS.iter().filter_map(|ratio| with_ratio(&preset, *ratio));
        for candidate in [preset.clone()].into_iter().chain(variants) {
            if !all.contains(&candidate) {
                all.push(candidate);
            }
        }
    }
    all
}

/// Returns the policy with another size ratio, if it has that parameter.
fn with_ratio(policy: &PolicyOptions, ratio: u64) -> Option<PolicyOptions> {
    number(policy, SIZE_RATIO)?;
    let mut json = serde_json::to_value(policy).ok()?;
    json.as_object_mut()?.insert(SIZE_RATIO.to_owned(), Json::from(ratio));
    serde_json::from_value(json).ok()
}

/// Simulates each policy, and returns its costs; `None` for a policy that cannot run this workload.
pub fn simulate(
    config: &Config,
    policies: &[PolicyOptions],
) -> Result<Vec<Option<Costs>>, Failure> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(policies.len());
    let (done, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (next, done) = (&next, done.clone());
            scope.spawn(move || {
                while let Some(policy) = policies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let costs = costs(config, policy);
                    if done.send((policy, costs)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        collect(policies, &results)
    })
}

/// Returns the costs of each policy, in the order of `policies`, as they arrive.
fn collect(
    policies: &[PolicyOptions],
    results: &mpsc::Receiver<(&PolicyOptions, Result<Option<Costs>, Failure>)>,
) -> Result<Vec<Option<Costs>>, Failure> {
    let mut meter = Meter::new(Some(policies.len() as u64));
    let mut found = vec![None; policies.len()];
    for (number, (policy, costs)) in results.iter().enumerate() {
        let done = number + 1;
        meter.show(done as u64, || format!("{done} of {} policies simulated", policies.len()));
        let costs = costs?;
        let at = policies.iter().position(|one| one == policy);
        if let Some(place) = at.and_then(|at| found.get_mut(at)) {
            *place = costs;
        }
    }
    Ok(found)
}

fn costs(config: &Config, policy: &PolicyOptions) -> Result<Option<Costs>, Failure> {
    let config = Config { policy: policy.clone(), ..config.clone() };
    let invalid = |e: terrane_sim::SimulationError| Failure::new(Exit::Input, e.to_string());
    let mut simulation = Simulation::new(scaled(&config)).map_err(invalid)?;
    loop {
        match simulation.advance(SLICE) {
            Ok(true) => interrupt::check()?,
            Ok(false) => return Ok(Some(Costs::of(&config, &simulation.report()))),
            // A policy under which writes wait for ever is no candidate.
            Err(_) => return Ok(None),
        }
    }
}

/// Returns the configuration, scaled down to what can be simulated in a moment.
fn scaled(config: &Config) -> Config {
    let entry = (config.key_bytes + config.value_bytes).max(1);
    let by_keys = config.workload.load.max(config.workload.keys).div_ceil(KEYS_MAX);
    let by = by_keys.min(config.buffer_bytes / entry / BUFFER_KEYS_MIN).max(1);
    let policy = match number(&config.policy, LEVEL_BASE_BYTES) {
        _ if by == 1 => config.policy.clone(),
        base => {
            let base = base.map_or(SIZE_MIN, |base| (base / by).max(SIZE_MIN));
            config
                .policy
                .clone()
                .sized(base, (config.policy.target_file_bytes() / by).max(SIZE_MIN))
        }
    };
    let slower = |speed: f64| speed / by as f64;
    let mut workload = config.workload.clone();
    workload.load = (workload.load / by).min(KEYS_MAX);
    workload.keys = (workload.keys / by).min(KEYS_MAX);
    workload.load_rate = slower(workload.load_rate);
    for clients in workload.phases.iter_mut().flat_map(|phase| &mut phase.clients) {
        clients.rate = slower(clients.rate);
    }
    Config {
        policy,
        workload,
        buffer_bytes: config.buffer_bytes / by,
        cache_bytes: config.cache_bytes / by,
        subcompaction_bytes: (config.subcompaction_bytes / by).max(1),
        soft_pending_compaction_bytes: config.soft_pending_compaction_bytes / by,
        hard_pending_compaction_bytes: config.hard_pending_compaction_bytes / by,
        delayed_write_rate: (config.delayed_write_rate / by).max(1),
        device: Device {
            read_speed: slower(config.device.read_speed).max(1.0),
            write_speed: slower(config.device.write_speed).max(1.0),
            request_bytes: (config.device.request_bytes / by).max(1),
            merge_nanos_per_byte: config.device.merge_nanos_per_byte * by as f64,
            flush_nanos_per_byte: config.device.flush_nanos_per_byte.map(|nanos| nanos * by as f64),
            // A client has fewer operations, and each takes longer by the same factor.
            write_micros: config.device.write_micros * by as f64,
            read_micros: config.device.read_micros * by as f64,
            block_micros: config.device.block_micros * by as f64,
            probe_micros: config.device.probe_micros * by as f64,
            program_micros: config.device.program_micros * by as f64,
            ..config.device.clone()
        },
        flash: None,
        ..config.clone()
    }
}
