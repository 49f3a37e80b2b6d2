//! Which fields of a record are the key and the value.
//!
//! 1. The first record, be it a header or a row, says how many columns there are; every row has as
//!    many.
//! 2. A column is selected by its number, or by its name in the header.
//! 3. The value is by default the first column that is not the key. Where there is none, a row's
//!    value is its position among the rows, from 0.

use super::Row;
use super::lines::Problem;
use super::record::Record;
use crate::escape::shown;
use crate::exit::{Exit, Failure};
use crate::message::counted;

/// A column, as it was asked for.
#[derive(Debug)]
enum Selector {
    /// Its index, from 0.
    Index(usize),
    Name(String),
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug)]
enum Value {
    Column(usize),
    Position,
}

#[derive(Clone, Copy, Debug)]
struct Resolved {
    count: usize,
    key: usize,
    value: Value,
}

/// The selection, and the position among the rows.
#[derive(Debug)]
pub struct Columns {
    key: Selector,
    value: Option<Selector>,
    header: bool,
    resolved: Option<Resolved>,
    position: u64,
}

impl Columns {
    /// Columns by number or name; without a header there are no names.
    pub fn new(key: Option<&str>, value: Option<&str>, header: bool) -> Result<Self, Failure> {
        let key = key.map_or(Ok(Selector::Index(0)), |k| selector("--key", k, header))?;
        let value = value.map(|v| selector("--value", v, header)).transpose()?;
        Ok(Columns { key, value, header, resolved: None, position: 0 })
    }

    /// Takes key and value from `record`, which begins in line `line`; false for a header.
    pub fn fill(&mut self, record: &Record, line: u64, row: &mut Row) -> Result<bool, Problem> {
        let columns = match self.resolved {
            Some(columns) => columns,
            None => {
                let columns = self.resolve(record, line)?;
                self.resolved = Some(columns);
                if self.header {
                    return Ok(false);
                }
                columns
            }
        };
        if record.len() != columns.count {
            let expected = format!("{} as in the first row", columns_of(columns.count));
            return Err(Problem::row(line, expected, columns_of(record.len())));
        }
        row.line = line;
        row.key.clear();
        row.key.extend_from_slice(record.get(columns.key));
        row.value.clear();
        match columns.value {
            Value::Column(n) => row.value.extend_from_slice(record.get(n)),
            Value::Position => row.value.extend_from_slice(self.position.to_string().as_bytes()),
        }
        self.position += 1;
        Ok(true)
    }

    /// A row of as many columns as the first, or as the selection needs.
    pub fn example(&self, separator: &str) -> String {
        let index = |selector: &Selector| match selector {
            Selector::Index(n) => *n,
            Selector::Name(_) => 0,
        };
        let Resolved { count, key, value } = self.resolved.unwrap_or_else(|| {
            let key = index(&self.key);
            let value = self.value.as_ref().map_or(usize::from(key == 0), index);
            Resolved { count: key.max(value) + 1, key, value: Value::Column(value) }
        });
        let field = |n| match value {
            _ if n == key => "apple".to_owned(),
            Value::Column(value) if n == value => "red".to_owned(),
            _ => format!("column {}", n + 1),
        };
        (0..count).map(field).collect::<Vec<_>>().join(separator)
    }

    fn resolve(&self, first: &Record, line: u64) -> Result<Resolved, Problem> {
        let count = first.len();
        let find = |selector: &Selector| match selector {
            Selector::Index(n) if *n < count => Ok(*n),
            Selector::Index(n) => Err(Problem::row(
                line,
                format!("at least {}", columns_of(n + 1)),
                columns_of(count),
            )),
            Selector::Name(name) => {
                first.iter().position(|f| f == name.as_bytes()).ok_or_else(|| {
                    let names: Vec<_> = first.iter().take(20).map(|f| shown(f, 40)).collect();
                    let expected = format!("a column named {}", shown(name.as_bytes(), 200));
                    Problem::row(line, expected, names.join(", "))
                })
            }
        };
        let key = find(&self.key)?;
        let value = match &self.value {
            Some(selector) => Value::Column(find(selector)?),
            None => (0..count).find(|n| *n != key).map_or(Value::Position, Value::Column),
        };
        Ok(Resolved { count, key, value })
    }
}

fn selector(option: &str, text: &str, header: bool) -> Result<Selector, Failure> {
    let refuse = |expected: &str| {
        let found = shown(text.as_bytes(), 200);
        Failure::new(
            Exit::Usage,
            format!("{option}: expected {expected}, found {found}; for example: {option} 2"),
        )
    };
    match text.parse::<usize>() {
        Ok(number) => number
            .checked_sub(1)
            .map(Selector::Index)
            .ok_or_else(|| refuse("a column's number, from 1")),
        Err(_) if header => Ok(Selector::Name(text.to_owned())),
        Err(_) => Err(refuse("a column's number from 1, or --header for names")),
    }
}

fn columns_of(count: usize) -> String {
    counted(count as u64, "column", "columns")
}
