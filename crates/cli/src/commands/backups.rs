//! `backups`: lists the last writer and the moments that can be restored, and verifies that their objects are there.

use crate::exit::{Exit, Failure};
use crate::message::counted;
use crate::output::Output;
use clap::Args;
use indicatif::HumanBytes;
use serde::Serialize;
use terrane_backup::{Backups, Error, LastWriter, Range, list, utc};
use tokio::runtime::Runtime;

pub const EXAMPLES: &str = "\
Examples:
  terrane backups s3://bucket/db
  terrane backups file:///backups/db --json";

/// List the moments of a backup that can be restored, and its last writer
///
/// Each line is a range of moments of a lineage: every sequence number in it can be restored. Verifies that every table
/// and log is there with its length; a restore verifies their content. Damaged objects are named below their range,
/// damaged manifests at the end.
#[derive(Args)]
pub struct BackupsArgs {
    /// Place of the backup, as `serve --backup` has it
    url: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A list in JSON. Times are in UTC.
#[derive(Serialize)]
struct List<'a> {
    writer: Option<Writer<'a>>,
    claim_damage: &'a Option<String>,
    ranges: Vec<Row<'a>>,
    /// Manifests that cannot be read.
    damage: &'a [String],
}

#[derive(Serialize)]
struct Writer<'a> {
    number: u64,
    since: String,
    lineage: &'a str,
}

/// A range of moments.
#[derive(Serialize)]
struct Row<'a> {
    lineage: &'a str,
    continued_by: &'a Option<String>,
    first: Moment,
    last: Moment,
    last_manifest: String,
    tables: u64,
    table_bytes: u64,
    logs: u64,
    log_bytes: u64,
    damage: &'a [String],
}

#[derive(Serialize)]
struct Moment {
    sequence: u64,
    time: String,
}

/// Lists the moments; damage is a failure.
pub fn run(args: &BackupsArgs) -> Result<(), Failure> {
    let (objects, prefix) = terrane_backup::open(&args.url).map_err(failure)?;
    let listed = runtime()?.block_on(list(objects, prefix)).map_err(failure)?;
    let mut out = Output::new();
    if args.json {
        out.json(&document(&listed))?;
    } else {
        out.lines(&text(&listed))?;
    }
    out.finish()?;
    judge(&listed)
}

fn document(listed: &Backups) -> List<'_> {
    let writer = listed.writer.as_ref().map(|writer| {
        let LastWriter { number, time, lineage, .. } = writer;
        Writer { number: *number, since: utc(*time), lineage }
    });
    List {
        writer,
        claim_damage: &listed.claim_damage,
        ranges: listed.ranges.iter().map(row).collect(),
        damage: &listed.damage,
    }
}

fn row(range: &Range) -> Row<'_> {
    let moment = |moment: terrane_backup::Moment| {
        let terrane_backup::Moment { sequence, time } = moment;
        Moment { sequence, time: utc(time) }
    };
    Row {
        lineage: &range.lineage,
        continued_by: &range.successor,
        first: moment(range.first),
        last: moment(range.last),
        last_manifest: utc(range.manifest),
        tables: range.tables,
        table_bytes: range.table_bytes,
        logs: range.logs,
        log_bytes: range.log_bytes,
        damage: &range.damage,
    }
}

/// Returns the lines of a list.
fn text(listed: &Backups) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(LastWriter { number, time, lineage, .. }) = &listed.writer {
        lines.push(format!("writer {number} since {}, of lineage {lineage}", utc(*time)));
    }
    lines.extend(listed.claim_damage.clone());
    if let Some(newest) = listed.ranges.first() {
        lines.push(format!("last manifest {}", utc(newest.manifest)));
        lines.extend(table(&listed.ranges));
    }
    lines.extend(listed.damage.iter().cloned());
    lines
}

fn table(ranges: &[Range]) -> Vec<String> {
    let digits = |range: &Range| range.last.sequence.to_string().len();
    let width = ranges.iter().map(digits).max().unwrap_or(0).max("from".len());
    let head = ["lineage", "from", "time", "to", "time", "tables", "logs", "bytes", "state"];
    let mut lines = vec![line(width, head)];
    for range in ranges {
        let bytes = HumanBytes(range.table_bytes.saturating_add(range.log_bytes)).to_string();
        let [from, to] = [range.first, range.last].map(|moment| moment.sequence.to_string());
        let [first, last] = [range.first, range.last].map(|moment| utc(moment.time));
        let [tables, logs] = [range.tables, range.logs].map(|count| count.to_string());
        let (lineage, state) = (&range.lineage, state(range));
        let cells = [lineage, &from, &first, &to, &last, &tables, &logs, &bytes, &state]
            .map(String::as_str);
        lines.push(line(width, cells));
        lines.extend(range.damage.iter().map(|damage| format!("  {damage}")));
    }
    lines
}

/// Returns a line of the table, with sequence numbers of `width` columns.
fn line(width: usize, cells: [&str; 9]) -> String {
    let [lineage, from, first, to, last, tables, logs, bytes, state] = cells;
    format!(
        "{lineage:16}  {from:>width$}  {first:24}  {to:>width$}  {last:24}  {tables:>6}  {logs:>5}  {bytes:>10}  \
         {state}"
    )
}

fn state(range: &Range) -> String {
    let state = match range.damage.len() as u64 {
        0 => "complete".to_owned(),
        damaged => counted(damaged, "object damaged", "objects damaged"),
    };
    match &range.successor {
        Some(successor) => format!("{state}, continued by {successor}"),
        None => state,
    }
}

/// Returns the failure that a list shows, if it shows one.
fn judge(listed: &Backups) -> Result<(), Failure> {
    let Backups { writer, claim_damage, ranges, damage, .. } = listed;
    let damaged = ranges.iter().filter(|range| !range.damage.is_empty()).count() as u64;
    let manifests = damage.len() as u64;
    if damaged + manifests > 0 {
        let parts = [(damaged, "range", "ranges"), (manifests, "manifest", "manifests")];
        let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<_> =
            parts.map(|(count, one, several)| counted(count, one, several)).collect();
        let verb = if damaged + manifests == 1 { "is" } else { "are" };
        let help = "`terrane restore --salvage` restores what is there of the newest moment";
        let sentence = format!("{} {verb} damaged; {help}", parts.join(" and "));
        return Err(Failure::new(Exit::Damage, sentence));
    }
    if claim_damage.is_some() {
        let help = "the next server that starts there needs --backup-take-over";
        return Err(Failure::new(Exit::Damage, format!("the newest claim is damaged; {help}")));
    }
    if !ranges.is_empty() {
        return Ok(());
    }
    let sentence = match writer {
        None => "expected a backup, found none",
        Some(_) => "expected moments that can be restored, found none: no base is complete yet",
    };
    Err(Failure::new(Exit::NoStore, sentence))
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
