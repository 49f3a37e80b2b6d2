//! `check`: reads everything and names every damage.

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use terrane::{CheckReport, Db, Error, Options};

/// Prints what was read and what is damaged; damage is a failure.
pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let place = args.report.dir.display();
    let (report, opened) = check(args)?;
    let mut out = Output::new();
    if args.report.json {
        out.line(&serde_json::to_string_pretty(&report).unwrap_or_default())?;
    } else {
        for damage in &report.damage {
            out.line(&damage.to_string())?;
        }
        if report.damage.is_empty() {
            out.line(&format!(
                "{place} is sound: {} tables, {} entries in them, {} log records",
                report.tables, report.entries, report.log_records
            ))?;
        }
    }
    out.finish()?;
    let sentence = match report.damage.len() {
        0 => return Ok(()),
        _ if !opened => format!("{place} is damaged and cannot be opened"),
        1 => format!("{place} is damaged in 1 place"),
        n => format!("{place} is damaged in {n} places"),
    };
    Err(Failure::new(Exit::Damage, sentence))
}

/// What was found, and whether the store could be opened.
fn check(args: &CheckArgs) -> Result<(CheckReport, bool), Failure> {
    let options = Options { create: false, ..Options::default() };
    match Db::open(&args.report.dir, options) {
        Ok(db) => {
            let report = db.check()?;
            db.close()?;
            Ok((report, true))
        }
        Err(Error::Corrupt(damage)) => {
            Ok((CheckReport { damage: vec![damage], ..CheckReport::default() }, false))
        }
        Err(e) => Err(e.into()),
    }
}
