//! `scan`: prints keys and values in order, as rows that `load` reads back.

use crate::args::{InKeyspace, RangeArgs};
use crate::exit::Failure;
use crate::output::Output;
use crate::pump::{Order, pump};
use crate::row;
use crate::store::{self, Opened};
use clap::{Args, ValueEnum};
use std::time::{Duration, Instant};

pub const EXAMPLES: &str = "\
Examples:
  terrane scan db --prefix user: --limit 10
  terrane scan db --from a --to m --keys-only     keys from a up to, not including, m
  terrane scan db --json | jq -r .value";

/// Bytes of rows that are printed at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Time after which fewer bytes are printed.
const CHUNK_TIME: Duration = Duration::from_millis(100);

/// Print keys and values in key order
#[derive(Args)]
pub struct ScanArgs {
    #[command(flatten)]
    pub range: RangeArgs,
    /// Read bounds as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// Print at most this many rows
    #[arg(long, value_name = "ROWS")]
    pub limit: Option<u64>,
    /// Print rows in this format
    ///
    /// tsv: key, tab, value, with \t \n \r \\ \xHH for bytes that a field cannot hold, and \& for an
    /// empty key without its value. ndjson: {"key":..,"value":..}, or key_hex and value_hex for bytes that
    /// are not UTF-8. `load` reads both back, without the times at which values expire: `checkpoint` copies these.
    #[arg(long, value_enum, default_value = "tsv")]
    pub format: ScanFormat,
    /// Print rows as --format ndjson does
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print keys without their values
    #[arg(long)]
    pub keys_only: bool,
    /// Print from the last key to the first
    #[arg(long)]
    pub reverse: bool,
}

/// Format of rows.
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
    let cursor = opened.keyspace.cursor(args.range.parse(args.hex)?)?;
    let format = if args.json { ScanFormat::Ndjson } else { args.format };
    let order = Order { reverse: args.reverse, limit: args.limit.unwrap_or(u64::MAX) };
    let keys_only = args.keys_only;
    let add = move |text: &mut Text, key: &[u8], value: &[u8]| {
        let value = (!keys_only).then_some(value);
        let written = match format {
            ScanFormat::Tsv => row::tsv(key, value, &mut text.bytes),
            ScanFormat::Ndjson => row::ndjson(key, value, &mut text.bytes),
        };
        written.map_err(|e| Failure::io("write a row", &e))?;
        Ok(text.bytes.len() >= CHUNK_BYTES || text.begun.elapsed() >= CHUNK_TIME)
    };
    let mut out = Output::new();
    pump(cursor, order, add, |text: Text| {
        out.bytes(&text.bytes)?;
        // Rows that are few and far between are shown as they are found.
        if text.bytes.len() < CHUNK_BYTES { out.flush() } else { Ok(()) }
    })?;
    out.finish()
}

/// Rows as text.
struct Text {
    bytes: Vec<u8>,
    begun: Instant,
}

impl Default for Text {
    fn default() -> Self {
        Text { bytes: Vec::new(), begun: Instant::now() }
    }
}
