//! The command line.

use crate::escape::{from_hex, shown};
use crate::exit::{Exit, Failure, TABLE};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Loads, reads and checks Terrane stores: ordered key-value stores, each in a directory.
#[derive(Parser)]
#[command(name = "terrane", version, after_long_help = TABLE)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Load(LoadArgs),
    Get(GetArgs),
    Put(PutArgs),
    Delete(DeleteArgs),
    Scan(ScanArgs),
    /// Show what a store holds and what room it takes
    Stats(ReportArgs),
    /// Read everything in a store and name every damage
    ///
    /// The store is not opened for it: its log stays a log, and nothing is compacted or repaired.
    /// Only leftovers of an interrupted run, which no other command would read either, are removed.
    Check(ReportArgs),
}

/// Write the rows of a file into a store, which is created if there is none
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct LoadArgs {
    /// The store's directory
    pub dir: PathBuf,
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
    /// The store's directory
    pub dir: PathBuf,
    /// The key
    pub key: OsString,
    /// The key is given, and the value printed, in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
}

/// Give a key a value, in a store that is created if there is none
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct PutArgs {
    /// The store's directory
    pub dir: PathBuf,
    /// The key
    pub key: OsString,
    /// The value; `-` takes the bytes of standard input as they are
    pub value: OsString,
    /// The key and the value are given in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
}

/// Remove a key, if it is there
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct DeleteArgs {
    /// The store's directory
    pub dir: PathBuf,
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
    /// The store's directory
    pub dir: PathBuf,
    /// The first key, itself included
    #[arg(long, value_name = "KEY")]
    pub from: Option<OsString>,
    /// Where to stop, this key not included
    #[arg(long, value_name = "KEY")]
    pub to: Option<OsString>,
    /// Only keys that begin so
    #[arg(long)]
    pub prefix: Option<OsString>,
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
    /// --from, --to and --prefix are given in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScanFormat {
    Tsv,
    Ndjson,
}

#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct ReportArgs {
    /// The store's directory
    pub dir: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The bytes that an argument stands for.
pub fn bytes(argument: &OsStr, hex: bool) -> Result<Vec<u8>, Failure> {
    let text = argument.as_encoded_bytes();
    if !hex {
        return Ok(text.to_vec());
    }
    from_hex(text).ok_or_else(|| {
        let found = shown(text, 40);
        Failure::new(Exit::Usage, format!("expected pairs of hexadecimal digits, found {found}"))
    })
}
