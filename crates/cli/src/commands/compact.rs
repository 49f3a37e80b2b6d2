//! `compact`: merges a keyspace, or a range of it, into one run.

use crate::args::{RangeArgs, Working};
use crate::exit::Failure;
use crate::message;
use crate::meter::Meter;
use crate::output::Output;
use crate::store::Opened;
use crate::{background, interrupt, store};
use clap::Args;
use indicatif::{DecimalBytes, HumanBytes};
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use terrane::KeyRange;
use terrane::Waiter;

pub const EXAMPLES: &str = "\
Examples:
  terrane compact db
  terrane compact db --keyspace logs --to 2026-01-01";

/// Interval of polling a compaction.
const POLL: Duration = Duration::from_millis(20);

/// Merge a keyspace, or a range of it, into one run, dropping what no reader can see
///
/// An interrupted compaction leaves the range as far as it has come.
#[derive(Args)]
pub struct CompactArgs {
    #[command(flatten)]
    pub range: RangeArgs,
    /// Read bounds as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// Print the summary as a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Result of a compaction: bytes of the tables, or about those of the keys in the range.
#[derive(Serialize)]
struct Summary {
    bytes_before: u64,
    bytes_after: u64,
    seconds: f64,
}

/// Opens the store and compacts.
pub fn run(Working { at, args, background }: &Working<CompactArgs>) -> Result<(), Failure> {
    args.range.parse(args.hex)?;
    interrupt::listen()?;
    store::change(at, background, |opened| {
        compact(opened, args)?;
        // Files that are not needed go now, not when the store is opened next.
        background::wait_until_idle(&opened.db)
    })
}

/// Compacts an open keyspace and prints how large it was and is.
pub fn compact(opened: &Opened, args: &CompactArgs) -> Result<(), Failure> {
    let range = args.range.parse(args.hex)?;
    let started = Instant::now();
    wait(opened.db.begin_flush()?, opened)?;
    let bytes_before = bytes(opened, &range)?;
    wait(opened.keyspace.begin_compact_range(&range)?, opened)?;
    let bytes_after = bytes(opened, &range)?;
    let seconds = started.elapsed().as_secs_f64();
    let (before, after) = (HumanBytes(bytes_before), HumanBytes(bytes_after));
    let part = if range == KeyRange::default() { "" } else { " in the range" };
    message::note(&format!("compacted {before}{part} into {after} in {seconds:.1} s"));
    if args.json {
        let mut out = Output::new();
        out.json(&Summary { bytes_before, bytes_after, seconds })?;
        out.finish()?;
    }
    Ok(())
}

/// Bytes of all tables, or about those of the keys in a range.
fn bytes(opened: &Opened, range: &KeyRange) -> Result<u64, Failure> {
    Ok(match *range == KeyRange::default() {
        true => opened.keyspace.shape()?.bytes(),
        false => opened.keyspace.approximate_size(range)?,
    })
}

/// Waits until a job is done, and shows how far each merge is.
fn wait(mut job: Waiter, opened: &Opened) -> Result<(), Failure> {
    let mut meter = Meter::new(Some(100));
    while !job.is_done()? {
        interrupt::check()?;
        let read = opened.merge.read_bytes.load(Ordering::Relaxed);
        let total = opened.merge.total_bytes.load(Ordering::Relaxed);
        meter.show(read.saturating_mul(100) / total.max(1), || match total {
            0 => "flushing".to_owned(),
            _ => format!("merged {} of {}", DecimalBytes(read), DecimalBytes(total)),
        });
        thread::sleep(POLL);
    }
    Ok(())
}
