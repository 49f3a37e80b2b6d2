//! A row as text: a line that `load` reads back.

use crate::escape::{NOTHING, escape, hex};
use std::io::{self, Write};

/// Key and value with a tab between, escaped.
pub fn tsv(key: &[u8], value: Option<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    escape(key, out)?;
    if key.is_empty() && value.is_none() {
        // An empty line is no row.
        out.write_all(NOTHING)?;
    }
    if let Some(value) = value {
        out.write_all(b"\t")?;
        escape(value, out)?;
    }
    out.write_all(b"\n")
}

/// `{"key":..,"value":..}`, or `key_hex` and `value_hex` for bytes that are not UTF-8.
pub fn ndjson(key: &[u8], value: Option<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{")?;
    field("key", key, out)?;
    if let Some(value) = value {
        out.write_all(b",")?;
        field("value", value, out)?;
    }
    out.write_all(b"}\n")
}

/// A member of a JSON object.
pub fn field(name: &str, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        write!(out, "\"{name}_hex\":\"")?;
        hex(bytes, out)?;
        return out.write_all(b"\"");
    };
    write!(out, "\"{name}\":")?;
    serde_json::to_writer(out, text).map_err(Into::into)
}
