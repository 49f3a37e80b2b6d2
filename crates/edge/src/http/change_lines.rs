//! Lines of changes: batches in the form that `POST /v1/batch` takes, progress, and last lines.

use super::problem::Problem;
use super::rows::{self, Failed, bytes_entry};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use terrane::{Change, ChangeBatch, FeedCursor, Operand};

/// The form of lines.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// Whether lines are server-sent events, rather than lines of JSON.
    pub is_events: bool,
}

impl Format {
    /// Appends a line: `object` after the cursor `id`.
    fn push(self, id: FeedCursor, object: &impl Serialize, out: &mut Vec<u8>) {
        if self.is_events {
            out.extend_from_slice(format!("id: {id}\ndata: ").as_bytes());
        }
        rows::push(object, out);
        if self.is_events {
            out.push(b'\n');
        }
    }

    /// Returns the line of progress to `cursor`, where the feed ends with `newest`.
    pub fn progress(self, cursor: FeedCursor, newest: FeedCursor) -> Vec<u8> {
        if self.is_events {
            // Without data it moves a client's last id, and is no event.
            return format!("id: {cursor}\n\n").into_bytes();
        }
        rows::line(&Progress { cursor: cursor.to_string(), newest: newest.to_string() })
    }

    /// Returns the last line of a stream that another request continues.
    pub fn next(self, cursor: FeedCursor) -> Vec<u8> {
        if self.is_events {
            return format!("id: {cursor}\n\n: the server stops\n\n").into_bytes();
        }
        rows::line(&Next { next: cursor.to_string() })
    }

    /// Returns the last line of a stream that failed.
    pub fn error(self, error: &Problem) -> Vec<u8> {
        if !self.is_events {
            return rows::line(&Failed { error });
        }
        [b"event: error\ndata: ".as_slice(), &rows::line(error), b"\n"].concat()
    }
}

#[derive(Serialize)]
struct Progress {
    cursor: String,
    newest: String,
}

#[derive(Serialize)]
struct Next {
    next: String,
}

/// The operations that a client asks for.
#[derive(Default)]
pub(crate) struct Filter {
    /// The keyspace; `None` for all.
    pub keyspace: Option<String>,
    /// The first key of the range, and the key before which it ends, if it has an end.
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
}

impl Filter {
    /// Appends the line of a batch, unless none of its operations is asked for.
    pub fn push(&self, batch: &ChangeBatch, format: Format, out: &mut Vec<u8>) {
        let ops = Ops { filter: self, batch };
        if ops.all().next().is_some() {
            format.push(batch.cursor(), &ops, out);
        }
    }

    /// Whether everything is asked for.
    pub fn is_all(&self) -> bool {
        self.keyspace.is_none()
    }

    /// Whether an operation in a keyspace is asked for.
    fn takes(&self, keyspace: &str, change: &Change<'_>) -> bool {
        if self.keyspace.as_ref().is_some_and(|asked| asked != keyspace) {
            return false;
        }
        match change {
            Change::Put { key, .. } | Change::Merge { key, .. } | Change::Delete { key } => {
                *key >= self.from.as_slice() && self.to.as_deref().is_none_or(|to| *key < to)
            }
            Change::DeleteRange { from, to } => {
                let (from, to) = self.part(from, *to);
                to.is_none_or(|to| from < to)
            }
            // A removed keyspace has no keys in any range.
            _ => true,
        }
    }

    /// Returns the part of a deleted range that is asked for: its first key, and the key before which it ends.
    fn part<'a>(&'a self, from: &'a [u8], to: Option<&'a [u8]>) -> (&'a [u8], Option<&'a [u8]>) {
        let ends = to.into_iter().chain(self.to.as_deref());
        (from.max(&self.from), ends.min())
    }
}

/// A batch as an object of JSON.
struct Ops<'a> {
    filter: &'a Filter,
    batch: &'a ChangeBatch,
}

impl<'a> Ops<'a> {
    fn all(&self) -> impl Iterator<Item = Op<'a>> {
        let filter = self.filter;
        let changes = self.batch.changes();
        let asked = changes.filter(|(keyspace, change)| filter.takes(keyspace, change));
        asked.map(|(keyspace, change)| Op { filter, keyspace, change })
    }
}

impl Serialize for Ops<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(2))?;
        object.serialize_entry("cursor", &self.batch.cursor().to_string())?;
        object.serialize_entry("ops", &OpList(self))?;
        object.end()
    }
}

struct OpList<'a>(&'a Ops<'a>);

impl Serialize for OpList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.0.all().try_for_each(|op| list.serialize_element(&op))?;
        list.end()
    }
}

/// An operation in the form that `POST /v1/batch` takes, a merge, or the removal of a keyspace.
struct Op<'a> {
    filter: &'a Filter,
    keyspace: &'a str,
    change: Change<'a>,
}

impl Serialize for Op<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let name = match self.change {
            Change::Put { .. } => "put",
            Change::Merge { .. } => "merge",
            Change::Delete { .. } => "delete",
            Change::DropKeyspace => "drop-keyspace",
            _ => "delete-range",
        };
        object.serialize_entry("op", name)?;
        object.serialize_entry("keyspace", self.keyspace)?;
        match self.change {
            Change::Put { key, value, expires } => {
                bytes_entry(&mut object, "key", "key_hex", key)?;
                bytes_entry(&mut object, "value", "value_hex", value)?;
                if let Some(expires) = expires {
                    object.serialize_entry("expires", &expires)?;
                }
            }
            Change::Merge { key, operand } => {
                bytes_entry(&mut object, "key", "key_hex", key)?;
                match operand {
                    Operand::Add(n) => object.serialize_entry("add", &n)?,
                    Operand::Min(n) => object.serialize_entry("min", &n)?,
                    Operand::Max(n) => object.serialize_entry("max", &n)?,
                    Operand::Custom(bytes) => {
                        bytes_entry(&mut object, "operand", "operand_hex", bytes)?;
                    }
                    _ => {}
                }
            }
            Change::Delete { key } => bytes_entry(&mut object, "key", "key_hex", key)?,
            Change::DeleteRange { from, to } => {
                let (from, to) = self.filter.part(from, to);
                bytes_entry(&mut object, "gte", "gte_hex", from)?;
                if let Some(to) = to {
                    bytes_entry(&mut object, "lt", "lt_hex", to)?;
                }
            }
            _ => {}
        }
        object.end()
    }
}
