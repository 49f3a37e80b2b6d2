//! Inline commands: words of a line, some of them in quotes.
//!
//! 1. Spaces separate words.
//! 2. Double quotes hold escapes: `\n`, `\r`, `\t`, `\b`, `\a`, `\x` with two hexadecimal digits, or a character that
//!    stands for itself.
//! 3. Single quotes hold one escape: `\'`.
//! 4. A space or the end follows a closing quote.

use super::Span;

/// Splits a line: appends the bytes of its words to `bytes`, and their places to `spans`. Returns `None` if a quote is
/// not closed.
pub(super) fn split(line: &[u8], bytes: &mut Vec<u8>, spans: &mut Vec<Span>) -> Option<()> {
    // A zero ends the line, as in Redis.
    let mut rest = line.split(|byte| *byte == 0).next().unwrap_or_default();
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(());
        }
        let start = bytes.len();
        rest = word(rest, bytes)?;
        spans.push((start, bytes.len()));
    }
}

/// Appends the first word of `rest`, and returns what follows it.
fn word<'a>(rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = rest;
    loop {
        rest = match rest {
            [] => return Some(rest),
            [space, ..] if space.is_ascii_whitespace() => return Some(rest),
            [b'"', quoted @ ..] => return closed(double(quoted, bytes)?),
            [b'\'', quoted @ ..] => return closed(single(quoted, bytes)?),
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        };
    }
}

/// Returns what follows a closing quote, if that is a space or nothing.
fn closed(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}

fn double<'a>(rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = rest;
    loop {
        rest = match rest {
            [] => return None,
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(hex(*high) << 4 | hex(*low));
                after
            }
            [b'\\', escaped, after @ ..] => {
                bytes.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        };
    }
}

fn single<'a>(rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = rest;
    loop {
        rest = match rest {
            [] => return None,
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => {
                bytes.push(b'\'');
                after
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        };
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
