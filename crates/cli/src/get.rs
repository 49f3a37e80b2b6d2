//! `get`: the value of one key, or the way to it.

use crate::args::{self, GetArgs};
use crate::escape::{shown, to_hex};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::store;
use indicatif::HumanCount;
use std::io::{self, IsTerminal};
use terrane::read::{Origin, Step, Trace};

/// Prints the value, or the steps that led to it; no such key is a failure.
pub fn run(args: &GetArgs) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    let (db, keyspace) = store::read(&args.at)?;
    let (value, trace) = match args.trace {
        true => keyspace.trace_get(&key).map(|(value, trace)| (value, Some(trace)))?,
        false => (keyspace.get(&key)?, None),
    };
    db.close()?;
    let mut out = Output::new();
    match (&trace, &value) {
        (Some(trace), _) if args.json => out.json(trace)?,
        (Some(trace), _) => out.lines(&steps(trace))?,
        (None, Some(value)) if args.hex => out.line(&to_hex(value))?,
        (None, Some(value)) => {
            out.bytes(value)?;
            // A terminal's next prompt begins a line; a file or pipe gets the value's bytes alone.
            if io::stdout().is_terminal() {
                out.line("")?;
            }
        }
        (None, None) => {}
    }
    out.finish()?;
    if value.is_none() {
        let sentence = format!("{} has no key {}", args.at.dir.display(), shown(&key, 200));
        return Err(Failure::new(Exit::NotFound, sentence));
    }
    Ok(())
}

/// A get's trace: a line for each place, with what was found there below.
fn steps(trace: &Trace) -> Vec<String> {
    let mut lines: Vec<String> = trace.steps.iter().filter_map(step).collect();
    let c = &trace.counts;
    lines.push(format!(
        "in all: {} blocks, {} of them cached, {} bytes read; filters ruled out {} tables, and gave \
         {} false positives",
        c.blocks,
        c.blocks_cached,
        HumanCount(c.bytes_read),
        c.filter_negatives,
        c.filter_false_positives
    ));
    lines
}

/// A step of a get in words; none for the steps of scans.
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
        Step::Filter { may_contain: false } => "  filter: not there".to_owned(),
        Step::Filter { may_contain: true } => "  filter: may be there".to_owned(),
        Step::Block { offset, bytes, origin, .. } => {
            let from = match origin {
                Origin::Cache => "the cache",
                Origin::ReadAhead => "what was read ahead",
                Origin::Medium => "the medium",
            };
            format!("  index: block at {offset}, {bytes} bytes, from {from}")
        }
        Step::Value { sequence, bytes } => {
            format!("  found: a value of {bytes} bytes, sequence {sequence}")
        }
        Step::Tombstone { sequence } => format!("  found: a tombstone, sequence {sequence}"),
        Step::Newer => "  only versions that are too new".to_owned(),
        Step::Absent { false_positive: true } => {
            "  not there: a false positive of the filter".to_owned()
        }
        Step::Absent { false_positive: false } => "  not there".to_owned(),
        Step::Table { .. } | Step::Stands { .. } | Step::Row { .. } => return None,
    })
}
