//! `check`: verifies everything in a store and reports each damage.

use crate::args::InStore;
use crate::exit::Failure;
use crate::interrupt;
use crate::message::counted;
use crate::output::Output;
use crate::store;
use clap::Args;
use std::path::Path;
use terrane::storage::Orphan;
use terrane::{CheckReport, Db};

/// Bytes of tables between two looks for a signal.
const STEP_BYTES: u64 = 1 << 20;

/// Verify every byte of a store and report all damage
///
/// The store is not opened, so that damage which prevents opening is found. Nothing is changed
/// or repaired.
#[derive(Args)]
pub struct CheckArgs {
    /// Print the report as a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Checks a store that is not open; damage is a failure.
pub fn run(InStore { dir, args }: &InStore<CheckArgs>) -> Result<(), Failure> {
    store::present(dir)?;
    let report = if dir.is_file() { Db::inspect_file(dir)? } else { Db::inspect(dir)? };
    conclude(dir, &report, args)
}

/// Checks an open store; damage is a failure.
pub fn check(place: &Path, db: &Db, args: &CheckArgs) -> Result<(), Failure> {
    let mut check = db.begin_check()?;
    loop {
        interrupt::check()?;
        if let Some(report) = check.step(STEP_BYTES)? {
            return conclude(place, &report, args);
        }
    }
}

fn conclude(place: &Path, report: &CheckReport, args: &CheckArgs) -> Result<(), Failure> {
    let printed = print(report, args.json);
    if report.damage.is_empty() {
        return printed;
    }
    // Damage sets the exit code even where nobody reads the output.
    let (place, places) = (place.display(), counted(report.damage.len() as u64, "place", "places"));
    Err(Failure::damage(&format!("{place} is damaged in {places}")))
}

fn print(report: &CheckReport, json: bool) -> Result<(), Failure> {
    let mut out = Output::new();
    if json {
        out.json(report)?;
        return out.finish();
    }
    for damage in &report.damage {
        out.line(&damage.to_string())?;
    }
    for found in &report.repairable {
        out.line(&format!("{found}; nothing is lost, and opening the store repairs it"))?;
    }
    if report.discarded_bytes > 0 {
        let bytes = counted(report.discarded_bytes, "byte", "bytes");
        out.line(&format!(
            "left out {bytes} of writes that a crash cut short, as opening the store does"
        ))?;
    }
    if report.quarantine_bytes > 0 {
        let bytes = counted(report.quarantine_bytes, "byte", "bytes");
        out.line(&format!(
            "{bytes} of such writes are quarantined; `terrane quarantine` lists them"
        ))?;
    }
    for Orphan { file, kept } in &report.orphans {
        let fate = match (kept, report.damage.is_empty()) {
            (true, _) => "keeps it, since a lost commit may have named it",
            (false, true) => "removes it",
            (false, false) => "removes it, unless the damage keeps it from being opened",
        };
        out.line(&format!("{file}: no commit names this file; opening the store {fate}"))?;
    }
    let tables = counted(report.tables as u64, "table", "tables");
    let entries = counted(report.entries, "entry", "entries");
    let records = counted(report.wal_records, "WAL record", "WAL records");
    let verdict = if report.damage.is_empty() { "; no damage" } else { "" };
    out.line(&format!("read {tables} with {entries}, and {records}{verdict}"))?;
    out.finish()
}
