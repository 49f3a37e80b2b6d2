//! Commands that write and read rows.

use super::{At, POLICY, Within, policy};
use crate::exit::TABLE;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use terrane_policy::PolicyOptions;

/// Write the rows of a file into a store and a keyspace, which are created if there are none
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct LoadArgs {
    #[command(flatten)]
    pub at: At,
    /// The input; `-` or nothing for standard input
    pub file: Option<PathBuf>,
    /// What a row looks like; by default the file's extension says so
    ///
    /// tsv: fields between tabs, with \t \n \r \\ \xHH for bytes that a field cannot hold.
    /// csv: RFC 4180. ndjson: a JSON object in each line.
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// The key's column: a number from 1, a name of the header, or (ndjson) a field
    ///
    /// By default column 1, or the field `key`. A field's bytes may stand in hexadecimal digits
    /// under its name with `_hex` after it.
    #[arg(long, value_name = "N|NAME")]
    pub key: Option<String>,
    /// The value's column, as for --key
    ///
    /// By default the first column that is not the key, or the field `value`; where the first row
    /// has none, a row's value is its position, counted from 0.
    #[arg(long, value_name = "N|NAME")]
    pub value: Option<String>,
    /// The first row names the columns (tsv, csv)
    #[arg(long)]
    pub header: bool,
    /// Rows in a batch; a batch is in the store as a whole or not at all
    ///
    /// A batch that reaches 16 MiB ends early.
    #[arg(long, value_name = "ROWS", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Put every batch on the medium before the next is written, instead of all at the end
    #[arg(long)]
    pub sync: bool,
    /// The keyspace's compaction policy from now on: a preset, or JSON, as `policies` shows them
    #[arg(long, value_name = POLICY, value_parser = policy)]
    pub policy: Option<PolicyOptions>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Tsv,
    Csv,
    Ndjson,
}

/// Print the value of a key
///
/// The value's bytes are written as they are; on a terminal a newline follows them.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct GetArgs {
    #[command(flatten)]
    pub at: At,
    /// The key
    pub key: OsString,
    /// The key is given, and the value printed, in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// Print, in place of the value, every step that led to it: memtables, runs, filters, blocks
    #[arg(long)]
    pub trace: bool,
    /// Print the steps as one JSON object
    #[arg(long, requires = "trace")]
    pub json: bool,
}

/// Give a key a value, in a store and a keyspace that are created if there are none
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct PutArgs {
    #[command(flatten)]
    pub at: At,
    /// The key
    pub key: OsString,
    /// The value; `-` takes the bytes of standard input as they are
    pub value: OsString,
    /// The key and the value are given in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    /// The keyspace's compaction policy from now on: a preset, or JSON, as `policies` shows them
    #[arg(long, value_name = POLICY, value_parser = policy)]
    pub policy: Option<PolicyOptions>,
}

/// Remove a key, if it is there
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct DeleteArgs {
    #[command(flatten)]
    pub at: At,
    /// The key
    pub key: OsString,
    /// The key is given in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
}

/// Print keys and values in the order of the keys
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct ScanArgs {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub within: Within,
    /// At most so many rows
    #[arg(long, value_name = "ROWS")]
    pub limit: Option<u64>,
    /// What a row looks like
    ///
    /// tsv: key, tab, value, with \t \n \r \\ \xHH for bytes that a field cannot hold. ndjson:
    /// {"key":..,"value":..}, or key_hex and value_hex for bytes that are no UTF-8. `load` reads
    /// both back.
    #[arg(long, value_enum, default_value = "tsv")]
    pub format: ScanFormat,
    /// Leave the values out
    #[arg(long)]
    pub keys_only: bool,
    /// From the last key to the first
    #[arg(long)]
    pub reverse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScanFormat {
    Tsv,
    Ndjson,
}
