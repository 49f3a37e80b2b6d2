//! Comma-separated rows, as RFC 4180 has them.
//!
//! * Fields lie between commas; rows end with a newline, or a carriage return and a newline.
//! * A field that begins with a quote ends with one: commas and newlines in it are its own, and two
//!   quotes stand for one. After it there is a comma or the end of the row.
//! * A quote elsewhere stands for itself. Empty lines are no rows.
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
    lines: Lines,
    columns: Columns,
    /// The lines of one row, with their ends.
    raw: Vec<u8>,
    record: Record,
}

impl Csv {
    pub fn new(lines: Lines, columns: Columns) -> Self {
        Csv { lines, columns, raw: Vec::new(), record: Record::default() }
    }

    /// Reads the next record and returns the line where it begins; 0 at the end of the input.
    fn next_record(&mut self) -> Result<u64, Problem> {
        self.raw.clear();
        while without_end(&self.raw).is_empty() {
            self.raw.clear();
            if !self.lines.append(&mut self.raw)? {
                return Ok(0);
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

    /// Takes the field at byte `at` of the row, which begins in line `line`; returns where the next
    /// one begins, if there is one.
    fn field(&mut self, at: usize, line: u64) -> Result<Option<usize>, Problem> {
        let rest = self.raw.get(at..).unwrap_or_default();
        if rest.first() == Some(&b'"') {
            return self.quoted_field(at + 1, line);
        }
        let comma = memchr::memchr(b',', rest);
        let text = comma.map_or(without_end(rest), |n| rest.get(..n).unwrap_or_default());
        if memchr::memchr(b'\r', text).is_some() {
            let expected = "a newline after each carriage return that is not quoted";
            return Err(Problem::row(line, expected, shown(text, 40)));
        }
        self.record.field().extend_from_slice(text);
        self.record.end_field();
        Ok(comma.map(|n| at + n + 1))
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
                [_, b',', ..] => {
                    self.record.end_field();
                    return Ok(Some(at + quote + 2));
                }
                [_, end @ ..] if without_end(end).is_empty() => {
                    self.record.end_field();
                    return Ok(None);
                }
                _ => {
                    let expected = "a comma or the end of the row after a quoted field";
                    return Err(Problem::row(
                        line,
                        expected,
                        shown(without_end(after).get(1..).unwrap_or_default(), 40),
                    ));
                }
            }
        }
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
        self.columns.example(",")
    }
}
