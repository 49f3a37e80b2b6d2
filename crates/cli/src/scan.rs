//! `scan`: keys and values in order, as rows that `load` reads back.

use crate::args::{ScanArgs, ScanFormat};
use crate::escape::{escape, hex};
use crate::exit::Failure;
use crate::output::Output;
use crate::store;
use std::io::{self, Write};

/// Prints the rows in range.
pub fn run(args: &ScanArgs) -> Result<(), Failure> {
    let range = args.within.range()?;
    let (db, keyspace) = store::read(&args.at)?;
    let mut cursor = keyspace.cursor(range)?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut out = Output::new();
    while left > 0
        && let Some((key, value)) = if args.reverse { cursor.prev()? } else { cursor.next()? }
    {
        let value = (!args.keys_only).then_some(value);
        out.write(|out| match args.format {
            ScanFormat::Tsv => tsv(key, value, out),
            ScanFormat::Ndjson => ndjson(key, value, out),
        })?;
        left -= 1;
    }
    drop(cursor);
    out.finish()?;
    Ok(db.close()?)
}

fn tsv(key: &[u8], value: Option<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    escape(key, out)?;
    if let Some(value) = value {
        out.write_all(b"\t")?;
        escape(value, out)?;
    }
    out.write_all(b"\n")
}

fn ndjson(key: &[u8], value: Option<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{")?;
    json_field("key", key, out)?;
    if let Some(value) = value {
        out.write_all(b",")?;
        json_field("value", value, out)?;
    }
    out.write_all(b"}\n")
}

fn json_field(name: &str, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        write!(out, "\"{name}_hex\":\"")?;
        hex(bytes, out)?;
        return out.write_all(b"\"");
    };
    write!(out, "\"{name}\":")?;
    serde_json::to_writer(out, text).map_err(Into::into)
}
