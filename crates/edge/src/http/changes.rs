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
use super::change_lines::{Filter, Format};
use super::keys::{HeldValue, hold};
use super::problem::Problem;
use super::rows::NDJSON;
use super::tail::{Found, Tail};
use super::target::Parameters;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;
use terrane::keyspace::MAX_KEYSPACE_NAME_BYTES;
use terrane::{Error, FeedCursor, KeyRange};
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
    let keyspace = parameters.take("keyspace");
    let prefix = parameters.take("prefix");
    let interval = parameters.take_number("progress")?.unwrap_or(PROGRESS);
    parameters.finish("since, keyspace, prefix and progress")?;
    if interval > PROGRESS_MAX {
        let expected = format!("at most {PROGRESS_MAX}");
        let found = interval.to_string();
        return Err(Problem::malformed("the parameter progress", expected, found));
    }
    let keyspace = keyspace.map(name_of).transpose()?;
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
    let filter = Filter { keyspace, from, to };
    // Those who ask for everything share the newest lines.
    let tail = filter.is_all().then(|| Tail::of(&shared, format)).transpose().map_err(of)?;
    let source = Source { shared: shared.clone(), filter, format, tail, own: Some(changes) };
    let interval = Duration::from_secs(interval);
    let stream = Stream { shared, grant, format, interval, pages };
    tokio::spawn(stream.run(source, since));
    let kind = if is_events { EVENTS } else { NDJSON };
    let head = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")];
    Ok((head, Body::from_stream(super::range::Pages(sent))).into_response())
}

/// Returns the name of a keyspace. A name that no keyspace can have is refused: its stream would stay empty for ever.
fn name_of(bytes: Vec<u8>) -> Result<String, Problem> {
    let malformed =
        |expected, found: String| Problem::malformed("the parameter keyspace", expected, found);
    let len = bytes.len();
    let name = String::from_utf8(bytes)
        .map_err(|_| malformed("a name in UTF-8".to_owned(), "other bytes".to_owned()))?;
    if len == 0 || len > MAX_KEYSPACE_NAME_BYTES {
        let expected = format!("a name of 1 to {MAX_KEYSPACE_NAME_BYTES} bytes");
        return Err(malformed(expected, format!("{len} bytes")));
    }
    if name.starts_with('\0') {
        let expected = "a name without U+0000 at its start".to_owned();
        return Err(malformed(expected, "one".to_owned()));
    }
    Ok(name)
}

/// A stream of changes to one client.
struct Stream {
    shared: Arc<Shared>,
    grant: Arc<Grant>,
    format: Format,
    /// Time between two lines of progress.
    interval: Duration,
    pages: Sender<Bytes>,
}

impl Stream {
    /// Sends changes until the client is gone, the server stops, or the feed fails.
    async fn run(self, mut source: Source, mut cursor: FeedCursor) {
        let stopping = self.shared.stopping.clone();
        let mut progress_at = Instant::now();
        while !self.grant.is_revoked() {
            if Instant::now() >= progress_at {
                let line = self.format.progress(cursor, self.shared.db.inner().feed_cursor());
                if !self.send(line.into()).await {
                    return;
                }
                progress_at = Instant::now() + self.interval;
            }
            let next = tokio::select! {
                next = timeout_at(progress_at, source.next(cursor)) => next,
                () = stopping.cancelled() => {
                    self.send(self.format.next(cursor).into()).await;
                    return;
                }
                () = self.pages.closed() => return,
            };
            match next {
                // Another lineage is noticed by the next read.
                Err(_) => {}
                Ok(Ok(Some((lines, after)))) => {
                    cursor = after;
                    if !lines.is_empty() && !self.send(lines).await {
                        return;
                    }
                }
                Ok(Ok(None)) => {
                    self.send(self.format.next(cursor).into()).await;
                    return;
                }
                Ok(Err(e)) => {
                    let problem = Problem::of(&e, &self.shared);
                    self.send(self.format.error(&problem).into()).await;
                    return;
                }
            }
        }
    }

    /// Sends lines; returns `false` if the client is gone.
    async fn send(&self, lines: Bytes) -> bool {
        self.pages.send(lines).await.is_ok()
    }
}

/// The lines of one client: from the newest lines, where they are shared, or from the log.
struct Source {
    shared: Arc<Shared>,
    filter: Filter,
    format: Format,
    /// The shared lines, if the client asks for everything.
    tail: Option<Arc<Tail>>,
    /// The reader of the log, if the client is behind the shared lines.
    own: Option<Changes>,
}

impl Source {
    /// Waits for lines after a cursor. Returns them, which may be none, with the cursor after them; `None` if the
    /// memory for them is missing. The future may be dropped while it waits.
    async fn next(&mut self, cursor: FeedCursor) -> Result<Option<(Bytes, FeedCursor)>, Error> {
        while let Some(tail) = &self.tail {
            match tail.after(cursor) {
                Found::Lines(lines, after) => {
                    self.own = None;
                    return Ok(Some((lines, after)));
                }
                Found::End => {
                    self.own = None;
                    tail.moved(cursor).await;
                }
                Found::Over => self.tail = None,
                Found::Log => break,
            }
        }
        let changes = match &mut self.own {
            Some(changes) => changes,
            own => own.insert(self.shared.db.changes(cursor)?),
        };
        let (mut lines, mut after) = (Vec::new(), cursor);
        for batch in changes.next_page().await? {
            after = batch.cursor();
            self.filter.push(&batch, self.format, &mut lines);
        }
        let held = hold(&self.shared, lines.capacity()).ok();
        Ok(held.map(|held| (HeldValue::bytes(lines, held), after)))
    }
}
