//! The columns of the key and the value in a record.
//!
//! 1. The first record, be it a header or a row, says how many columns there are; every row has as
//!    many.
//! 2. A column is selected by its name in the header or, where no column has that name, by its number.
//! 3. The value is by default the first column that is not the key. Where there is none, a row's
//!    value is its position among the rows, from 0.

use super::Row;
use super::lines::{MAX_ROW_BYTES, Problem};
use super::record::Record;
use crate::escape::shown;
use crate::exit::{Exit, Failure};
use crate::message::counted;

/// The most columns of an example.
const EXAMPLE_COLUMNS_MAX: usize = 16;

/// A column, as it was asked for.
#[derive(Debug, Default)]
struct Selector {
    /// The name, where there is a header.
    name: Option<String>,
    /// The index, from 0.
    index: Option<usize>,
}

/// Source of a value.
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
        let first = || Ok(Selector { name: None, index: Some(0) });
        let key = key.map_or_else(first, |k| selector("--key", k, header))?;
        let value = value.map(|v| selector("--value", v, header)).transpose()?;
        Ok(Columns { key, value, header, resolved: None, position: 0 })
    }

    /// Takes key and value from `record`, which starts in line `line`; false for a header.
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

    /// Whether the first record was taken.
    pub fn begun(&self) -> bool {
        self.resolved.is_some()
    }

    /// Returns an example of a row, with the columns of the first row or those that the selection needs; of
    /// many columns it shows the first ones.
    pub fn example(&self, separator: &str) -> String {
        let index = |selector: &Selector| match selector {
            Selector { name: None, index: Some(n) } => *n,
            Selector { .. } => 0,
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
        let mut fields: Vec<_> = (0..count.min(EXAMPLE_COLUMNS_MAX)).map(field).collect();
        if count > EXAMPLE_COLUMNS_MAX {
            fields.push(format!("... ({} in all)", columns_of(count)));
        }
        fields.join(separator)
    }

    fn resolve(&self, first: &Record, line: u64) -> Result<Resolved, Problem> {
        let count = first.len();
        let named = |name: &String| first.iter().position(|field| field == name.as_bytes());
        let find = |selector: &Selector| match (selector.name.as_ref(), selector.index) {
            (Some(name), _) if let Some(n) = named(name) => Ok(n),
            (_, Some(n)) if n < count => Ok(n),
            (None, n) => {
                let expected = format!("at least {}", columns_of(n.unwrap_or(0) + 1));
                Err(Problem::row(line, expected, columns_of(count)))
            }
            (Some(name), _) => {
                let names: Vec<_> = first.iter().take(20).map(|f| shown(f, 40)).collect();
                let expected = format!("a column named {}", shown(name.as_bytes(), 200));
                Err(Problem::row(line, expected, names.join(", ")))
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
    // No row of the greatest length has more fields.
    let index = text.parse::<usize>().ok().filter(|n| *n <= MAX_ROW_BYTES);
    let index = index.map(|number| number.checked_sub(1));
    if header {
        return Ok(Selector { name: Some(text.to_owned()), index: index.flatten() });
    }
    match index {
        Some(Some(index)) => Ok(Selector { name: None, index: Some(index) }),
        _ if text.parse::<u128>().is_ok() => {
            Err(refuse(&format!("a column's number, from 1 to {MAX_ROW_BYTES}")))
        }
        _ => Err(refuse("a column's number from 1, or --header for names")),
    }
}

fn columns_of(count: usize) -> String {
    counted(count as u64, "column", "columns")
}
