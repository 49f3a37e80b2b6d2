//! `scan`: keys and values in order, as rows that `load` reads back.

use crate::args::{self, ScanArgs, ScanFormat};
use crate::escape::{escape, to_hex};
use crate::exit::Failure;
use crate::output::Output;
use crate::store;
use std::ffi::OsString;
use std::ops::Bound;
use terrane::Range;

/// Prints the rows in range.
pub fn run(args: &ScanArgs) -> Result<(), Failure> {
    let range = range(args)?;
    let db = store::existing(&args.dir)?;
    let mut scan = db.default_keyspace().scan(range)?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut out = Output::new();
    let mut row = Vec::new();
    while left > 0
        && let Some((key, value)) = scan.next()?
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

/// What lies within all bounds given.
fn range(args: &ScanArgs) -> Result<Range, Failure> {
    let bytes = |argument: &Option<OsString>| {
        argument.as_ref().map(|a| args::bytes(a, args.hex)).transpose()
    };
    let mut range = bytes(&args.prefix)?.map_or_else(Range::default, |p| Range::prefix(&p));
    if let Some(from) = bytes(&args.from)? {
        match &range.from {
            Bound::Included(prefix) if *prefix >= from => {}
            _ => range.from = Bound::Included(from),
        }
    }
    if let Some(to) = bytes(&args.to)? {
        match &range.to {
            Bound::Excluded(end) if *end <= to => {}
            _ => range.to = Bound::Excluded(to),
        }
    }
    Ok(range)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn bounds(from: Option<&str>, to: Option<&str>, prefix: Option<&str>) -> Range {
        let given = |bound: Option<&str>| bound.map(OsString::from);
        range(&ScanArgs {
            dir: PathBuf::new(),
            from: given(from),
            to: given(to),
            prefix: given(prefix),
            limit: None,
            format: ScanFormat::Tsv,
            keys_only: false,
            hex: false,
        })
        .unwrap()
    }

    #[test]
    fn a_prefix_and_bounds_together_give_what_lies_in_both() {
        let range = |from: &str, to: &str| Range {
            from: Bound::Included(from.into()),
            to: Bound::Excluded(to.into()),
        };
        assert_eq!(bounds(None, None, Some("b")), range("b", "c"));
        assert_eq!(bounds(Some("a"), Some("d"), Some("b")), range("b", "c"));
        assert_eq!(bounds(Some("b5"), Some("b7"), Some("b")), range("b5", "b7"));
        assert_eq!(bounds(Some("d"), None, Some("b")), range("d", "c"));
        assert_eq!(bounds(None, None, None), Range::default());
    }
}
