//! Changes: `GET /v1/changes` streams the batches after a cursor, as lines of JSON or, by `Accept`, as an event stream.
//!
//! 1. The stream starts at `since`, at the `Last-Event-ID` of a client that connects again, or at the end of the feed.
//! 2. A line has the cursor after a batch, and its operations in the requested keyspace and range. A batch without
//!    such operations has no line.
//! 3. A line of progress, with a cursor and the end of the feed, is the first, and follows every 15 seconds. A client
//!    that filters continues from its cursor and computes its lag, and proxies keep the connection open.
//! 4. The last line is an error or, when the server stops or lacks the memory for a page, the cursor from which
//!    another request continues. A stream without a last line was cut; its client continues from its last cursor.
//! 5. A cursor from which the feed cannot continue is 410.

use super::access;
use super::keys::{HeldValue, hold};
use super::problem::Problem;
use super::rows::{self, Failed, NDJSON, bytes_entry};
use super::target::Parameters;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::sync::Arc;
use std::time::Duration;
use terrane::{Change, ChangeBatch, Error, FeedCursor, KeyRange, Operand};
use terrane_tokio::Changes;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::{Instant, timeout_at};

/// Seconds between two lines of progress, unless the client asks for others.
const PROGRESS: u64 = 15;
/// The most seconds that a client can ask for.
const PROGRESS_MAX: u64 = 60;
/// Media type of event streams.
const EVENTS: &str = "text/event-stream";
/// Header with the cursor of the last event that a client has.
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Answers with the changes after a cursor.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    headers: HeaderMap,
    mut parameters: Parameters,
) -> Result<Response, Problem> {
    let since = parameters.take("since");
    let keyspace = parameters.take("keyspace").map(String::from_utf8);
    let prefix = parameters.take("prefix");
    let interval = parameters.take_number("progress")?.unwrap_or(PROGRESS);
    parameters.finish("since, keyspace, prefix and progress")?;
    if interval > PROGRESS_MAX {
        let expected = format!("at most {PROGRESS_MAX}");
        let found = interval.to_string();
        return Err(Problem::malformed("the parameter progress", expected, found));
    }
    let expected = "a name in UTF-8";
    let keyspace = keyspace
        .transpose()
        .map_err(|_| Problem::malformed("the parameter keyspace", expected, "other bytes"))?;
    if keyspace.is_none() && prefix.is_some() {
        return Err(Problem::malformed("the query", "keyspace with prefix", "prefix alone"));
    }
    let range = prefix.map_or_else(KeyRange::default, |prefix| KeyRange::prefix(&prefix));
    match &keyspace {
        Some(keyspace) => access::range(&grant, Role::Read, keyspace, &range)?,
        None => access::store(&grant, Role::Read)?,
    }
    let last = headers.get(LAST_EVENT_ID).map(|id| id.as_bytes().to_vec());
    let of = |e: Error| Problem::of(&e, &shared);
    let since = match last.or(since) {
        Some(text) => String::from_utf8_lossy(&text).parse::<FeedCursor>().map_err(of)?,
        None => shared.db.inner().feed_cursor(),
    };
    let changes = shared.db.changes(since).map_err(of)?;
    let accepted = headers.get_all(header::ACCEPT).iter();
    let is_events = accepted.filter_map(|value| value.to_str().ok()).any(|v| v.contains(EVENTS));
    let (pages, sent) = channel(1);
    let format = Format { is_events };
    // No prefix is an empty range.
    let (from, to) = range.half_open().unwrap_or_default();
    let (filter, interval) = (Filter { keyspace, from, to }, Duration::from_secs(interval));
    let stream = Stream { shared, grant, filter, format, interval, pages };
    tokio::spawn(stream.run(changes, since));
    let kind = if is_events { EVENTS } else { NDJSON };
    let head = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")];
    Ok((head, Body::from_stream(super::range::Pages(sent))).into_response())
}

/// A stream of changes to one client.
struct Stream {
    shared: Arc<Shared>,
    grant: Arc<Grant>,
    filter: Filter,
    format: Format,
    /// Time between two lines of progress.
    interval: Duration,
    pages: Sender<Bytes>,
}

impl Stream {
    /// Sends changes until the client is gone, the server stops, or the feed fails.
    async fn run(self, mut changes: Changes, mut cursor: FeedCursor) {
        let stopping = self.shared.stopping.clone();
        let mut page = self.progress(cursor);
        let mut progress_at = Instant::now() + self.interval;
        while !self.grant.is_revoked() {
            let Some(held) = self.held(page) else {
                let _ = self.pages.send(self.format.next(cursor).into()).await;
                return;
            };
            // A page that cannot be sent means that the client is gone.
            if self.pages.send(held).await.is_err() {
                return;
            }
            page = Vec::new();
            while page.is_empty() {
                let next = tokio::select! {
                    next = timeout_at(progress_at, changes.next_page()) => next,
                    () = stopping.cancelled() => {
                        let _ = self.pages.send(self.format.next(cursor).into()).await;
                        return;
                    }
                    () = self.pages.closed() => return,
                };
                match next {
                    // Another lineage is noticed by the next read.
                    Err(_) => {}
                    Ok(Ok(batches)) => {
                        for batch in &batches {
                            cursor = batch.cursor();
                            self.filter.push(batch, &self.format, &mut page);
                        }
                    }
                    Ok(Err(e)) => {
                        let problem = Problem::of(&e, &self.shared);
                        let _ = self.pages.send(self.format.error(&problem).into()).await;
                        return;
                    }
                }
                if Instant::now() >= progress_at {
                    page.extend(self.progress(cursor));
                    progress_at = Instant::now() + self.interval;
                }
            }
        }
    }

    /// Returns a line of progress.
    fn progress(&self, cursor: FeedCursor) -> Vec<u8> {
        self.format.progress(cursor, self.shared.db.inner().feed_cursor())
    }

    /// Returns a page with the memory that it takes; `None` if too little is left.
    fn held(&self, page: Vec<u8>) -> Option<Bytes> {
        let held = hold(&self.shared, page.capacity()).ok()?;
        Some(HeldValue::bytes(page, held))
    }
}

/// The form of lines.
struct Format {
    is_events: bool,
}

impl Format {
    /// Appends a line: `object` after the cursor `id`.
    fn push(&self, id: FeedCursor, object: &impl Serialize, out: &mut Vec<u8>) {
        if self.is_events {
            out.extend_from_slice(format!("id: {id}\ndata: ").as_bytes());
        }
        rows::push(object, out);
        if self.is_events {
            out.push(b'\n');
        }
    }

    /// Returns the line of progress to `cursor`, where the feed ends with `newest`.
    fn progress(&self, cursor: FeedCursor, newest: FeedCursor) -> Vec<u8> {
        if self.is_events {
            // Without data it moves a client's last id, and is no event.
            return format!("id: {cursor}\n\n").into_bytes();
        }
        rows::line(&Progress { cursor: cursor.to_string(), newest: newest.to_string() })
    }

    /// Returns the last line of a stream that another request continues.
    fn next(&self, cursor: FeedCursor) -> Vec<u8> {
        if self.is_events {
            return format!("id: {cursor}\n\n: the server stops\n\n").into_bytes();
        }
        rows::line(&Next { next: cursor.to_string() })
    }

    /// Returns the last line of a stream that failed.
    fn error(&self, error: &Problem) -> Vec<u8> {
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
struct Filter {
    keyspace: Option<String>,
    /// The first key of the range, and the key before which it ends, if it has an end.
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl Filter {
    /// Appends the line of a batch, unless none of its operations is asked for.
    fn push(&self, batch: &ChangeBatch, format: &Format, out: &mut Vec<u8>) {
        let ops = Ops { filter: self, batch };
        if ops.all().next().is_some() {
            format.push(batch.cursor(), &ops, out);
        }
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

/// An operation in the form that `POST /v1/batch` takes, and merges.
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
