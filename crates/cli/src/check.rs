//! `check`: reads everything and names every damage.

use crate::args::ReportArgs;
use crate::exit::Failure;
use crate::output::Output;
use crate::store;
use terrane::{CheckReport, Db};

/// Prints what was read and what is damaged; damage is a failure.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let dir = &args.dir;
    store::present(dir)?;
    let report = if dir.is_file() { Db::inspect_file(dir)? } else { Db::inspect(dir)? };
    let printed = print(&report, args.json);
    let place = args.dir.display();
    // Damage is told by the exit code even where nobody reads the output.
    match report.damage.len() {
        0 => printed,
        1 => Err(Failure::damage(&format!("{place} is damaged in 1 place"))),
        n => Err(Failure::damage(&format!("{place} is damaged in {n} places"))),
    }
}

fn print(report: &CheckReport, json: bool) -> Result<(), Failure> {
    let mut out = Output::new();
    if json {
        out.line(&serde_json::to_string_pretty(report).unwrap_or_default())?;
        return out.finish();
    }
    for damage in &report.damage {
        out.line(&damage.to_string())?;
    }
    for copy in &report.repairable {
        out.line(&format!(
            "{copy}; another copy is sound, and opening the store repairs this one"
        ))?;
    }
    if report.discarded_bytes > 0 {
        out.line(&format!(
            "{} bytes hold writes that were cut short and are not known to be synced: opening discards them",
            report.discarded_bytes
        ))?;
    }
    out.line(&format!(
        "read {} tables with {} entries, and {} log records",
        report.tables, report.entries, report.log_records
    ))?;
    out.finish()
}
