//! Rows as lines of JSON, as `terrane scan --json` prints them: bytes that are not UTF-8 have `_hex` after their name.

use super::problem::Problem;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::fmt::Write;
use terrane::{Millis, Seq};

/// The media type of lines of JSON.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// A row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Row<'a> {
    pub key: &'a [u8],
    pub value: Option<&'a [u8]>,
    pub version: Option<Seq>,
    pub expires: Option<Millis>,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        bytes_entry(&mut object, "key", "key_hex", self.key)?;
        if let Some(value) = self.value {
            bytes_entry(&mut object, "value", "value_hex", value)?;
        }
        if let Some(version) = self.version {
            object.serialize_entry("version", &version)?;
        }
        if let Some(expires) = self.expires {
            object.serialize_entry("expires", &expires)?;
        }
        object.end()
    }
}

/// The line after the last row.
#[derive(Clone, Copy)]
pub(crate) enum Last<'a> {
    /// There are no more rows.
    End,
    /// The next row has this key.
    Next(&'a [u8]),
}

impl Serialize for Last<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        match self {
            Last::End => object.serialize_entry("end", &true)?,
            Last::Next(key) => bytes_entry(&mut object, "next", "next_hex", key)?,
        }
        object.end()
    }
}

/// Adds a member of bytes: as text, or as hexadecimal digits under the other name.
pub(crate) fn bytes_entry<M: SerializeMap>(
    object: &mut M,
    name: &str,
    name_hex: &str,
    bytes: &[u8],
) -> Result<(), M::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.serialize_entry(name, text),
        Err(_) => object.serialize_entry(name_hex, &to_hex(bytes)),
    }
}

/// Appends a line.
pub(crate) fn push(line: &impl Serialize, out: &mut Vec<u8>) {
    // Neither rows nor writes to memory can fail.
    let _ = serde_json::to_writer(&mut *out, line);
    out.push(b'\n');
}

/// Returns a line.
pub(crate) fn line(of: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::new();
    push(of, &mut line);
    line
}

/// The last line of a stream that failed.
#[derive(serde::Serialize)]
pub(crate) struct Failed<'a> {
    pub error: &'a Problem,
}

fn to_hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to memory cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Returns the bytes of a member that is given as text or as hexadecimal digits, if it is given.
pub(crate) fn bytes<'a>(
    name: &str,
    text: Option<Cow<'a, str>>,
    hex: Option<Cow<'a, str>>,
) -> Result<Option<Cow<'a, [u8]>>, String> {
    match (text, hex) {
        (Some(_), Some(_)) => Err(format!("expected {name} or {name}_hex, found both")),
        (Some(Cow::Borrowed(text)), None) => Ok(Some(Cow::Borrowed(text.as_bytes()))),
        (Some(Cow::Owned(text)), None) => Ok(Some(Cow::Owned(text.into_bytes()))),
        (None, Some(hex)) => match from_hex(hex.as_bytes()) {
            Some(bytes) => Ok(Some(Cow::Owned(bytes))),
            None => Err(format!("{name}_hex: expected pairs of hexadecimal digits, found {hex}")),
        },
        (None, None) => Ok(None),
    }
}

/// Returns the bytes of pairs of hexadecimal digits.
pub(crate) fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, odd) = digits.as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok();
    if odd.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(row: &impl Serialize) -> String {
        let mut out = Vec::new();
        push(row, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_are_those_of_the_command_line() {
        let row = Row { key: b"a\"", value: Some(b"\xff"), ..Row::default() };
        assert_eq!(line(&row), "{\"key\":\"a\\\"\",\"value_hex\":\"ff\"}\n");
        let row = Row { key: b"\x80", version: Some(7), expires: Some(9), ..Row::default() };
        assert_eq!(line(&row), "{\"key_hex\":\"80\",\"version\":7,\"expires\":9}\n");
        assert_eq!(line(&Last::End), "{\"end\":true}\n");
        assert_eq!(line(&Last::Next(b"b")), "{\"next\":\"b\"}\n");
    }

    #[test]
    fn a_member_is_given_once_and_in_digits() {
        let member = |text: Option<&'static str>, hex: Option<&'static str>| {
            bytes("key", text.map(Cow::Borrowed), hex.map(Cow::Borrowed))
        };
        assert!(member(Some("a"), Some("61")).unwrap_err().contains("found both"));
        for odd in ["6", "6g", "+1"] {
            assert!(member(None, Some(odd)).unwrap_err().contains(odd));
        }
        assert_eq!(member(None, None), Ok(None));
    }

    proptest! {
        #[test]
        fn any_bytes_round_trip_through_a_row(key in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = line(&Row { key: &key, ..Row::default() });
            let row: serde_json::Value = serde_json::from_str(&text).unwrap();
            let member = |name: &str| row[name].as_str().map(|text| Cow::Owned(text.to_owned()));
            let read = bytes("key", member("key"), member("key_hex")).unwrap().unwrap();
            prop_assert_eq!(&*read, &key[..]);
        }
    }
}
