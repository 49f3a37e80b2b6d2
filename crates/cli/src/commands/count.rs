//! `count`: counts keys.

use crate::args::{InKeyspace, KeyRange};
use crate::exit::Failure;
use crate::output::Output;
use crate::store::Opened;
use crate::{interrupt, store};
use clap::Args;
use serde::Serialize;

pub const EXAMPLES: &str = "\
Examples:
  terrane count db
  terrane count db --prefix user:
  terrane count db --range a..m --json";

/// Count the keys of a keyspace, or of a range of it
///
/// The keys are read one by one, so that deleted keys and old versions do not count.
#[derive(Args)]
pub struct CountArgs {
    #[command(flatten)]
    pub range: KeyRange,
    /// Bounds are given as hexadecimal digits
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
    let mut cursor = opened.keyspace.cursor(args.range.parse(args.hex)?)?;
    let mut count = 0;
    while cursor.next()?.is_some() {
        count += 1;
        interrupt::check()?;
    }
    let mut out = Output::new();
    match args.json {
        true => out.json_line(&Report { count })?,
        false => out.line(&count.to_string())?,
    }
    out.finish()
}
