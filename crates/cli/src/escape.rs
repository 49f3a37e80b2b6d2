//! Bytes as text that reads back as the same bytes.
//!
//! In tab-separated rows a field is UTF-8 text in which a tab is `\t`, a newline `\n`, a carriage
//! return `\r`, a backslash `\\`, and each byte that no printable character has is `\xHH`. As in Haskell,
//! `\&` is nothing: it stands for an empty key alone on its line. Not printable are bytes that are not
//! UTF-8, control characters, line and paragraph separators, byte order marks, and the marks that
//! reverse the direction of text.

use std::io::{self, Write};

/// The escape of no bytes. Without it a line of one empty field would be an empty line.
pub const NOTHING: &[u8] = br"\&";

/// Writes `bytes` escaped, piece by piece: of long ones there is no second copy.
pub fn escape(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| !plain(*c)) {
            let (before, after) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            match c {
                '\t' => out.write_all(b"\\t")?,
                '\n' => out.write_all(b"\\n")?,
                '\r' => out.write_all(b"\\r")?,
                '\\' => out.write_all(b"\\\\")?,
                c => hex_escapes(c.encode_utf8(&mut [0; 4]).as_bytes(), out)?,
            }
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())?;
        hex_escapes(chunk.invalid(), out)?;
    }
    Ok(())
}

/// Whether a character stands for itself.
fn plain(c: char) -> bool {
    let hidden = matches!(c, '\u{feff}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c != '\\' && !c.is_control() && !hidden
}

fn hex_escapes(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}

/// Appends what an escaped field stands for; otherwise returns what is no escape.
pub fn unescape(field: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = field;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (byte, after) = match escape {
            [_, b't', after @ ..] => (b'\t', after),
            [_, b'n', after @ ..] => (b'\n', after),
            [_, b'r', after @ ..] => (b'\r', after),
            [_, b'\\', after @ ..] => (b'\\', after),
            [_, b'&', after @ ..] => {
                rest = after;
                continue;
            }
            [_, b'x', high, low, after @ ..] => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => return Err(shown(escape, 4)),
            },
            _ => return Err(shown(escape, 2)),
        };
        out.push(byte);
        rest = after;
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Text with what is not printable escaped, for a terminal.
pub fn printable(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    // Writing to memory cannot fail.
    let _ = escape(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes bytes as hexadecimal digits.
pub fn hex(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

/// Bytes as hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(bytes.len() * 2);
    // Writing to memory cannot fail.
    let _ = hex(bytes, &mut digits);
    String::from_utf8_lossy(&digits).into_owned()
}

/// The bytes that hexadecimal digits stand for; `None` if they are none, or odd in number.
pub fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, odd) = digits.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// The first `max` bytes in quotes, for messages.
pub fn shown(bytes: &[u8], max: usize) -> String {
    let (head, cut) = match bytes.split_at_checked(max) {
        Some((head, rest)) if !rest.is_empty() => (head, "..."),
        _ => (bytes, ""),
    };
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = escape(head, &mut out);
    format!("\"{}\"{cut}", String::from_utf8_lossy(&out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        escape(bytes, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn any_bytes_round_trip_through_a_printable_field(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..64),
                any::<String>().prop_map(String::into_bytes),
            ],
        ) {
            let text = escaped(&bytes);
            prop_assert!(text.chars().all(|c| !c.is_control()), "{text:?}");
            let mut back = Vec::new();
            unescape(text.as_bytes(), &mut back).unwrap();
            prop_assert_eq!(back, &bytes[..]);
            prop_assert_eq!(from_hex(to_hex(&bytes).as_bytes()).unwrap(), bytes);
        }
    }

    #[test]
    fn printable_text_is_not_escaped() {
        for text in ["a b-c/@scope", "naïve", "日本語", "हिन्दी", "👩‍🚀"] {
            assert_eq!(escaped(text.as_bytes()), text);
        }
        assert_eq!(escaped(b"a\tb\\c\x00\xff"), "a\\tb\\\\c\\x00\\xff");
        assert_eq!(escaped("\u{202e}".as_bytes()), "\\xe2\\x80\\xae");
    }

    #[test]
    fn a_malformed_escape_is_reported() {
        for (field, named) in [("a\\qb", "\\\\q"), ("\\x4", "\\\\x"), ("\\x4g", "\\\\x4g")] {
            let found = unescape(field.as_bytes(), &mut Vec::new()).unwrap_err();
            assert!(found.contains(named), "{found}");
        }
        assert!(unescape(b"end\\", &mut Vec::new()).is_err());
        assert_eq!(from_hex(b"abc"), None);
        assert_eq!(from_hex(b"0g"), None);
    }
}
