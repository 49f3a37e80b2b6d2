//! `backups`: lists the moments that can be restored, and verifies that their objects are there.

use crate::exit::{Exit, Failure};
use crate::message::counted;
use crate::output::Output;
use clap::Args;
use terrane_backup::{Backups, Error, Moment, Range, list, utc};
use tokio::runtime::Runtime;

/// List the moments of a backup that can be restored
///
/// Each line is a range of moments, with its lineage; every sequence number in it can be restored. Verifies that every
/// table and log is there with its length; a restore verifies their content. Damaged manifests are named after the
/// ranges.
#[derive(Args)]
pub struct BackupsArgs {
    /// Place of the backup, as `serve --backup` has it
    url: String,
}

/// Lists the moments; damage is a failure.
pub fn run(args: &BackupsArgs) -> Result<(), Failure> {
    let (objects, prefix) = terrane_backup::open(&args.url).map_err(failure)?;
    let Backups { ranges, damage, .. } =
        runtime()?.block_on(list(objects, prefix)).map_err(failure)?;
    let mut out = Output::new();
    for range in &ranges {
        out.line(&line(range))?;
        for damage in &range.damage {
            out.line(&format!("  {damage}"))?;
        }
    }
    for damage in &damage {
        out.line(damage)?;
    }
    out.finish()?;
    if ranges.is_empty() && damage.is_empty() {
        return Err(Failure::new(Exit::NoStore, "expected a backup, found none"));
    }
    let damaged = ranges.iter().filter(|range| !range.damage.is_empty()).count() as u64;
    if damaged == 0 && damage.is_empty() {
        return Ok(());
    }
    let ranges = counted(damaged, "range is", "ranges are");
    let manifests = counted(damage.len() as u64, "manifest is", "manifests are");
    let help = "`terrane restore --salvage` restores what is there of the newest moment";
    Err(Failure::new(Exit::Damage, format!("{ranges} damaged, and {manifests}; {help}")))
}

fn line(range: &Range) -> String {
    let moment = |moment: &Moment| format!("{} (sequence {})", utc(moment.time), moment.sequence);
    format!(
        "{} to {}: lineage {}, {}, {}, {} bytes",
        moment(&range.first),
        moment(&range.last),
        range.lineage,
        counted(range.tables, "table", "tables"),
        counted(range.logs, "log", "logs"),
        range.table_bytes.saturating_add(range.log_bytes)
    )
}

/// Starts threads for requests to an object store.
pub fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|e| Failure::io("start threads", &e))
}

/// Returns the failure of a backup.
pub fn failure(error: Error) -> Failure {
    let exit = match error {
        Error::Store(error) => return error.into(),
        Error::Damaged { .. } => Exit::Damage,
        Error::Newer { .. } => Exit::NoStore,
        Error::Invalid { .. } | Error::NotOwner { .. } => Exit::Input,
        _ => Exit::Io,
    };
    Failure::new(exit, error.to_string())
}
