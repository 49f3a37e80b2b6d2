//! `scan`: keys and values in order, as rows that `load` reads back.

use crate::args::{ScanArgs, ScanFormat};
use crate::escape::{escape, to_hex};
use crate::exit::Failure;
use crate::output::Output;
use crate::store;

/// Prints the rows in range.
pub fn run(args: &ScanArgs) -> Result<(), Failure> {
    let range = args.within.range()?;
    let (db, keyspace) = store::read(&args.at)?;
    let mut scan = keyspace.scan(range)?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut out = Output::new();
    let mut row = Vec::new();
    while left > 0
        && let Some((key, value)) = if args.reverse { scan.prev()? } else { scan.next()? }
    {
        row.clear();
        let value = (!args.keys_only).then_some(value);
        match args.format {
            ScanFormat::Tsv => tsv(key, value, &mut row),
            ScanFormat::Ndjson => ndjson(key, value, &mut row),
        }
        out.bytes(&row)?;
        left -= 1;
    }
    drop(scan);
    out.finish()?;
    Ok(db.close()?)
}

fn tsv(key: &[u8], value: Option<&[u8]>, row: &mut Vec<u8>) {
    escape(key, row);
    if let Some(value) = value {
        row.push(b'\t');
        escape(value, row);
    }
    row.push(b'\n');
}

fn ndjson(key: &[u8], value: Option<&[u8]>, row: &mut Vec<u8>) {
    row.push(b'{');
    json_field("key", key, row);
    if let Some(value) = value {
        row.push(b',');
        json_field("value", value, row);
    }
    row.extend_from_slice(b"}\n");
}

fn json_field(name: &str, bytes: &[u8], row: &mut Vec<u8>) {
    let field = match std::str::from_utf8(bytes) {
        Ok(text) => format!("\"{name}\":{}", serde_json::Value::from(text)),
        Err(_) => format!("\"{name}_hex\":\"{}\"", to_hex(bytes)),
    };
    row.extend_from_slice(field.as_bytes());
}
