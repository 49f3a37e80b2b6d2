//! The turns: in each round, every engine has one at each case, in random order.

use crate::args::Args;
use crate::case::Case;
use crate::memory_limit::{MemoryLimit, ROOT};
use crate::turn::{Opened, Stage, Turn, Worked};
use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use terrane_workload::{Permutation, mix};

/// Result of a turn, or its failure.
#[derive(Serialize)]
pub struct Outcome {
    pub case: Case,
    pub engine: &'static str,
    pub round: u64,
    pub found: Option<Found>,
    pub error: Option<String>,
}

#[derive(Serialize)]
pub struct Found {
    pub worked: Worked,
    pub opened: Option<Opened>,
    pub recovered: Option<Opened>,
}

/// Runs all turns; stores are made in `dir`, and removed after each turn.
pub fn run(args: &Args, dir: &Path) -> Result<Vec<Outcome>> {
    let (cases, engines) = (args.cases()?, args.engines());
    let limit = args.memory_mib.map(|mib| MemoryLimit::new(Path::new(ROOT), mib << 20));
    let limit = limit.transpose()?;
    let mut outcomes = Vec::new();
    for round in 0..args.rounds {
        for (index, case) in (0..).zip(&cases) {
            let seed = mix(args.seed ^ mix(round << 32 | index));
            let order = Permutation::new(engines.len() as u64, seed);
            for place in 0..engines.len() as u64 {
                let Some(engine) = engines.get(order.at(place) as usize) else { continue };
                let turn = Turn {
                    stage: Stage::Work,
                    case: case.clone(),
                    engine: (*engine).to_owned(),
                    path: dir.join("store"),
                    seed,
                    phase_seconds: args.phase_seconds,
                    cache_bytes: args.cache_mib << 20,
                    memtable_bytes: args.memtable_mib << 20,
                    group: limit.as_ref().map(|limit| limit.group().to_owned()),
                };
                eprint!("round {} of {}, {case}: {engine}", round + 1, args.rounds);
                let begun = Instant::now();
                let result = stages(&turn);
                eprintln!(", {:.0} s", begun.elapsed().as_secs_f64());
                if turn.path.exists() {
                    fs::remove_dir_all(&turn.path).context("remove a store")?;
                }
                let (found, error) = match result {
                    Ok(found) => (Some(found), None),
                    Err(error) => (None, Some(format!("{error:#}"))),
                };
                if let Some(error) = &error {
                    eprintln!("  failed: {error}");
                }
                outcomes.push(Outcome { case: case.clone(), engine, round, found, error });
            }
        }
    }
    Ok(outcomes)
}

/// All stages of a turn.
fn stages(turn: &Turn) -> Result<Found> {
    let worked = ask(turn, Stage::Work)?;
    let (mut opened, mut recovered) = (None, None);
    if turn.case.suite.reopens() {
        opened = Some(ask(turn, Stage::Open)?);
        let crashed = process(turn, Stage::Crash)?.status()?;
        ensure!(crashed.code().is_none(), "the process to be killed ended with {crashed}");
        recovered = Some(ask(turn, Stage::Recover)?);
    }
    Ok(Found { worked, opened, recovered })
}

/// Runs a stage in a process, and returns what it found.
fn ask<T: DeserializeOwned>(turn: &Turn, stage: Stage) -> Result<T> {
    let output = process(turn, stage)?.stdout(Stdio::piped()).spawn()?.wait_with_output()?;
    if !output.status.success() {
        bail!("{stage:?} ended with {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the result of a turn")
}

fn process(turn: &Turn, stage: Stage) -> Result<Command> {
    let turn = Turn { stage, ..turn.clone() };
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--turn").arg(serde_json::to_string(&turn)?);
    Ok(command)
}
