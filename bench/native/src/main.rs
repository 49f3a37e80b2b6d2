//! Terrane beside other embedded stores: `cargo xtask bench native`. README.md in the folder above has the
//! method.
//!
//! * `args`, `case` - what is compared.
//! * `workload` - the streams of operations.
//! * `engine`, `engines` - the stores.
//! * `turn`, `run`, `check`, `process` - one engine's turn, in a process of its own.
//! * `rounds` - the turns of all, in random order.
//! * `memory_limit` - a limit of their memory.
//! * `limits` - what the machine can do at most.
//! * `report`, `table`, `page` - medians and spread.

mod args;
mod case;
mod check;
mod engine;
mod engines;
mod limits;
mod memory_limit;
mod page;
mod process;
mod report;
mod rounds;
mod run;
mod table;
mod turn;
mod workload;

use anyhow::{Context, Result, ensure};
use args::Args;
use clap::Parser;
use report::Report;
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(turn) = &args.turn {
        return serde_json::from_str::<turn::Turn>(turn)?.run();
    }
    let mut place = tempfile::Builder::new();
    let place = place.prefix("terrane-compare-");
    let dir = match &args.dir {
        Some(dir) => place.tempdir_in(dir),
        None => place.tempdir(),
    };
    let dir = dir.context("make a directory for the stores")?;
    let limits = limits::measure(dir.path())?;
    let outcomes = rounds::run(&args, dir.path())?;
    let report = Report::new(&args, limits, outcomes);
    if let Some(path) = &args.json {
        write(path, &serde_json::to_string_pretty(&report)?)?;
    }
    if let Some(path) = &args.page {
        write(path, &report.page())?;
    }
    print!("{}", report.text());
    ensure!(report.failures() == 0, "{} turns failed", report.failures());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
