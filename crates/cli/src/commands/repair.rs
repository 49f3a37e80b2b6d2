//! `repair`: copies what can still be read of a damaged store into a new one.

use crate::copy;
use crate::escape::shown;
use crate::exit::{Exit, Failure};
use crate::message::counted;
use crate::output::Output;
use crate::{interrupt, store};
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terrane::storage::File;
use terrane::storage::salvage::{self, Remains};
use terrane::storage::vfs::{NativeVfs, open_shared};
use terrane::table::LostBlock;
use terrane::{
    Db, DoubtfulRange, DoubtfulRows, Error, ErrorKind, Options, Salvaged, SalvagedFile, repair,
};

/// Bytes at which the report cuts keys.
const KEY_BYTES: usize = 40;

/// Copy what can still be read of a damaged store into a new one
///
/// The damaged store is only read. The report lists its files, what was read of each, and what was
/// lost: blocks with their keys, and parts of logs. It names and counts doubtful rows: a newer version or the
/// delete of such a row may be lost. The exit code is 0 if nothing was lost, and 6 if something was or may
/// have been; the new store holds the rest. An interrupted repair leaves no new store.
#[derive(Args)]
pub struct RepairArgs {
    /// Read the damaged store in this directory or single file
    pub dir: PathBuf,
    /// Create this directory for the new store; it must not exist
    pub target: PathBuf,
    /// Put doubtful rows into keyspaces of their own: rows of `default` into `default.doubtful`
    #[arg(long)]
    pub doubtful_apart: bool,
    /// Print the report as a JSON object
    #[arg(long)]
    pub json: bool,
}

/// A file of the damaged store whose reads fail after a signal, so that the repair ends soon and its copy is
/// removed.
struct Interruptible(Arc<dyn File>);

impl File for Interruptible {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> terrane::Result<usize> {
        if interrupt::check().is_err() {
            return Err(Error::io("read", self.name(), 0, io::ErrorKind::Interrupted.into()));
        }
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> terrane::Result<usize> {
        Err(Error::read_only("write", self.name()))
    }

    fn sync(&self) -> terrane::Result<()> {
        Err(Error::read_only("sync", self.name()))
    }

    fn set_len(&self, _: u64) -> terrane::Result<()> {
        Err(Error::read_only("resize", self.name()))
    }

    fn len(&self) -> terrane::Result<u64> {
        self.0.len()
    }

    fn next_data(&self, offset: u64) -> terrane::Result<u64> {
        self.0.next_data(offset)
    }
}

/// Writes the new store and reports what was read and lost; any loss is a failure.
pub fn run(args: &RepairArgs) -> Result<(), Failure> {
    interrupt::listen()?;
    let mut report = Salvaged::default();
    read(&args.dir, |mut remains| {
        for (_, file) in &mut remains.files {
            *file = Arc::new(Interruptible(file.clone()));
        }
        copy::into_new_directory(&args.target, |place| {
            let db = Db::open(place, Options::default())?;
            let apart =
                if args.doubtful_apart { DoubtfulRows::Apart } else { DoubtfulRows::Together };
            report = repair(remains, &db, apart)?;
            interrupt::check()?;
            Ok(db.close()?)
        })
    })?;
    let printed = print(&report, args.json);
    if report.complete {
        return printed;
    }
    let (place, target) = (args.dir.display(), args.target.display());
    let sentence = format!("{target} holds what could be read of {place}, which was not all of it");
    Err(Failure::new(Exit::Damage, sentence))
}

/// Finds what is left of a store and passes it on, while nobody writes to it.
fn read(place: &Path, done: impl FnOnce(Remains) -> Result<(), Failure>) -> Result<(), Failure> {
    store::present(place)?;
    let nothing = || {
        let sentence = format!("{} holds nothing of a Terrane store", place.display());
        Failure::new(Exit::NoStore, sentence)
    };
    if place.is_file() {
        let remains = salvage::volume(&open_shared(place)?)?;
        return if remains.is_empty() { Err(nothing()) } else { done(remains) };
    }
    let vfs = NativeVfs::read_only(place)?;
    let _lock = match vfs.lock("terrane repair") {
        Err(e) if matches!(e.kind(), ErrorKind::Busy(_)) => return Err(e.into()),
        // A store that cannot be locked is read all the same.
        lock => lock.ok(),
    };
    let remains = salvage::directory(&vfs)?;
    if remains.is_empty() {
        return Err(nothing());
    }
    done(remains)
}

fn print(report: &Salvaged, json: bool) -> Result<(), Failure> {
    let mut out = Output::new();
    if json {
        out.json(report)?;
        return out.finish();
    }
    for file in &report.files {
        let of = file.keyspace.as_ref().map_or(String::new(), |k| format!(" of keyspace {k}"));
        let entries = counted(file.entries, "entry", "entries");
        out.line(&format!("{}: {entries}{of}", file.file))?;
        out.lines(&lost(file))?;
    }
    for note in &report.notes {
        out.line(&format!("note: {note}"))?;
    }
    if let Some(last) = report.last_write {
        out.line(&format!("last write found: sequence number {last}"))?;
    }
    for range in &report.doubtful {
        out.line(&doubtful(range))?;
    }
    if !report.doubtful.is_empty() {
        let all = counted(report.doubtful_rows, "row is", "rows are");
        out.line(&format!("{all} doubtful: a newer version or the delete may be lost"))?;
    }
    for (keyspace, rows) in &report.rows {
        out.line(&format!("keyspace {keyspace}: {}", counted(*rows, "row", "rows")))?;
    }
    out.finish()
}

/// Returns the bounds of a key range in words.
fn bounds(from: Option<&Vec<u8>>, through: Option<&Vec<u8>>) -> String {
    let from = from.map_or("the first key".to_owned(), |k| shown(k, KEY_BYTES));
    let through = through.map_or("the last key".to_owned(), |k| shown(k, KEY_BYTES));
    format!("from {from} through {through}")
}

fn doubtful(range: &DoubtfulRange) -> String {
    let rows = counted(range.rows, "row", "rows");
    let of =
        range.keyspace.as_ref().map_or("every keyspace".to_owned(), |k| format!("keyspace {k}"));
    let bounds = bounds(range.from.as_ref(), range.through.as_ref());
    format!("doubtful: {rows} of {of} {bounds} ({}, {})", range.file, range.reason)
}

fn lost(file: &SalvagedFile) -> Vec<String> {
    let block = |lost: &LostBlock| {
        let bounds = bounds(lost.from.as_ref(), lost.through.as_ref());
        let damage = &lost.damage;
        let unknown = || "an unknown number of entries".to_owned();
        let entries = lost.entries.map_or_else(unknown, |n| counted(n, "entry", "entries"));
        format!("  lost: {entries} {bounds} ({damage})")
    };
    let blocks = file.lost_blocks.iter().map(block);
    blocks.chain(file.lost.iter().map(|lost| format!("  lost: {lost}"))).collect()
}
