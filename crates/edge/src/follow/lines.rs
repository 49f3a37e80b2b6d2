//! Lines of a snapshot and of changes.

use super::Ended;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use terrane::Millis;

/// Bytes of the longest line: a batch of the engine in hexadecimal digits, with the names of its members.
const LINE_BYTES_MAX: usize = 1 << 30;

/// A line.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    /// A batch.
    Batch { cursor: String, ops: Vec<Op> },
    /// Progress of the feed to a cursor, and the end of the feed.
    Progress { cursor: String, newest: String },
    /// The start of a snapshot.
    Start { cursor: String },
    /// A failed feed.
    Failed { error: Problem },
    /// The cursor from which another request continues.
    Next { next: String },
    /// The end of a snapshot.
    End { end: bool },
    /// A row of a snapshot.
    Row(Row),
    /// The keyspace of the rows that follow.
    Keyspace { keyspace: String },
}

#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    pub status: u16,
    pub detail: String,
}

/// A key and a value, as text or as hexadecimal digits.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub key: Key,
    pub value: Option<String>,
    pub value_hex: Option<String>,
    pub expires: Option<Millis>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Key {
    Text { key: String },
    Hex { key_hex: String },
}

/// An operation.
#[derive(Debug, Deserialize)]
pub(super) struct Op {
    pub op: String,
    pub keyspace: String,
    pub key: Option<String>,
    pub key_hex: Option<String>,
    pub value: Option<String>,
    pub value_hex: Option<String>,
    pub expires: Option<Millis>,
    pub gte: Option<String>,
    pub gte_hex: Option<String>,
    pub lt: Option<String>,
    pub lt_hex: Option<String>,
    pub add: Option<i64>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub operand: Option<String>,
    pub operand_hex: Option<String>,
}

/// Parses a line.
pub(super) fn parse(line: &[u8]) -> Result<Line, Ended> {
    serde_json::from_slice(line).map_err(|e| Ended::Source(format!("found a malformed line: {e}")))
}

/// The lines of a body.
pub(super) struct Lines {
    body: Incoming,
    /// Bytes that arrived and were not returned, from `at` on.
    bytes: Vec<u8>,
    at: usize,
    /// Offset from which the end of the line is searched.
    searched: usize,
}

impl Lines {
    pub fn new(body: Incoming) -> Self {
        Lines { body, bytes: Vec::new(), at: 0, searched: 0 }
    }

    /// Returns the next line.
    ///
    /// # Errors
    /// A body that ends within a line, or a line that is malformed.
    pub async fn next(&mut self) -> Result<Line, Ended> {
        loop {
            let rest = self.bytes.get(self.searched..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let end = self.searched + end;
                let line = self.bytes.get(self.at..end).unwrap_or_default();
                let parsed = parse(line);
                (self.at, self.searched) = (end + 1, end + 1);
                return parsed;
            }
            self.bytes.drain(..self.at);
            (self.at, self.searched) = (0, self.bytes.len());
            if self.bytes.len() > LINE_BYTES_MAX {
                return Err(Ended::Source("found a line over 1 GiB".to_owned()));
            }
            let frame = self.body.frame().await;
            let frame = frame
                .ok_or_else(|| Ended::Source("the stream ended without a last line".to_owned()))?;
            let frame = frame.map_err(|e| Ended::Source(e.to_string()))?;
            if let Some(data) = frame.data_ref() {
                self.bytes.extend_from_slice(data);
            }
        }
    }
}
