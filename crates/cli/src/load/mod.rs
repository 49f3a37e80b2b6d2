//! `load`: the rows of a file, in batches.
//!
//! 1. A reader on a thread of its own parses rows and gathers them into batches, so that parsing
//!    and writing go on at once, and a Ctrl-C is heard while the input is silent.
//! 2. The store is opened, or made, when the first batch is there: a load that is wrong from its
//!    first rows on leaves none.
//! 3. The main thread writes the batches. A malformed row or a Ctrl-C ends the loop between two of
//!    them: what is in the store is always whole batches, from the first on.
//! 4. The store is closed, which puts all of it on the medium, and a summary says how many rows
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
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use terrane::{Durability, KeyspaceId};

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
    let name = file.map_or("standard input".into(), |file| file.display().to_string());
    let reader = Reader::start(Batches::new(rows, name, args.batch))?;
    let mut progress = Progress::new(input_bytes);
    let loaded = write(args, &reader, &mut progress);
    output::say(&progress.finish());
    loaded
}

/// Opens the store when the first batch is there, and writes batches until there are no more.
fn write(args: &LoadArgs, reader: &Reader, progress: &mut Progress) -> Result<(), Failure> {
    next(&reader.first, progress)?;
    let (db, keyspace) = store::write(&args.at, args.policy.as_ref())?;
    // The reader has gone only if it could not go on; what it left is found below.
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
            ended => break ended.map(drop),
        }
    };
    if let Ok(stats) = db.stats() {
        progress.waited(&stats.waits);
    }
    let closed = db.close();
    written?;
    Ok(closed?)
}

/// What the reader has next; none when it has ended.
fn next<T>(
    from: &Receiver<Result<T, Failure>>,
    progress: &mut Progress,
) -> Result<Option<T>, Failure> {
    loop {
        interrupt::check()?;
        match from.recv_timeout(PATIENCE) {
            Ok(found) => return found.map(Some),
            Err(RecvTimeoutError::Timeout) => progress.show(),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// The thread that reads rows.
struct Reader {
    /// Whether the first batch is sound.
    first: Receiver<Result<(), Failure>>,
    /// Takes the keyspace that the batches are for.
    keyspace: SyncSender<KeyspaceId>,
    batches: Receiver<Result<Batch, Failure>>,
}

impl Reader {
    fn start(mut rows: Batches) -> Result<Reader, Failure> {
        let (said, first) = sync_channel(1);
        let (keyspace, asked) = sync_channel(1);
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let read = move || {
            let sound = rows.read_first();
            let failed = sound.is_err();
            if said.send(sound).is_err() || failed {
                return;
            }
            let Ok(keyspace) = asked.recv() else { return };
            while let Some(batch) = rows.next(keyspace).transpose() {
                let ended = batch.is_err();
                if sender.send(batch).is_err() || ended {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("rows".into()).spawn(read);
        started.map_err(|e| Failure::io("start a thread", &e))?;
        Ok(Reader { first, keyspace, batches })
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
