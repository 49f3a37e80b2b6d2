//! Places in the change feed.

use crate::entry::{MAX_SEQ, Seq};
use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// The history that sequence numbers count: a number drawn at random when a store is created. A checkpoint has its
/// own, and [`Db::begin_lineage`](crate::Db::begin_lineage) starts another.
///
/// As text it is 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lineage(#[doc(hidden)] pub u64);

/// A place in the change feed: a lineage, and the sequence number of the last batch before the place.
///
/// As text it is the lineage, a dash, and the sequence number: `9f86d081884c7d65-17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FeedCursor {
    /// The lineage.
    pub lineage: Lineage,
    /// The sequence number of the last batch before the place; 0 is before every batch.
    pub sequence: Seq,
}

/// Digits of a lineage.
const DIGITS: usize = 16;
/// The most characters of a malformed cursor that its error shows: some more than a cursor has.
const SHOWN: usize = 40;

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lineage, self.sequence)
    }
}

impl FromStr for FeedCursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = text.split_once('-').and_then(|(lineage, sequence)| {
            let is_digits = |text: &str, radix| text.chars().all(|c| c.is_digit(radix));
            let is_whole = lineage.len() == DIGITS && is_digits(lineage, 16);
            let lineage = is_whole.then(|| u64::from_str_radix(lineage, 16).ok())??;
            let sequence = is_digits(sequence, 10).then(|| sequence.parse().ok())??;
            (sequence <= MAX_SEQ).then_some(FeedCursor { lineage: Lineage(lineage), sequence })
        });
        parsed.ok_or_else(|| {
            let expected =
                "16 hexadecimal digits, a dash and a number; for example 9f86d081884c7d65-17";
            let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(end, _)| end);
            let shown = text.get(..end).unwrap_or_default();
            let more = text.len() - shown.len();
            let more = if more > 0 { format!(" and {more} bytes more") } else { String::new() };
            // `Debug` would have a browser load tables of what can be printed.
            let shown = shown.escape_default();
            Error::invalid("cursor", expected, format_args!("\"{shown}\"{more}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        for (lineage, sequence) in [(1, 0), (u64::MAX, MAX_SEQ), (0x9f86_d081_884c_7d65, 17)] {
            let cursor = FeedCursor { lineage: Lineage(lineage), sequence };
            assert_eq!(cursor.to_string().parse::<FeedCursor>().unwrap(), cursor);
        }
        for malformed in [
            "",
            "17",
            "9f86d081884c7d65",
            "9f86d081884c7d65-",
            "9f86d081884c7d65-x",
            "9f86d081884c7d65-+1",
            "9f86d081884c7d6-17",
            "+f86d081884c7d65-17",
            "9f86d081884c7d65-72057594037927936",
            "9f86d081884c7d65-17 ",
        ] {
            assert!(malformed.parse::<FeedCursor>().is_err(), "{malformed}");
        }
    }

    #[test]
    fn the_error_of_a_long_text_shows_its_start() {
        let refused = "é".repeat(60_000).parse::<FeedCursor>().unwrap_err().to_string();
        let end = "\\u{e9}\" and 119920 bytes more";
        assert!(refused.len() < 400 && refused.ends_with(end), "{refused}");
    }
}
