//! `count`: counts keys.

use crate::args::{InKeyspace, RangeArgs};
use crate::exit::Failure;
use crate::output::Output;
use crate::pump::{Order, pump};
use crate::store::{self, Opened};
use clap::Args;
use serde::Serialize;

pub const EXAMPLES: &str = "\
Examples:
  terrane count db
  terrane count db --prefix user:
  terrane count db --range a..m --json";

/// Keys between two looks for a signal.
const CHUNK_KEYS: u64 = 10_000;

/// Count the keys of a keyspace, or of a range of it
///
/// The keys are read one by one, so that deleted keys and old versions do not count.
#[derive(Args)]
pub struct CountArgs {
    #[command(flatten)]
    pub range: RangeArgs,
    /// Read bounds as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// Print {"count":N}
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    count: u64,
}

/// Opens the store and counts.
pub fn run(InKeyspace { at, args }: &InKeyspace<CountArgs>) -> Result<(), Failure> {
    args.range.parse(args.hex)?;
    store::read(at, |opened| count(opened, args))
}

/// Prints the number of keys in the range.
pub fn count(opened: &Opened, args: &CountArgs) -> Result<(), Failure> {
    let cursor = opened.keyspace.cursor(args.range.parse(args.hex)?)?;
    let mut count = 0;
    let add = |keys: &mut u64, _: &[u8], _: &[u8]| {
        *keys += 1;
        Ok(*keys == CHUNK_KEYS)
    };
    pump(cursor, Order::ALL, add, |keys| {
        count += keys;
        Ok(())
    })?;
    let mut out = Output::new();
    match args.json {
        true => out.json_line(&Report { count })?,
        false => out.line(&count.to_string())?,
    }
    out.finish()
}
