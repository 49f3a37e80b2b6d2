//! A JSON object in each line, as `scan --format ndjson` writes them.
//!
//! * The field NAME holds a text; NAME_hex the bytes that its hexadecimal digits stand for.
//! * A number as key, and any value that is no text, is taken as it is written in JSON.
//! * Where the value's name was not asked for and the first row has no such field, a row's value is
//!   its position, from 0.

use super::Row;
use super::Rows;
use super::lines::{Lines, Problem};
use crate::escape::{from_hex, shown};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Reads rows of JSON objects.
pub struct Ndjson {
    lines: Lines,
    line: Vec<u8>,
    key: Name,
    value: Name,
    /// Whether values are positions; the first row says so where the command line does not.
    positions: Option<bool>,
    position: u64,
}

/// A field's name, and the name of the same in hexadecimal digits.
struct Name {
    text: String,
    hex: String,
}

impl Name {
    fn new(name: &str) -> Self {
        Name { text: name.to_owned(), hex: format!("{name}_hex") }
    }
}

/// A field as it is written in JSON.
#[derive(Clone, Copy)]
enum Field<'a> {
    Text(&'a RawValue),
    Hex(&'a RawValue),
}

impl Ndjson {
    pub fn new(lines: Lines, key: Option<&str>, value: Option<&str>) -> Self {
        Ndjson {
            lines,
            line: Vec::new(),
            key: Name::new(key.unwrap_or("key")),
            value: Name::new(value.unwrap_or("value")),
            positions: value.is_some().then_some(false),
            position: 0,
        }
    }

    /// Returns the expectation of a line that is no object, and the content found: the line, and the
    /// parser's message.
    #[cold]
    fn malformed(&self, error: &serde_json::Error) -> (String, String) {
        ("a JSON object".to_owned(), format!("{} ({})", shown(&self.line, 80), in_line(error)))
    }

    fn fill(&mut self, row: &mut Row) -> Result<(), (String, String)> {
        let wanted = Wanted { key: &self.key, value: &self.value };
        let mut json = serde_json::Deserializer::from_slice(&self.line);
        let read = json.deserialize_map(wanted).and_then(|fields| json.end().map(|()| fields));
        let (key, value) = read.map_err(|e| self.malformed(&e))?;

        let positions = *self.positions.get_or_insert(value.is_none());
        let key = key.ok_or_else(|| missing(&self.key, &self.line))?;
        if let Field::Text(raw) = key
            && raw.get().starts_with(['{', '[', 't', 'f', 'n'])
        {
            let expected = format!("a text or number as {}", shown(self.key.text.as_bytes(), 200));
            return Err((expected, shown(raw.get().as_bytes(), 40)));
        }
        row.key = bytes(&self.key, key)?;
        row.value = match value {
            Some(value) if !positions => bytes(&self.value, value)?,
            None if positions => self.position.to_string().into_bytes(),
            None => return Err(missing(&self.value, &self.line)),
            Some(_) => {
                let name = shown(self.value.text.as_bytes(), 200);
                let expected = format!("no field {name}, as in the first row");
                return Err((expected, shown(&self.line, 80)));
            }
        };
        self.position += 1;
        Ok(())
    }
}

impl Rows for Ndjson {
    fn read(&mut self, row: &mut Row) -> Result<bool, Problem> {
        while self.lines.next(&mut self.line)? {
            if !self.line.trim_ascii().is_empty() {
                row.line = self.lines.number();
                let filled = self.fill(row);
                filled.map_err(|(expected, found)| Problem::row(row.line, expected, found))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn lines(&self) -> &Lines {
        &self.lines
    }

    fn example(&self) -> String {
        let (key, value) = (&self.key.text, &self.value.text);
        match self.positions {
            Some(true) => format!("{{\"{key}\":\"apple\"}}"),
            _ => format!("{{\"{key}\":\"apple\",\"{value}\":\"red\"}}"),
        }
    }
}

/// Returns the bytes of a field, or the expectation and the content found.
fn bytes(name: &Name, field: Field<'_>) -> Result<Vec<u8>, (String, String)> {
    let text = |raw: &RawValue| serde_json::from_str::<String>(raw.get());
    match field {
        Field::Text(raw) if raw.get().starts_with('"') => {
            text(raw).map(String::into_bytes).map_err(|e| {
                (format!("a text as {}", shown(name.text.as_bytes(), 200)), without_place(&e))
            })
        }
        Field::Text(raw) => Ok(raw.get().as_bytes().to_vec()),
        Field::Hex(raw) => {
            text(raw).ok().and_then(|digits| from_hex(digits.as_bytes())).ok_or_else(|| {
                let name = shown(name.hex.as_bytes(), 200);
                let expected = format!("pairs of hexadecimal digits as {name}");
                (expected, shown(raw.get().as_bytes(), 40))
            })
        }
    }
}

#[cold]
fn missing(name: &Name, line: &[u8]) -> (String, String) {
    let (text, hex) = (shown(name.text.as_bytes(), 200), shown(name.hex.as_bytes(), 200));
    (format!("a field {text} or {hex}"), shown(line, 80))
}

/// Returns the parser's message about a line. It sees one line at a time, so its line number is left
/// out.
fn in_line(error: &serde_json::Error) -> String {
    format!("{} at column {}", without_place(error), error.column())
}

fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Picks the two fields out of an object; of several with one name, the last.
struct Wanted<'n> {
    key: &'n Name,
    value: &'n Name,
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = (Option<Field<'de>>, Option<Field<'de>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut key, mut value) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            let raw = map.next_value::<&RawValue>()?;
            for (wanted, found) in [(self.key, &mut key), (self.value, &mut value)] {
                if name == wanted.text {
                    *found = Some(Field::Text(raw));
                } else if name == wanted.hex {
                    *found = Some(Field::Hex(raw));
                }
            }
        }
        Ok((key, value))
    }
}
