//! Ranges: `GET` streams the rows of `/v1/KEYSPACE/range` as lines of JSON, `DELETE` removes them.
//!
//! 1. The rows are those of one moment, read page by page on the threads of readers: the next page is read once the
//!    last one is sent.
//! 2. The last line is the end, the key with which to continue, or an error. A stream without a last line was cut.
//! 3. After [`TIME`] a stream ends with a key with which to continue, so that it does not hold its moment for ever;
//!    likewise when the server stops, or lacks the memory for a page.

use super::access;
use super::bounds::{self, Bounds};
use super::keys::{HeldValue, hold, open};
use super::problem::Problem;
use super::rows::{self, Last, NDJSON, Row};
use super::target::{Parameters, Target};
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use terrane::{Cursor, Error, FeedCursor, Snapshot, WriteBatch};
use tokio::sync::mpsc::{Receiver, channel};

/// Bytes at which a page ends.
const PAGE_BYTES: usize = 64 << 10;
/// Time after which a page ends.
const PAGE_TIME: Duration = Duration::from_millis(100);
/// Time after which a stream ends with the key for another request.
const TIME: Duration = Duration::from_secs(60);

/// Header with the place in the change feed from which the changes after the rows follow.
pub(super) const CURSOR: HeaderName = HeaderName::from_static("terrane-cursor");

/// Parameters of a range, for messages.
const KNOWN: &str = "gte or gt, lte or lt, prefix, reverse, limit, keys-only and at";

/// Answers with the rows of a range.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    mut parameters: Parameters,
) -> Result<Response, Problem> {
    let range = Bounds::take(|name| parameters.take(name)).range().map_err(malformed)?;
    let order = Order {
        reverse: parameters.take_flag("reverse")?,
        keys_only: parameters.take_flag("keys-only")?,
    };
    let left = parameters.take_number("limit")?.unwrap_or(u64::MAX);
    let at = parameters.take("at").map(|at| String::from_utf8_lossy(&at).into_owned());
    parameters.finish(KNOWN)?;
    access::range(&grant, Role::Read, &target.keyspace, &range)?;
    let keyspace = open(&shared, &target.keyspace).await?;
    let keyspace = keyspace.ok_or_else(|| Problem::no_keyspace(&target.keyspace))?;
    let deadline = Instant::now() + TIME;
    // The first page is read before the answer, which may be an error.
    let of = |e: Error| Problem::of(&e, &shared);
    let first = shared.db.read(move |db| {
        let snapshot = db.snapshot();
        let feed = at.map(|at| durable_at(db, &snapshot, &at)).transpose()?;
        let cursor = snapshot.cursor(keyspace.inner(), range)?;
        Ok::<_, Error>((feed, Rows { cursor, order, left, deadline }.page()?))
    });
    let (feed, Page { bytes, rows, .. }) = first.await.map_err(of)?;
    let first = held(&shared, bytes)?;
    let kind = [(header::CONTENT_TYPE, NDJSON), (header::CACHE_CONTROL, "no-store")];
    let feed = feed.map(|feed| [(CURSOR, feed.to_string())]);
    let Some(mut rows) = rows else { return Ok((kind, feed, first).into_response()) };
    let (pages, sent) = channel(1);
    tokio::spawn(async move {
        let mut page = first;
        // The client is gone if it takes no page.
        while pages.send(page).await.is_ok() {
            if shared.stopping.is_cancelled() {
                rows.deadline = Instant::now();
            }
            let (bytes, next) = match shared.db.read(move |_| rows.page()).await {
                Ok(read) => match held(&shared, read.bytes) {
                    Ok(bytes) => (bytes, read.rows),
                    Err(_) => (line(&Last::Next(&read.first)), None),
                },
                Err(e) => (line(&Failed { error: &Problem::of(&e, &shared) }), None),
            };
            page = bytes;
            let Some(next) = next else {
                let _ = pages.send(page).await;
                return;
            };
            rows = next;
        }
    });
    Ok((kind, feed, Body::from_stream(Pages(sent))).into_response())
}

/// Makes what a snapshot shows durable. Returns the place in the change feed after it, in the lineage of `at`.
///
/// # Errors
/// A cursor of another lineage, or ahead of the store; a sync that failed.
fn durable_at(db: &terrane::Db, snapshot: &Snapshot, at: &str) -> Result<FeedCursor, Error> {
    let at: FeedCursor = at.parse()?;
    db.sync()?;
    let now = FeedCursor { sequence: snapshot.sequence(), ..at };
    // Refuses other lineages, and cursors ahead of the store.
    drop(db.changes(if at.sequence > now.sequence { at } else { now })?);
    Ok(now)
}

/// Removes the keys of a range.
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    mut parameters: Parameters,
) -> Result<Response, Problem> {
    let durability = parameters.take_durability(&shared)?;
    let bounds = Bounds::take(|name| parameters.take(name));
    parameters.finish("gte or gt, lte or lt, prefix, and durability")?;
    bounds.check_deletion().map_err(|found| {
        let expected = format!("{}; for all keys: gte=", bounds::NAMES);
        Problem::malformed("the query", expected, found)
    })?;
    let range = bounds.range().map_err(malformed)?;
    access::range(&grant, Role::Write, &target.keyspace, &range)?;
    let of = |e: Error| Problem::of(&e, &shared);
    if let Some(keyspace) = open(&shared, &target.keyspace).await? {
        let mut batch = WriteBatch::new();
        batch.delete_range(keyspace.inner(), range).map_err(of)?;
        shared.db.write(batch, durability).await.map_err(of)?;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A problem of contradictory bounds.
pub(crate) fn malformed(sentence: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "malformed-request", sentence)
}

fn held(shared: &Shared, bytes: Vec<u8>) -> Result<Bytes, Problem> {
    let held = hold(shared, bytes.capacity())?;
    Ok(HeldValue::bytes(bytes, held))
}

fn line(of: &impl Serialize) -> Bytes {
    let mut line = Vec::new();
    rows::push(of, &mut line);
    line.into()
}

/// The last line of a stream that failed.
#[derive(Serialize)]
struct Failed<'a> {
    error: &'a Problem,
}

#[derive(Clone, Copy)]
struct Order {
    reverse: bool,
    keys_only: bool,
}

/// The rows that are left of a range.
struct Rows {
    cursor: Cursor,
    order: Order,
    /// Rows that may still be sent.
    left: u64,
    deadline: Instant,
}

/// Lines of some rows.
struct Page {
    bytes: Vec<u8>,
    /// Key of the first row.
    first: Vec<u8>,
    /// The rows after them; `None` after the last line.
    rows: Option<Rows>,
}

impl Rows {
    fn page(mut self) -> Result<Page, Error> {
        let (mut bytes, mut first) = (Vec::new(), Vec::new());
        let started = Instant::now();
        while bytes.len() < PAGE_BYTES && started.elapsed() < PAGE_TIME {
            let row = if self.order.reverse { self.cursor.prev() } else { self.cursor.next() };
            let Some((key, value)) = row? else {
                rows::push(&Last::End, &mut bytes);
                return Ok(Page { bytes, first, rows: None });
            };
            if self.left == 0 || Instant::now() >= self.deadline {
                rows::push(&Last::Next(key), &mut bytes);
                return Ok(Page { bytes, first, rows: None });
            }
            if bytes.is_empty() {
                key.clone_into(&mut first);
            }
            let value = (!self.order.keys_only).then_some(value);
            rows::push(&Row { key, value, ..Row::default() }, &mut bytes);
            self.left -= 1;
        }
        Ok(Page { bytes, first, rows: Some(self) })
    }
}

/// Pages as the stream of a body.
pub(super) struct Pages(pub(super) Receiver<Bytes>);

impl Stream for Pages {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|page| page.map(Ok))
    }
}
