//! `scan`: prints keys and values in order, as rows that `load` reads back.

use crate::args::{InKeyspace, KeyRange};
use crate::exit::Failure;
use crate::output::Output;
use crate::store::Opened;
use crate::{interrupt, row, store};
use clap::{Args, ValueEnum};

pub const EXAMPLES: &str = "\
Examples:
  terrane scan db --prefix user: --limit 10
  terrane scan db --from a --to m --keys-only     keys from a up to, not including, m
  terrane scan db --json | jq -r .value";

/// Print keys and values in key order
#[derive(Args)]
pub struct ScanArgs {
    #[command(flatten)]
    pub range: KeyRange,
    /// Bounds are given as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// Print at most this many rows
    #[arg(long, value_name = "ROWS")]
    pub limit: Option<u64>,
    /// The format of a row
    ///
    /// tsv: key, tab, value, with \t \n \r \\ \xHH for bytes that a field cannot hold. ndjson:
    /// {"key":..,"value":..}, or key_hex and value_hex for bytes that are not UTF-8. `load` reads
    /// both back.
    #[arg(long, value_enum, default_value = "tsv")]
    pub format: ScanFormat,
    /// The same as --format ndjson
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print keys without their values
    #[arg(long)]
    pub keys_only: bool,
    /// Print from the last key to the first
    #[arg(long)]
    pub reverse: bool,
}

/// What a row looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScanFormat {
    Tsv,
    Ndjson,
}

/// Opens the store and scans.
pub fn run(InKeyspace { at, args }: &InKeyspace<ScanArgs>) -> Result<(), Failure> {
    args.range.parse(args.hex)?;
    store::read(at, |opened| scan(opened, args))
}

/// Prints the rows in the range.
pub fn scan(opened: &Opened, args: &ScanArgs) -> Result<(), Failure> {
    let mut cursor = opened.keyspace.cursor(args.range.parse(args.hex)?)?;
    let format = if args.json { ScanFormat::Ndjson } else { args.format };
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut out = Output::new();
    while left > 0
        && let Some((key, value)) = if args.reverse { cursor.prev()? } else { cursor.next()? }
    {
        let value = (!args.keys_only).then_some(value);
        out.write(|out| match format {
            ScanFormat::Tsv => row::tsv(key, value, out),
            ScanFormat::Ndjson => row::ndjson(key, value, out),
        })?;
        left -= 1;
        interrupt::check()?;
    }
    out.finish()
}
