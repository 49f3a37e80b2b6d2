//! The whole store at one durable moment: `GET /v1/snapshot`, for replicas and other clients that follow the changes
//! after it.
//!
//! 1. The first line is the cursor of the moment, whose writes are synced first.
//! 2. Each keyspace is a line with its name, and then its rows, in order.
//! 3. A keyspace that is removed before its rows are sent ends the snapshot with an error: the changes after the cursor
//!    start with the keyspace as it was.
//! 4. The last line is the end or an error. A stream without it was cut, and its reader starts anew. The snapshot is
//!    held until then; a reader that takes nothing is disconnected.

use super::access;
use super::keys::{HeldValue, hold};
use super::problem::Problem;
use super::range::Pages;
use super::rows::{self, Failed, Last, NDJSON, Row};
use super::target::Parameters;
use crate::rules::Rule;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;
use terrane::{Cursor, Db, Error, FeedCursor, KeyRange, Keyspace, Snapshot};
use tokio::sync::mpsc::channel;

/// Bytes at which a page ends.
const PAGE_BYTES: usize = 64 << 10;

/// Answers with the rows of all keyspaces.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.finish("no parameters")?;
    access::store(&grant, Role::Read)?;
    let moment = shared.db.run(Moment::begin).await.map_err(|e| Problem::of(&e, &shared))?;
    let (pages, sent) = channel(1);
    tokio::spawn(async move {
        let mut moment = moment;
        loop {
            let (page, next) = match shared.db.read(move |_| moment.page()).await {
                Ok(read) => read,
                Err(e) => (rows::line(&Failed { error: &Problem::of(&e, &shared) }), None),
            };
            let Ok(held) = hold(&shared, page.capacity()) else {
                let failed = rows::line(&Failed { error: &Problem::no_memory() });
                let _ = pages.send(failed.into()).await;
                return;
            };
            // A page that cannot be sent means that the client is gone.
            if pages.send(HeldValue::bytes(page, held)).await.is_err() {
                return;
            }
            match next {
                Some(_) if shared.stopping.is_cancelled() || grant.is_revoked() => return,
                Some(next) => moment = next,
                None => return,
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, NDJSON), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, Body::from_stream(Pages(sent))).into_response())
}

#[derive(Serialize)]
struct Start {
    cursor: String,
}

#[derive(Serialize)]
struct Name<'a> {
    keyspace: &'a str,
}

/// The part of a snapshot that is not sent yet.
pub(crate) struct Moment {
    snapshot: Snapshot,
    /// The cursor, until it is sent.
    start: Option<FeedCursor>,
    /// Keyspaces that are not sent yet; the last is next.
    keyspaces: Vec<Keyspace>,
    rows: Option<Cursor>,
}

impl Moment {
    /// Starts a snapshot of everything that is written, and makes it durable.
    ///
    /// # Errors
    /// A closed store, an I/O error.
    pub fn begin(db: &Db) -> Result<Self, Error> {
        // The lineage from before the snapshot: if another starts meanwhile, the cursor is refused.
        let before = db.feed_cursor();
        let (keyspaces, snapshot) = keyspaces(db)?;
        if Rule::SnapshotAfterSync.holds() {
            db.sync()?;
        }
        let start = Some(FeedCursor { sequence: snapshot.sequence(), ..before });
        Ok(Moment { snapshot, start, keyspaces, rows: None })
    }

    /// Returns the next lines, and what is left after them.
    pub fn page(mut self) -> Result<(Vec<u8>, Option<Self>), Error> {
        let mut page = Vec::new();
        if let Some(start) = self.start.take() {
            rows::push(&Start { cursor: start.to_string() }, &mut page);
        }
        while page.len() < PAGE_BYTES {
            if let Some(rows) = &mut self.rows {
                let row = rows.next()?.map(|(key, value)| (key.to_vec(), value.to_vec()));
                let Some((key, value)) = row else {
                    self.rows = None;
                    continue;
                };
                let (value, expires) = (Some(value.as_slice()), rows.expires_at());
                rows::push(&Row { key: &key, value, expires, ..Row::default() }, &mut page);
                continue;
            }
            let Some(keyspace) = self.keyspaces.pop() else {
                rows::push(&Last::End, &mut page);
                return Ok((page, None));
            };
            self.rows = Some(self.snapshot.cursor(&keyspace, KeyRange::default())?);
            rows::push(&Name { keyspace: keyspace.name() }, &mut page);
        }
        Ok((page, Some(self)))
    }
}

/// Returns a snapshot, and the keyspaces that were there at its moment, the last first.
fn keyspaces(db: &Db) -> Result<(Vec<Keyspace>, Snapshot), Error> {
    let list = || {
        let names = db.keyspaces().into_iter().rev();
        let keyspaces = names.filter_map(|name| db.open_keyspace(&name).transpose());
        keyspaces.collect::<Result<Vec<_>, _>>()
    };
    loop {
        let (before, snapshot, after) = (list()?, db.snapshot(), list()?);
        if before.iter().map(Keyspace::id).eq(after.iter().map(Keyspace::id)) {
            return Ok((after, snapshot));
        }
    }
}
