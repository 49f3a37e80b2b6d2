//! `load`: writes the rows of a file, or of standard input, in batches.
//!
//! 1. A reader thread parses rows and gathers them into batches, so that parsing and writing overlap,
//!    and Ctrl-C is noticed while the input is silent.
//! 2. The store is opened, or created, when the first batch has been read: a load whose first rows
//!    are malformed creates none. An empty input is a load of no rows, and creates one.
//! 3. The main thread writes the batches. A malformed row or Ctrl-C ends the loop between batches:
//!    the store always holds whole batches, from the first on.
//! 4. Closing the store makes all of it durable, and a summary says how many rows were written,
//!    however the loop ended.
//!
//! * `lines` - lines of the input, numbered.
//! * `record` - the fields of a row.
//! * `tsv`, `csv`, `ndjson` - a parser each.
//! * `columns` - which fields are key and value.
//! * `batches` - step 1.
//! * `progress` - what is shown meanwhile.

mod batches;
mod columns;
mod csv;
mod lines;
mod ndjson;
mod progress;
mod record;
mod tsv;

use crate::args::{POLICY, Working, policy};
use crate::exit::{Exit, Failure};
use crate::message;
use crate::output::Output;
use crate::store::Opened;
use crate::{interrupt, store};
use batches::{Batch, Batches};
use clap::{Args, ValueEnum};
use columns::Columns;
use lines::{Lines, Problem};
use progress::Progress;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use terrane::{Db, Durability, Keyspace, KeyspaceId};
use terrane_policy::PolicyOptions;

pub const EXAMPLES: &str = "\
Examples:
  terrane load db names.tsv                              one key a line: its value is its position
  terrane load db people.csv --header --key id --value name
  curl https://example.org/rows | terrane load db --format ndjson
  terrane scan old | terrane load new --format tsv --policy tiered";

/// Load rows from a file or standard input, creating the store if there is none
#[derive(Args)]
pub struct LoadArgs {
    /// Read rows from this file; `-` or nothing reads standard input
    pub file: Option<PathBuf>,
    /// Read rows in this format [default: by the file's extension]
    ///
    /// tsv: fields separated by tabs, with \t \n \r \\ \xHH for bytes that a field cannot hold, and \& for
    /// nothing.
    /// csv: RFC 4180. ndjson: a JSON object on each line.
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Take keys from this column: a name in the header, a number from 1, or (ndjson) a field
    ///
    /// [default: column 1, or the field `key`] The field `key_hex` holds the key's bytes as
    /// hexadecimal digits.
    #[arg(long, value_name = "N|NAME")]
    pub key: Option<String>,
    /// Take values from this column, as for --key
    ///
    /// [default: the first column other than the key, or the field `value`] Where the first row has
    /// no such column, a row's value is its position, counted from 0.
    #[arg(long, value_name = "N|NAME")]
    pub value: Option<String>,
    /// Take the names of columns from the first row (tsv, csv)
    #[arg(long)]
    pub header: bool,
    /// Split fields at this character (csv) [default: `,`, or that of a first line `sep=;`]
    #[arg(long, value_name = "CHAR", value_parser = csv::separator)]
    pub separator: Option<u8>,
    /// Write batches of this many rows, whole or not at all, or of 16 MiB [default: 1000]
    #[arg(long, value_name = "ROWS", default_value_t = 1000, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Make each batch durable before the next is written, instead of all of them at the end
    #[arg(long)]
    pub sync: bool,
    /// Set the keyspace's compaction policy: a preset or JSON (see `terrane policies`)
    #[arg(long, value_name = POLICY, value_parser = policy)]
    pub policy: Option<PolicyOptions>,
    /// Print the summary as a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Tsv,
    Csv,
    Ndjson,
}

/// The input's buffer, in bytes.
const INPUT_BYTES: usize = 1 << 20;
/// Batches that the reader may be ahead of the writer.
const BATCHES_AHEAD: usize = 4;

/// A row: what to put.
#[derive(Debug, Default)]
struct Row {
    /// Its first line, counted from 1.
    line: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Row {
    /// Bytes of key and value.
    fn bytes(&self) -> u64 {
        (self.key.len() + self.value.len()) as u64
    }
}

/// A format's reader.
trait Rows: Send {
    /// Reads the next row; false at the end of the input.
    fn read(&mut self, row: &mut Row) -> Result<bool, Problem>;
    /// Returns the input.
    fn lines(&self) -> &Lines;
    /// A correct row, for errors.
    fn example(&self) -> String;
}

/// Loads the rows; on success all of them are durable.
pub fn run(Working { at, args, background }: &Working<LoadArgs>) -> Result<(), Failure> {
    let create = || store::create(at, args.policy.as_ref(), background).map(|o| (o.db, o.keyspace));
    load_into(args, interrupt::listen, create, Db::close)
}

/// Loads rows of a file into an open keyspace.
pub fn load(opened: &Opened, args: &LoadArgs) -> Result<(), Failure> {
    if args.file.as_deref().is_none_or(|file| file == Path::new("-")) {
        let sentence = "expected a file, found none; for example: load names.tsv";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let choose = || {
        let policy = args.policy.as_ref();
        policy.map_or(Ok(()), |policy| store::choose(&opened.keyspace, policy))?;
        Ok((opened.db.clone(), opened.keyspace.clone()))
    };
    load_into(args, || Ok(()), choose, |db| db.sync())
}

/// Loads rows into the store that `open` opens once there are some; `end` makes all of them durable.
fn load_into(
    args: &LoadArgs,
    begin: impl FnOnce() -> Result<(), Failure>,
    open: impl FnOnce() -> Result<(Db, Keyspace), Failure>,
    end: impl FnOnce(Db) -> terrane::Result<()>,
) -> Result<(), Failure> {
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    let format = format(args, file)?;
    let path = file.map(Path::to_owned);
    // A pipe is opened once something writes into it, which may be never.
    let (input, input_bytes) = interrupt::unless_heard("input", move || input(path.as_deref()))?;
    let rows = rows(args, format, Lines::new(input))?;
    begin()?;
    let name = file.map_or("standard input".into(), |file| file.display().to_string());
    let reader = Reader::start(Batches::new(rows, name, args.batch))?;
    let mut progress = Progress::new(input_bytes);
    let loaded = write(args, reader, &mut progress, open, end);
    let summary = progress.finish();
    message::note(&summary.to_string());
    loaded?;
    if args.json {
        let mut out = Output::new();
        out.json(&summary)?;
        out.finish()?;
    }
    Ok(())
}

/// Opens the store when the first batch has been read, and writes batches until there are no more.
fn write(
    args: &LoadArgs,
    reader: Reader,
    progress: &mut Progress,
    open: impl FnOnce() -> Result<(Db, Keyspace), Failure>,
    end: impl FnOnce(Db) -> terrane::Result<()>,
) -> Result<(), Failure> {
    if next(&reader.first, progress)?.is_none() {
        return Err(interrupt::ended(reader.thread));
    }
    let (db, keyspace) = open()?;
    let before = db.stats()?.waits;
    // A reader that has gone has failed, and left its failure where the loop finds it.
    let _ = reader.keyspace.send(keyspace.id());
    let durability = if args.sync { Durability::Sync } else { Durability::Buffered };
    let written = loop {
        match next(&reader.batches, progress) {
            Ok(Some(Batch { batch, rows, bytes, input_bytes })) => {
                if let Err(e) = db.write(batch, durability) {
                    break Err(e.into());
                }
                progress.advance(rows, bytes, input_bytes);
            }
            Ok(None) => break interrupt::join(reader.thread),
            Err(failure) => break Err(failure),
        }
    };
    if let Ok(stats) = db.stats() {
        progress.waited(stats.waits.since(&before));
    }
    let ended = end(db);
    written?;
    Ok(ended?)
}

/// Returns the reader's next message, or `None` when its thread has ended or panicked.
fn next<T>(
    from: &Receiver<Result<T, Failure>>,
    progress: &mut Progress,
) -> Result<Option<T>, Failure> {
    loop {
        interrupt::check()?;
        match from.recv_timeout(interrupt::PATIENCE) {
            Ok(found) => return found.map(Some),
            Err(RecvTimeoutError::Timeout) => progress.show(),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// The thread that reads rows.
struct Reader {
    /// Whether the first batch is well-formed.
    first: Receiver<Result<(), Failure>>,
    /// Takes the keyspace that the batches are for.
    keyspace: SyncSender<KeyspaceId>,
    batches: Receiver<Result<Batch, Failure>>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn start(mut rows: Batches) -> Result<Reader, Failure> {
        let (checked, first) = sync_channel(1);
        let (keyspace, chosen) = sync_channel(1);
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let read = move || {
            let read = rows.read_first();
            let failed = read.is_err();
            if checked.send(read).is_err() || failed {
                return;
            }
            let Ok(keyspace) = chosen.recv() else { return };
            while let Some(batch) = rows.next(keyspace).transpose() {
                let ended = batch.is_err();
                if sender.send(batch).is_err() || ended {
                    return;
                }
            }
        };
        let thread = interrupt::spawn("rows", read)?;
        Ok(Reader { first, keyspace, batches, thread })
    }
}

/// The format given, or the one of the file's extension.
fn format(args: &LoadArgs, file: Option<&Path>) -> Result<Format, Failure> {
    let extension = || file?.extension()?.to_str();
    let known = args.format.or_else(|| match extension()? {
        "tsv" => Some(Format::Tsv),
        "csv" => Some(Format::Csv),
        "ndjson" | "jsonl" => Some(Format::Ndjson),
        _ => None,
    });
    known.ok_or_else(|| {
        let found = match file {
            Some(file) => file.display().to_string(),
            None => "standard input".into(),
        };
        let expected = "expected --format, or a file ending in .tsv, .csv, .ndjson or .jsonl";
        Failure::new(Exit::Usage, format!("{expected}, found {found}; for example: --format tsv"))
    })
}

/// The input, and its length if it is a file.
fn input(file: Option<&Path>) -> Result<(Box<dyn BufRead + Send>, Option<u64>), Failure> {
    let Some(path) = file else {
        return Ok((Box::new(BufReader::with_capacity(INPUT_BYTES, io::stdin())), None));
    };
    let refuse = |e: io::Error| Failure::io(&format!("read {}", path.display()), &e);
    let opened = File::open(path).map_err(refuse)?;
    let found = opened.metadata().map_err(refuse)?;
    if found.is_dir() {
        return Err(refuse(io::ErrorKind::IsADirectory.into()));
    }
    let length = found.is_file().then_some(found.len());
    Ok((Box::new(BufReader::with_capacity(INPUT_BYTES, opened)), length))
}

fn rows(args: &LoadArgs, format: Format, lines: Lines) -> Result<Box<dyn Rows>, Failure> {
    let columns = || Columns::new(args.key.as_deref(), args.value.as_deref(), args.header);
    if args.separator.is_some() && format != Format::Csv {
        let sentence =
            "expected --separator with csv alone; for example: --format csv --separator ';'";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    match format {
        Format::Tsv => Ok(Box::new(tsv::Tsv::new(lines, columns()?))),
        Format::Csv => Ok(Box::new(csv::Csv::new(lines, columns()?, args.separator))),
        Format::Ndjson if args.header => {
            let sentence = "expected --header with tsv or csv, found ndjson, whose fields have names; \
                            for example: --format ndjson --key id";
            Err(Failure::new(Exit::Usage, sentence))
        }
        Format::Ndjson => {
            Ok(Box::new(ndjson::Ndjson::new(lines, args.key.as_deref(), args.value.as_deref())))
        }
    }
}

#[cfg(test)]
mod tests;
