//! `sweep`: simulates a configuration over a grid of parameters, several simulations at once.
//!
//! 1. `grid` makes a configuration for each point: every combination of the values that are varied.
//! 2. All are checked before the first is simulated, so that a mistyped value costs nothing.
//! 3. Threads take points in their order, each the next that none has taken.
//! 4. `rows` writes the results in the order of the grid: a table, CSV or JSON.

mod grid;
mod rows;

use crate::commands::simulate::chosen;
use crate::exit::{Exit, Failure};
use crate::interrupt::{self, PATIENCE};
use crate::message;
use crate::meter::Meter;
use crate::output::Output;
use clap::{ArgGroup, Args};
use grid::{Point, Varied, points, varied};
use rows::Rows;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use terrane_sim::{Config, Report, Simulation, SimulationError};

pub const EXAMPLES: &str = "\
A NAME is a field of the configuration of `simulate --config`, with dots between a field and its own
fields: workers, device.write-speed, workload.phases.0.operations. A parameter of the policy needs no
`policy.` before it. `policy`, `workload` and `device` also take the names that `simulate` knows, and
`entries`, `operations`, `clients` and `rate` are its options. One VALUE sets a field without varying it.

A simulation holds all its keys in memory, and each thread has one.

Examples:
  terrane sweep --vary policy=leveled,tiered --vary size-ratio=4,8 --vary entries=200000
  terrane sweep --config c.json --vary cache-bytes=0,8388608 --measure read_ios_per_get --csv
  terrane sweep --vary workload=ycsb-a --vary levels-below=1,2,3 --vary policy=spooky \\
    --measure write_amp,latencies.read.p99 --phase operations";

/// Simulate a configuration over a grid of parameters, several simulations at once
#[derive(Args)]
#[command(group = ArgGroup::new("format").args(["csv", "json"]))]
pub struct SweepArgs {
    /// Vary a field over these values; several are varied in all combinations
    #[arg(long, value_name = "NAME=VALUE,...", required = true, value_parser = varied)]
    pub vary: Vec<Varied>,
    /// Read the configuration from a JSON file, or several, as `simulate` does
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Take only those of several configurations whose name contains this
    #[arg(long, value_name = "TEXT", requires = "config")]
    pub case: Option<String>,
    /// Show these figures of `simulate --json` [default: write_amp and others]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub measure: Vec<String>,
    /// Show the figures of this phase, such as load or operations [default: of all phases]
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Run this many simulations at once [default: one for each processor]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// Print comma-separated values, with a line of names first
    #[arg(long)]
    pub csv: bool,
    /// Print a JSON list of parameters and whole reports
    #[arg(long)]
    pub json: bool,
}

/// Operations between two updates of the progress.
const SLICE: u64 = 20_000;

/// The result of a point: a store may overfill its flash device, or never be idle.
type Outcome = Result<Report, SimulationError>;

/// Simulates every point of the grid and prints their figures.
pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    interrupt::listen()?;
    let cases = chosen(args.config.as_deref(), args.case.as_deref())?;
    let points = points(&cases, &args.vary, args.config.is_none())?;
    let rows = Rows::new(args, &points)?;
    let outcomes = simulate_all(&points, threads(args, points.len()))?;
    for (point, outcome) in points.iter().zip(&outcomes) {
        if let Err(why) = outcome {
            message::note(&format!("{}: {why}", point.name()));
        }
    }
    let mut out = Output::new();
    rows.write(&points, &outcomes, &mut out)?;
    out.finish()?;
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    if failed == points.len() {
        return Err(Failure::new(Exit::Input, "expected a simulation that ends, found none"));
    }
    Ok(())
}

/// Number of simulations at once.
fn threads(args: &SweepArgs, points: usize) -> usize {
    let given = args.threads.and_then(|threads| usize::try_from(threads).ok());
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    given.unwrap_or_else(cores).clamp(1, points.max(1))
}

/// Counters that the threads share.
#[derive(Default)]
struct Shared {
    /// The next point that no thread has taken.
    next: AtomicUsize,
    /// Operations of all simulations so far.
    operations: AtomicU64,
}

fn simulate_all(points: &[Point], threads: usize) -> Result<Vec<Outcome>, Failure> {
    let length = |config: &Config| config.workload.operations();
    let length: u64 = points.iter().fold(0, |sum, p| sum.saturating_add(length(&p.config)));
    let mut meter = Meter::new(Some(length));
    let shared = Shared::default();
    let (sender, results) = channel();
    let mut outcomes: Vec<_> = points.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, shared) = (sender.clone(), &shared);
            scope.spawn(move || work(points, shared, &sender));
        }
        drop(sender);
        let mut finished = 0;
        loop {
            match results.recv_timeout(PATIENCE) {
                Ok((at, outcome)) => {
                    finished += 1;
                    if let Some(place) = outcomes.get_mut(at) {
                        *place = Some(outcome);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return interrupt::check(),
            }
            interrupt::check()?;
            meter.show(shared.operations.load(Ordering::Relaxed), || {
                format!("{finished} of {} simulations, {threads} at once", points.len())
            });
        }
    })?;
    let missing = || Failure::new(Exit::Defect, "a simulation ended without a result");
    outcomes.into_iter().map(|outcome| outcome.ok_or_else(missing)).collect()
}

/// Simulates points that no other thread has taken, until none is left or a signal ends the command.
fn work(points: &[Point], shared: &Shared, results: &Sender<(usize, Outcome)>) {
    loop {
        let at = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(point) = points.get(at) else { return };
        let Some(outcome) = simulate(&point.config, shared) else { return };
        if results.send((at, outcome)).is_err() {
            return;
        }
    }
}

/// Simulates a configuration; returns `None` after a signal.
fn simulate(config: &Config, shared: &Shared) -> Option<Outcome> {
    let mut counted = 0;
    let mut count = |until: u64| {
        shared.operations.fetch_add(until.saturating_sub(counted), Ordering::Relaxed);
        counted = until;
    };
    let outcome = Simulation::new(config.clone()).map(|mut simulation| {
        loop {
            match simulation.advance(SLICE) {
                Ok(true) => count(simulation.progress().0),
                Ok(false) => return Some(Ok(simulation.report())),
                Err(why) => return Some(Err(why)),
            }
            interrupt::check().ok()?;
        }
    });
    count(config.workload.operations());
    outcome.unwrap_or_else(|why| Some(Err(why)))
}
