//! Lines of the input, numbered, and what can be wrong with them.

use std::io::{self, BufRead, Read};

/// The longest row, in bytes: four for each of the longest value, and as much as that for the rest.
pub const MAX_ROW_BYTES: usize = 512 << 20;

/// Reason why there is no next row.
#[derive(Debug)]
pub enum Problem {
    /// A row is malformed.
    Row {
        /// Its first line, counted from 1.
        line: u64,
        /// Content of a sound row.
        expected: String,
        /// Content found.
        found: String,
    },
    /// The system does not give the input.
    Io(io::Error),
}

impl Problem {
    /// A malformed row.
    pub fn row(line: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Problem::Row { line, expected: expected.into(), found: found.into() }
    }
}

/// The lines of an input.
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    number: u64,
    bytes: u64,
    /// A terminal's input continues after its end: reading again would wait for another one.
    ended: bool,
}

impl Lines {
    pub fn new(input: Box<dyn BufRead + Send>) -> Self {
        Lines { input, number: 0, bytes: 0, ended: false }
    }

    /// The number of the line read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends the next line, and its end, to `row`; false where the input ends. A byte order mark
    /// before the first line is left out.
    pub fn append(&mut self, row: &mut Vec<u8>) -> Result<bool, Problem> {
        if self.ended {
            return Ok(false);
        }
        let before = row.len();
        let room = MAX_ROW_BYTES.saturating_sub(before);
        let mut limited = (&mut self.input).take(room as u64);
        let read = limited.read_until(b'\n', row).map_err(Problem::Io)?;
        if read == room && row.last() != Some(&b'\n') {
            let expected = format!("a row of at most {MAX_ROW_BYTES} bytes");
            return Err(Problem::row(self.number + 1, expected, "a longer one"));
        }
        self.bytes += read as u64;
        self.ended = row.last() != Some(&b'\n') || read == 0;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.number == 1 && row.starts_with("\u{feff}".as_bytes()) {
            row.drain(..3);
        }
        Ok(true)
    }

    /// Replaces `row` by the next line without its end.
    pub fn next(&mut self, row: &mut Vec<u8>) -> Result<bool, Problem> {
        row.clear();
        let found = self.append(row)?;
        row.truncate(without_end(row).len());
        Ok(found)
    }
}

/// A line without the newline, or carriage return and newline, that ends it.
pub fn without_end(line: &[u8]) -> &[u8] {
    match line {
        [text @ .., b'\r', b'\n'] | [text @ .., b'\n'] => text,
        text => text,
    }
}
