//! `advise`: simulates the workload of a store, a trace or another engine's history under every policy, and says which
//! one to choose, and why.
//!
//! * `recorded` - the policy, the sizes and the workload of a trace or a store.
//! * `candidates` - the policies that are compared, and their simulations.
//! * `reasons` - the advice in words.

mod candidates;
mod reasons;
mod recorded;

use crate::args::{At, json};
use crate::background::Background;
use crate::commands::simulate::device;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{foreign, interrupt, store};
use candidates::{candidates, simulate};
use clap::{Args, value_parser};
use recorded::Recorded;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use terrane::keyspace::DEFAULT_KEYSPACE;
use terrane_policy::PolicyOptions;
use terrane_sim::advice::{self, Costs};
use terrane_sim::{Config, Device, Mix};

pub const EXAMPLES: &str = "\
PLACE is a store, or a trace that `terrane simulate --trace` or the visualizer wrote, or the MANIFEST of a store of
RocksDB, Pebble or LevelDB. Neither a store nor a MANIFEST records reads, so --mix names them; --rate is of a store
unknown as well. Nothing is changed without --apply, which needs a store.

Examples:
  terrane advise db --mix '{\"update\":0.2,\"read\":0.7,\"scan\":0.1}' --rate 20000
  terrane advise trace.ndjson --space 1.5
  terrane advise rocksdb/MANIFEST-000005 --mix '{\"update\":0.5,\"read\":0.5}'
  terrane advise db --mix '{\"update\":1}' --apply";

/// JSON that --mix accepts.
const MIX: &str = r#"{"update":0.5,"read":0.4,"scan":0.1}"#;

/// Advise a compaction policy for a store or a recorded trace, by simulating all of them
#[derive(Args)]
pub struct AdviseArgs {
    /// Advise on this store, or on the trace or the MANIFEST in this file
    pub place: PathBuf,
    /// Use this keyspace of the store or column family of the MANIFEST, rather than the default one
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
    /// Assume these shares of operations, as in a workload of `simulate`; of a store half updates, half gets otherwise
    #[arg(long, value_name = "JSON", value_parser = mix)]
    pub mix: Option<Mix>,
    /// Assume this many operations per second; 0 runs them as fast as they can
    #[arg(long)]
    pub rate: Option<f64>,
    /// Assume this machine, as `simulate` does
    #[arg(long, value_name = "NAME|JSON", value_parser = device)]
    pub device: Option<Device>,
    /// Pick a policy whose tables take at most this multiple of the live data
    #[arg(long, value_name = "FACTOR", default_value_t = 2.5)]
    pub space: f64,
    /// Simulate this many operations in each phase of the workload, under each policy
    #[arg(long, default_value_t = 200_000, value_parser = value_parser!(u64).range(1..=100_000_000))]
    pub operations: u64,
    /// Give the keyspace the policy that is picked
    #[arg(long)]
    pub apply: bool,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

fn mix(text: &str) -> Result<Mix, String> {
    json(text, MIX)
}

/// A policy and its costs.
#[derive(Serialize)]
pub struct Compared {
    pub policy: PolicyOptions,
    pub costs: Costs,
    /// Whether no other beats it.
    pub on_front: bool,
    pub present: bool,
}

/// The advice.
#[derive(Serialize)]
pub struct Advice {
    pub recorded: Config,
    pub assumed: Vec<&'static str>,
    /// Policies in the order of their time of the device.
    pub policies: Vec<Compared>,
    /// Policies under which writes would wait for ever.
    pub stuck: Vec<PolicyOptions>,
    pub pick: PolicyOptions,
    pub reasons: Vec<String>,
    pub applied: bool,
}

/// Reads what was recorded, simulates, and prints the advice.
pub fn run(args: &AdviseArgs) -> Result<(), Failure> {
    interrupt::listen()?;
    let place = &args.place;
    let keyspace = args.keyspace.clone().unwrap_or_else(|| DEFAULT_KEYSPACE.to_owned());
    let at = At { dir: place.clone(), keyspace };
    store::present(place)?;
    let kind = kind(place)?;
    let of_stores = match kind {
        Kind::Store => None,
        Kind::Trace if args.keyspace.is_some() => Some(("--keyspace", "trace")),
        Kind::Trace => args.apply.then_some(("--apply", "trace")),
        Kind::Manifest => args.apply.then_some(("--apply", "MANIFEST")),
    };
    if let Some((option, found)) = of_stores {
        let sentence =
            format!("expected a store for {option}, found the {found} {}", place.display());
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let mut recorded = None;
    match kind {
        Kind::Trace => recorded = Some(recorded::trace(place)?),
        Kind::Manifest => recorded = Some(recorded::manifest(place, args.keyspace.as_deref())?),
        Kind::Store => store::read(&at, |opened| {
            recorded = Some(recorded::store(opened)?);
            Ok(())
        })?,
    }
    let Some(recorded) = recorded else { return Ok(()) };
    let mut advice = advise(recorded.with(args), args.space)?;
    if args.apply {
        store::change(&at, &Background::default(), |opened| {
            store::choose(&opened.keyspace, &advice.pick)
        })?;
        advice.applied = true;
    }
    let mut out = Output::new();
    match args.json {
        true => out.json(&advice)?,
        false => out.lines(&reasons::table(&advice))?,
    }
    out.finish()
}

/// Content of a path.
enum Kind {
    Store,
    Trace,
    Manifest,
}

/// Recognizes a trace by the JSON object that it starts with, which no store does, and a MANIFEST by its first record.
fn kind(place: &Path) -> Result<Kind, Failure> {
    if !place.is_file() {
        return Ok(Kind::Store);
    }
    let mut start = [0];
    let unread = |e| Failure::io(&format!("read {}", place.display()), &e);
    let read = File::open(place).and_then(|mut file| file.read(&mut start)).map_err(unread)?;
    Ok(match read == 1 && start == *b"{" {
        true => Kind::Trace,
        false if foreign::is_manifest(place)? => Kind::Manifest,
        false => Kind::Store,
    })
}

fn advise(Recorded { config, assumed }: Recorded, space_max: f64) -> Result<Advice, Failure> {
    let policies = candidates(&config.policy);
    let costs = simulate(&config, &policies)?;
    let (mut simulated, mut stuck) = (Vec::new(), Vec::new());
    for (policy, costs) in policies.into_iter().zip(costs) {
        match costs {
            Some(costs) => simulated.push((policy, costs)),
            None => stuck.push(policy),
        }
    }
    if simulated.is_empty() {
        let sentence =
            "expected operations that some policy can run: writes would wait for ever under each";
        return Err(Failure::new(Exit::Input, sentence.to_owned()));
    }
    let all: Vec<Costs> = simulated.iter().map(|(_, costs)| *costs).collect();
    let Some(pick) = advice::pick(&all, space_max) else {
        let least = all.iter().map(|costs| costs.space).fold(f64::INFINITY, f64::min);
        // Rounded up, so that what is shown is accepted.
        let shown = (least * 100.0).next_up().ceil() / 100.0;
        let sentence =
            format!("expected --space of at least {shown:.2}, which the most compact policy takes");
        return Err(Failure::new(Exit::Usage, sentence));
    };
    let compared = |((policy, costs), on_front)| {
        let present = policy == config.policy;
        Compared { policy, costs, on_front, present }
    };
    let mut policies: Vec<Compared> =
        simulated.into_iter().zip(advice::front(&all)).map(compared).collect();
    let reasons = reasons::reasons(&config.policy, &policies, &pick, space_max);
    let picked =
        policies.get(pick.picked).map_or_else(|| config.policy.clone(), |p| p.policy.clone());
    policies.sort_by(|a, b| a.costs.device_micros().total_cmp(&b.costs.device_micros()));
    Ok(Advice { recorded: config, assumed, policies, stuck, pick: picked, reasons, applied: false })
}
