//! `get`: prints the value of a key, or how the store finds it.

use crate::args::{self, InKeyspace};
use crate::escape::{shown, to_hex};
use crate::exit::{Exit, Failure};
use crate::expiry;
use crate::message::counted;
use crate::output::Output;
use crate::row;
use crate::store::{self, Opened};
use clap::Args;
use indicatif::HumanCount;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use terrane::trace::{Origin, Step, Trace};

pub const EXAMPLES: &str = "\
Examples:
  terrane get db user:17
  terrane get db photo > photo.jpg
  terrane get db user:17 --trace      which memtables, tables and blocks are read";

/// Print the value of a key
///
/// The value is printed as it is; on a terminal a newline follows. A key that does not exist is exit
/// code 1.
#[derive(Args)]
pub struct GetArgs {
    /// Look up this key
    pub key: OsString,
    /// Read the key, and print the value, as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// Print how the value is found instead: memtables, runs, filters and blocks
    #[arg(long)]
    pub trace: bool,
    /// Print the sequence number of the write that set the value instead, for `put --if-sequence`
    #[arg(long, conflicts_with = "trace")]
    pub sequence: bool,
    /// Print the time at which the value expires instead, in UTC, or `never`
    #[arg(long, conflicts_with_all = ["trace", "sequence"])]
    pub expires_at: bool,
    /// Print {"key":..,"value":..}, {"sequence":N,"expiresAt":MS}, or the trace as a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Opens the store and gets.
pub fn run(InKeyspace { at, args }: &InKeyspace<GetArgs>) -> Result<(), Failure> {
    args::bytes(&args.key, args.hex)?;
    // A terminal's next prompt starts a line; a file or pipe gets the value's bytes alone.
    store::read(at, |opened| get(opened, args, io::stdout().is_terminal()))
}

/// Prints the value, with a newline after it if `newline` says so, or the trace; a key that does not
/// exist is a failure.
pub fn get(opened: &Opened, args: &GetArgs, newline: bool) -> Result<(), Failure> {
    let (key, keyspace) = (args::bytes(&args.key, args.hex)?, &opened.keyspace);
    if args.sequence || args.expires_at {
        let Some(found) = keyspace.get_versioned(&key)? else { return Err(no_key(opened, &key)) };
        let mut out = Output::new();
        match args.json {
            true => {
                out.json_line(&Version { sequence: found.seq, expires_at: found.expires_at })?
            }
            false if args.expires_at => out.line(&expiry::words(found.expires_at))?,
            false => out.line(&found.seq.to_string())?,
        }
        return out.finish();
    }
    let (value, trace) = match args.trace {
        true => keyspace.trace_get(&key).map(|(value, trace)| (value, Some(trace)))?,
        false => (keyspace.get(&key)?, None),
    };
    let mut out = Output::new();
    match (&trace, &value) {
        (Some(trace), _) if args.json => out.json(trace)?,
        (Some(trace), _) => out.lines(&steps(trace))?,
        (None, Some(value)) if args.json => out.write(|out| row::ndjson(&key, Some(value), out))?,
        (None, Some(value)) if args.hex => out.line(&to_hex(value))?,
        (None, Some(value)) => {
            out.bytes(value)?;
            if newline {
                out.line("")?;
            }
        }
        (None, None) => {}
    }
    out.finish()?;
    if value.is_none() {
        return Err(no_key(opened, &key));
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

fn no_key(opened: &Opened, key: &[u8]) -> Failure {
    let sentence = format!("{} has no key {}", opened.at.dir.display(), shown(key, 200));
    Failure::new(Exit::NotFound, sentence)
}

/// A get's trace: a line for each place that was searched, and what was found there.
fn steps(trace: &Trace) -> Vec<String> {
    let mut lines: Vec<String> = trace.steps.iter().filter_map(step).collect();
    let c = &trace.counts;
    lines.push(format!(
        "total: {}, {} of them cached, {} bytes read; filters ruled out {}, and gave {}",
        counted(c.blocks, "block", "blocks"),
        c.blocks_cached,
        HumanCount(c.bytes_read),
        counted(c.filter_negatives, "table", "tables"),
        counted(c.filter_false_positives, "false positive", "false positives")
    ));
    lines
}

/// A step of a get in words; `None` for the steps of scans.
fn step(step: &Step) -> Option<String> {
    Some(match step {
        Step::Memtable { place: 0 } => "active memtable".to_owned(),
        Step::Memtable { place } => format!("sealed memtable {place}"),
        Step::Run { level, run, table: None } => {
            format!("level {level}, run {}: no table spans the key", run.0)
        }
        Step::Run { level, run, table: Some(table) } => {
            format!("level {level}, run {}, {table}", run.0)
        }
        Step::Filter { may_contain: false } => "  filter: absent".to_owned(),
        Step::Filter { may_contain: true } => "  filter: may be present".to_owned(),
        Step::Block { offset, bytes, origin, .. } => {
            let from = match origin {
                Origin::Cache => "the cache",
                Origin::ReadAhead => "the read-ahead buffer",
                Origin::Vfs => "the file",
            };
            format!("  index: block at {offset}, {bytes} bytes, from {from}")
        }
        Step::Value { sequence, bytes } => {
            let bytes = counted(*bytes, "byte", "bytes");
            format!("  found: a value of {bytes}, sequence {sequence}")
        }
        Step::Operand { sequence, .. } => format!("  found: an operand, sequence {sequence}"),
        Step::Expired { at } => format!("  expired at {}", expiry::words(Some(*at))),
        Step::Tombstone { sequence } => format!("  found: a tombstone, sequence {sequence}"),
        Step::Newer => "  only versions newer than the snapshot".to_owned(),
        Step::Absent { false_positive: true } => {
            "  absent: a false positive of the filter".to_owned()
        }
        Step::Absent { false_positive: false } => "  absent".to_owned(),
        _ => return None,
    })
}
