//! Tab-separated rows: a line each, fields between tabs, escaped as `scan` writes them. Empty lines
//! are no rows.

use super::Row;
use super::Rows;
use super::columns::Columns;
use super::lines::{Lines, Problem};
use super::record::Record;
use crate::escape::unescape;

/// Reads tab-separated rows.
pub struct Tsv {
    lines: Lines,
    columns: Columns,
    line: Vec<u8>,
    record: Record,
}

impl Tsv {
    pub fn new(lines: Lines, columns: Columns) -> Self {
        Tsv { lines, columns, line: Vec::new(), record: Record::default() }
    }
}

impl Rows for Tsv {
    fn read(&mut self, row: &mut Row) -> Result<bool, Problem> {
        while self.lines.next(&mut self.line)? {
            if self.line.is_empty() {
                continue;
            }
            let number = self.lines.number();
            self.record.clear();
            for field in self.line.split(|b| *b == b'\t') {
                unescape(field, self.record.field()).map_err(|found| {
                    Problem::row(number, r"an escape \t, \n, \r, \\, \& or \xHH", found)
                })?;
                self.record.end_field();
            }
            if self.columns.fill(&self.record, number, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn lines(&self) -> &Lines {
        &self.lines
    }

    fn example(&self) -> String {
        self.columns.example("<TAB>")
    }
}
