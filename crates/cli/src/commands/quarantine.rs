//! `quarantine`: lists the writes that recovery discarded as cut short by a crash, or drops them.

use crate::args::InStore;
use crate::escape::escape;
use crate::exit::Failure;
use crate::message::{self, counted};
use crate::output::Output;
use crate::{row, store};
use clap::Args;
use std::collections::BTreeMap;
use std::io::{self, Write};
use terrane::batch::Operation;
use terrane::entry::split_expiring;
use terrane::{Db, KeyspaceId, Millis, Operand, Seq};

/// List the writes that a crash cut short, as far as they can be read, or drop them
///
/// Log records that are not complete, or that follow one that is not, and that no sync vouches for, are
/// not part of the store: the next command that writes to it moves them into quarantine. Each line
/// has a write's sequence number, put, delete, delete-range or drop-keyspace, keyspace, key and value, separated
/// by tabs and escaped as `scan` escapes them. For a range, the key is its first key and the value the first key
/// after it; for the removal of a keyspace, the key is its name. The time of a value that expires is printed
/// with --json alone.
#[derive(Args)]
pub struct QuarantineArgs {
    /// Drop everything in quarantine
    #[arg(long, conflicts_with = "json")]
    pub drop: bool,
    /// Print a JSON object on each line
    #[arg(long)]
    pub json: bool,
}

/// A write in quarantine.
struct Entry<'a> {
    seq: Seq,
    kind: &'static str,
    keyspace: &'a str,
    key: &'a [u8],
    value: Option<&'a [u8]>,
    expires_at: Option<Millis>,
}

/// Opens the store and lists, or drops.
pub fn run(InStore { dir, args }: &InStore<QuarantineArgs>) -> Result<(), Failure> {
    if args.drop {
        let db = store::writing(dir)?;
        let bytes = db.drop_quarantine()?;
        // Its files go now, not when the store is opened next.
        db.wait_until_idle()?;
        db.close()?;
        message::note(&format!("dropped {}", counted(bytes, "byte", "bytes")));
        return Ok(());
    }
    let db = store::reading(dir)?;
    let bytes = print(&db, args.json)?;
    db.close()?;
    message::note(&format!("{} in quarantine", counted(bytes, "byte", "bytes")));
    Ok(())
}

/// Prints the writes, and returns how many bytes are in quarantine.
fn print(db: &Db, json: bool) -> Result<u64, Failure> {
    let mut names = BTreeMap::new();
    for name in db.keyspaces() {
        if let Some(keyspace) = db.open_keyspace(&name)? {
            names.insert(keyspace.id(), name);
        }
    }
    let mut out = Output::new();
    let mut bytes = 0;
    for kept in db.quarantine() {
        bytes += kept.bytes;
        for (seq, batch) in db.read_quarantine(&kept)? {
            // A damaged batch is read up to its damage.
            for (id, operation) in batch.iter().map_while(Result::ok) {
                let keyspace = name(&names, id);
                let mut expires_at = None;
                let words;
                let (kind, key, value) = match operation {
                    Operation::Put(key, value) => ("put", key, Some(value)),
                    Operation::PutExpiring(key, stored) => {
                        let (at, value) = split_expiring(stored).unzip();
                        expires_at = at;
                        ("put", key, value)
                    }
                    Operation::Merge(key, operand) => {
                        words = in_words(operand);
                        ("merge", key, Some(words.as_slice()))
                    }
                    Operation::Delete(key) => ("delete", key, None),
                    Operation::DeleteRange(from, to) => ("delete-range", from, to),
                    Operation::DropKeyspace(name) => ("drop-keyspace", name, None),
                };
                let entry = Entry { seq, kind, keyspace, key, value, expires_at };
                out.write(|out| if json { entry.ndjson(out) } else { entry.tsv(out) })?;
            }
        }
    }
    out.finish()?;
    Ok(bytes)
}

/// An operand, such as `add 5`; one of a merge operator as it is.
fn in_words(operand: &[u8]) -> Vec<u8> {
    match Operand::decode(operand) {
        Some(Operand::Add(n)) => format!("add {n}").into_bytes(),
        Some(Operand::Min(n)) => format!("min {n}").into_bytes(),
        Some(Operand::Max(n)) => format!("max {n}").into_bytes(),
        Some(Operand::Custom(operand)) => operand.to_vec(),
        _ => operand.to_vec(),
    }
}

/// The name of a keyspace; empty if it was dropped.
fn name(names: &BTreeMap<KeyspaceId, String>, id: KeyspaceId) -> &str {
    names.get(&id).map_or("", String::as_str)
}

impl Entry<'_> {
    fn tsv(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}\t{}\t", self.seq, self.kind)?;
        escape(self.keyspace.as_bytes(), out)?;
        out.write_all(b"\t")?;
        row::tsv(self.key, Some(self.value.unwrap_or_default()), out)
    }

    fn ndjson(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"sequence\":{},\"kind\":\"{}\",", self.seq, self.kind)?;
        row::field("keyspace", self.keyspace.as_bytes(), out)?;
        out.write_all(b",")?;
        row::field("key", self.key, out)?;
        if let Some(value) = self.value {
            out.write_all(b",")?;
            row::field("value", value, out)?;
        }
        if let Some(at) = self.expires_at {
            write!(out, ",\"expiresAt\":{at}")?;
        }
        out.write_all(b"}\n")
    }
}
