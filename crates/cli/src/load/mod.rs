//! `load`: the rows of a file, in batches.
//!
//! 1. A reader on a thread of its own parses rows and gathers them into batches, so that parsing
//!    and writing go on at once, and a Ctrl-C is heard while the input is silent.
//! 2. The main thread writes the batches. A malformed row or a Ctrl-C ends the loop between two of
//!    them: what is in the store is always whole batches, from the first on.
//! 3. The store is closed, which puts all of it on the medium, and a summary says how many rows
//!    are in, however the loop ended.
//!
//! * `lines` - lines of the input, numbered. * `record` - the fields of a row.
//! * `tsv`, `csv`, `ndjson` - a reader each. * `columns` - which fields are key and value.
//! * `batches` - step 1. * `progress` - what is shown meanwhile.

mod batches;
mod columns;
mod csv;
mod lines;
mod ndjson;
mod progress;
mod record;
mod tsv;

use crate::args::{Format, LoadArgs};
use crate::exit::{Exit, Failure};
use crate::{interrupt, output, store};
use batches::{Batch, Batches};
use columns::Columns;
use lines::{Lines, Problem};
use progress::Progress;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;
use terrane::{Db, Durability};

/// How much of the input is read at once, in bytes.
const INPUT_BYTES: usize = 1 << 20;
/// Batches that may wait to be written while the reader goes on.
const BATCHES_AHEAD: usize = 4;
/// How often a silent input is left to look for a Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// A row: what to put.
#[derive(Debug, Default)]
struct Row {
    /// Its first line, counted from 1.
    line: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// A format's reader.
trait Rows: Send {
    /// Reads the next row; false at the end of the input.
    fn read(&mut self, row: &mut Row) -> Result<bool, Problem>;
    /// Where the input is.
    fn lines(&self) -> &Lines;
}

/// Loads the rows; on success all of them are on the medium.
pub fn run(args: &LoadArgs) -> Result<(), Failure> {
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    let format = format(args, file)?;
    let (input, input_bytes) = open(file)?;
    let rows = rows(args, format, Lines::new(input))?;
    interrupt::listen()?;
    let (db, keyspace) = store::write(&args.at, args.policy.as_ref())?;

    let (sender, batches) = sync_channel(BATCHES_AHEAD);
    let name = file.map_or("standard input".into(), |file| file.display().to_string());
    let reader = Batches::new(rows, name, keyspace.id(), args.batch);
    thread::Builder::new()
        .name("rows".into())
        .spawn(move || {
            reader.map(|batch| sender.send(batch)).take_while(Result::is_ok).for_each(drop)
        })
        .map_err(|e| Failure::io("start a thread", &e))?;

    let durability = if args.sync { Durability::Sync } else { Durability::Buffered };
    let mut progress = Progress::new(input_bytes);
    let written = write(&db, &batches, durability, &mut progress);
    let closed = db.close();
    output::say(&progress.finish());
    written?;
    Ok(closed?)
}

/// Writes batches until there are no more.
fn write(
    db: &Db,
    batches: &Receiver<Result<Batch, Failure>>,
    durability: Durability,
    progress: &mut Progress,
) -> Result<(), Failure> {
    loop {
        if interrupt::heard() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        match batches.recv_timeout(PATIENCE) {
            Ok(batch) => {
                let Batch { batch, rows, bytes, input_bytes } = batch?;
                db.write(batch, durability)?;
                progress.advance(rows, bytes, input_bytes);
            }
            Err(RecvTimeoutError::Timeout) => progress.show(),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The format asked for, or the one that the file's extension says.
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
        Failure::new(Exit::Usage, format!("{expected}, found {found}"))
    })
}

/// The input, and its length if it is a file.
fn open(file: Option<&Path>) -> Result<(Box<dyn BufRead + Send>, Option<u64>), Failure> {
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
    match format {
        Format::Tsv => Ok(Box::new(tsv::Tsv::new(lines, columns()?))),
        Format::Csv => Ok(Box::new(csv::Csv::new(lines, columns()?))),
        Format::Ndjson if args.header => {
            let sentence = "expected --header with tsv or csv, found it with ndjson";
            Err(Failure::new(Exit::Usage, sentence))
        }
        Format::Ndjson => {
            Ok(Box::new(ndjson::Ndjson::new(lines, args.key.as_deref(), args.value.as_deref())))
        }
    }
}

#[cfg(test)]
mod tests;
