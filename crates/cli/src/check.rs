//! `check`: reads everything and names every damage.

use crate::args::ReportArgs;
use crate::exit::Failure;
use crate::output::{Output, counted};
use crate::store;
use terrane::storage::Orphan;
use terrane::{CheckReport, Db};

/// Prints what was read and what is damaged; damage is a failure.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let dir = &args.dir;
    store::present(dir)?;
    let report = if dir.is_file() { Db::inspect_file(dir)? } else { Db::inspect(dir)? };
    let printed = print(&report, args.json);
    if report.damage.is_empty() {
        return printed;
    }
    // The exit code tells of damage even where nobody reads the output.
    let (store, places) = (dir.display(), counted(report.damage.len() as u64, "place", "places"));
    Err(Failure::damage(&format!("{store} is damaged in {places}")))
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
        out.line(&format!("{found}; nothing is lost by it, and opening the store repairs it"))?;
    }
    if report.discarded_bytes > 0 {
        let bytes = counted(report.discarded_bytes, "byte", "bytes");
        out.line(&format!("left out {bytes} of writes that a crash cut short, as opening does"))?;
    }
    if report.set_aside_bytes > 0 {
        let bytes = counted(report.set_aside_bytes, "byte", "bytes");
        out.line(&format!("{bytes} of such writes are set aside; `terrane set-aside` lists them"))?;
    }
    for Orphan { file, kept } in &report.orphans {
        let fate = if *kept { "keeps it, as a lost one may have" } else { "removes it" };
        out.line(&format!("{file}: no commit names this file; opening the store {fate}"))?;
    }
    let tables = counted(report.tables as u64, "table", "tables");
    let entries = counted(report.entries, "entry", "entries");
    let records = counted(report.log_records, "log record", "log records");
    out.line(&format!("read {tables} with {entries}, and {records}"))?;
    out.finish()
}
