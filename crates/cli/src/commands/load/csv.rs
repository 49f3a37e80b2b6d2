//! Comma-separated rows, as RFC 4180 has them.
//!
//! * Fields lie between commas, or other separators; rows end with a newline, or a carriage return and a newline.
//! * A field that starts with a quote ends with one: separators and newlines in it are its own, and
//!   two quotes stand for one. After it there is a separator or the end of the row.
//! * A quote elsewhere stands for itself. Empty lines are no rows.
//! * A first line such as `sep=;`, which Excel writes and hides, names the separator.
//! * A first row without a comma, but with semicolons or tabs that are not quoted, is refused unless the
//!   separator is given: all of its columns would be taken for one.
//! * A carriage return that is neither quoted nor before a newline is refused: in a file whose rows
//!   end so, all of them would be one.

use super::Row;
use super::Rows;
use super::columns::Columns;
use super::lines::{Lines, Problem, without_end};
use super::record::Record;
use crate::escape::shown;

/// Reads comma-separated rows.
pub struct Csv {
    /// The byte between two fields.
    separator: u8,
    /// Whether the command line or a first line names the separator.
    named: bool,
    lines: Lines,
    columns: Columns,
    /// The lines of one row, with their ends.
    raw: Vec<u8>,
    record: Record,
}

impl Csv {
    /// Reads rows with `separator` between fields; by default commas, or what a first line names.
    pub fn new(lines: Lines, columns: Columns, separator: Option<u8>) -> Self {
        let (separator, named) = (separator.unwrap_or(b','), separator.is_some());
        Csv { separator, named, lines, columns, raw: Vec::new(), record: Record::default() }
    }

    /// Reads the next record and returns the line where it starts; 0 at the end of the input.
    fn next_record(&mut self) -> Result<u64, Problem> {
        self.raw.clear();
        while without_end(&self.raw).is_empty() {
            self.raw.clear();
            if !self.lines.append(&mut self.raw)? {
                return Ok(0);
            }
            if self.lines.number() == 1
                && let Some(separator) = named_separator(without_end(&self.raw))
            {
                if !self.named {
                    (self.separator, self.named) = (separator, true);
                }
                self.raw.clear();
            }
        }
        let line = self.lines.number();
        self.record.clear();
        let mut at = 0;
        while let Some(next) = self.field(at, line)? {
            at = next;
        }
        Ok(line)
    }

    /// Takes the field at byte `at` of the row, which starts in line `line`; returns where the next
    /// one starts, if there is one.
    fn field(&mut self, at: usize, line: u64) -> Result<Option<usize>, Problem> {
        let rest = self.raw.get(at..).unwrap_or_default();
        if rest.first() == Some(&b'"') {
            return self.quoted_field(at + 1, line);
        }
        let separator = memchr::memchr(self.separator, rest);
        let text = separator.map_or(without_end(rest), |n| rest.get(..n).unwrap_or_default());
        if at == 0 && separator.is_none() {
            self.refuse_other_separator(text, line)?;
        }
        if memchr::memchr(b'\r', text).is_some() {
            let expected = "a newline after each carriage return that is not quoted";
            return Err(Problem::row(line, expected, shown(text, 40)));
        }
        self.record.field().extend_from_slice(text);
        self.record.end_field();
        Ok(separator.map(|n| at + n + 1))
    }

    /// As [`field`](Self::field), after the opening quote.
    fn quoted_field(&mut self, mut at: usize, line: u64) -> Result<Option<usize>, Problem> {
        loop {
            let rest = self.raw.get(at..).unwrap_or_default();
            let Some(quote) = memchr::memchr(b'"', rest) else {
                self.record.field().extend_from_slice(rest);
                at = self.raw.len();
                if !self.lines.append(&mut self.raw)? {
                    let expected = "a quote that ends each quoted field";
                    return Err(Problem::row(line, expected, "the end of the input"));
                }
                continue;
            };
            let (text, after) = rest.split_at(quote);
            self.record.field().extend_from_slice(text);
            match after {
                [_, b'"', ..] => {
                    self.record.field().push(b'"');
                    at += quote + 2;
                }
                [_, separator, ..] if *separator == self.separator => {
                    self.record.end_field();
                    return Ok(Some(at + quote + 2));
                }
                [_, end @ ..] if without_end(end).is_empty() => {
                    self.record.end_field();
                    return Ok(None);
                }
                [_, other @ ..] => {
                    if self.record.len() == 0 {
                        self.refuse_other_separator(other.get(..1).unwrap_or_default(), line)?;
                    }
                    let expected = match self.separator {
                        b',' => "a comma".to_owned(),
                        other => shown(&[other], 1),
                    };
                    let expected = format!("{expected} or the end of the row after a quoted field");
                    return Err(Problem::row(line, expected, shown(without_end(other), 40)));
                }
                [] => return Ok(None),
            }
        }
    }

    /// Refuses a first row of one field if `text`, from it or after it, has a separator of other programs.
    fn refuse_other_separator(&self, text: &[u8], line: u64) -> Result<(), Problem> {
        let others = [(b';', "semicolons", "';'"), (b'\t', "tabs", r"'\t'")];
        let other = others.iter().find(|(other, ..)| memchr::memchr(*other, text).is_some());
        let Some((_, found, option)) = other.filter(|_| !self.named && !self.columns.begun())
        else {
            return Ok(());
        };
        let expected = format!(
            "commas between fields, or --separator {option}; --separator , takes {found} as text"
        );
        Err(Problem::row(line, expected, format!("{found} in a first row without commas")))
    }
}

impl Rows for Csv {
    fn read(&mut self, row: &mut Row) -> Result<bool, Problem> {
        loop {
            match self.next_record()? {
                0 => return Ok(false),
                line if self.columns.fill(&self.record, line, row)? => return Ok(true),
                _ => {}
            }
        }
    }

    fn lines(&self) -> &Lines {
        &self.lines
    }

    fn example(&self) -> String {
        self.columns.example(&char::from(self.separator).to_string())
    }
}

/// Returns the separator that a first line such as `sep=;` names.
fn named_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line {
        [name @ .., b'=', separator] if name.eq_ignore_ascii_case(b"sep") => {
            Some(*separator).filter(|separator| is_separator(*separator))
        }
        _ => None,
    }
}

/// Whether a byte can lie between fields.
fn is_separator(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\r' | b'\n')
}

/// Parses the separator that the command line names.
pub fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        br"\t" => Ok(b'\t'),
        [byte] if is_separator(*byte) => Ok(*byte),
        _ => Err(r"expected one ASCII character other than a letter, digit or quote; for example: ';' or '\t'".into()),
    }
}
