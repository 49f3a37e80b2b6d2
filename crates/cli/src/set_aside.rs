//! `set-aside`: what recovery took out of a store, since a crash seemed to have cut it short.

use crate::args::SetAsideArgs;
use crate::escape::escape;
use crate::exit::Failure;
use crate::output::{self, Output, counted};
use crate::store;
use std::collections::BTreeMap;
use std::io::{self, Write};
use terrane::entry::{Kind, Seq};
use terrane::{Db, KeyspaceId};

/// Prints the entries that can still be read, or removes all of it.
pub fn run(args: &SetAsideArgs) -> Result<(), Failure> {
    // Opened to be written: what nobody has set aside yet is then.
    let db = store::existing(&args.dir)?;
    let bytes = match args.drop {
        true => db.drop_set_aside()?,
        false => print(&db)?,
    };
    // Its files go now, not when the store is opened next.
    db.settle()?;
    db.close()?;
    let (bytes, done) =
        (counted(bytes, "byte", "bytes"), if args.drop { "removed" } else { "set aside" });
    output::say(&format!("{done}: {bytes}"));
    Ok(())
}

/// Prints the entries, and returns how many bytes are set aside.
fn print(db: &Db) -> Result<u64, Failure> {
    let mut names = BTreeMap::new();
    for name in db.keyspaces() {
        names.insert(db.keyspace(&name)?.id(), name);
    }
    let mut out = Output::new();
    let mut bytes = 0;
    for kept in db.set_aside() {
        bytes += kept.bytes;
        for (seq, batch) in db.read_set_aside(&kept)? {
            // A batch that is not sound is read as far as it is.
            for (kind, id, key, value) in batch.iter().map_while(Result::ok) {
                out.write(|out| line(out, seq, kind, name(&names, id), key, value))?;
            }
        }
    }
    out.finish()?;
    Ok(bytes)
}

/// The name of a keyspace; one that is gone has none.
fn name(names: &BTreeMap<KeyspaceId, String>, id: KeyspaceId) -> &str {
    names.get(&id).map_or("", String::as_str)
}

fn line(
    out: &mut dyn Write,
    seq: Seq,
    kind: Kind,
    keyspace: &str,
    key: &[u8],
    value: &[u8],
) -> io::Result<()> {
    let kind = match kind {
        Kind::Put => "put",
        Kind::Delete => "delete",
    };
    write!(out, "{seq}\t{kind}\t")?;
    escape(keyspace.as_bytes(), out)?;
    for field in [key, value] {
        out.write_all(b"\t")?;
        escape(field, out)?;
    }
    out.write_all(b"\n")
}
