//! Events: `GET /v1/KEYSPACE/events` streams the engine's events of a keyspace for the visualizer, and `/events` those
//! of the default keyspace.
//!
//! 1. The first message is the tree, and later ones are its changes, each a line of JSON as in a trace.
//! 2. Waits of writes follow within a second; most of them are no events.
//! 3. Comments keep the stream open while nothing happens, and notice a client that is gone.
//! 4. When the server stops, a comment is the last line.

use super::access;
use super::keys::open;
use super::problem::Problem;
use super::target::{Parameters, Target};
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use crate::watchers::{Watch, Watchers, waits_message};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use terrane::keyspace::DEFAULT_KEYSPACE;
use terrane::stats::WriteWaits;
use terrane::{KeyRange, Keyspace};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Time between two looks at the waits of writes.
const WAITS_INTERVAL: Duration = Duration::from_secs(1);
/// Looks between two comments.
const LOOKS: u32 = 15;
const COMMENT: &[u8] = b":\n\n";
const LAST: &[u8] = b": the server stops\n\n";

/// Answers with the events of the default keyspace.
pub(crate) async fn get_default(
    state: State<Arc<Shared>>,
    grant: Extension<Arc<Grant>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let target = Target { keyspace: DEFAULT_KEYSPACE.to_owned(), key: Vec::new() };
    get(state, grant, target, parameters).await
}

/// Answers with the events of a keyspace.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.finish("no parameters")?;
    access::range(&grant, Role::Read, &target.keyspace, &KeyRange::default())?;
    let keyspace = open(&shared, &target.keyspace).await?;
    let keyspace = keyspace.ok_or_else(|| Problem::no_keyspace(&target.keyspace))?.inner().clone();
    stream(&shared.watchers, &keyspace, &shared.stopping, Some(grant))
}

/// Returns the event stream of a keyspace. It ends when `grant` is revoked.
pub(crate) fn stream(
    watchers: &Watchers,
    keyspace: &Keyspace,
    stopping: &CancellationToken,
    grant: Option<Arc<Grant>>,
) -> Result<Response, Problem> {
    let Some(Watch { first, rest }) = watchers.watch(keyspace).map_err(|e| Problem::from(&e))?
    else {
        let detail = "there are as many watchers as can be";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail));
    };
    let mut looks = interval(WAITS_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks.reset();
    let stopping = Box::pin(stopping.clone().cancelled_owned());
    let stopping = Some(stopping);
    let messages = Messages {
        first: Some(first),
        rest,
        keyspace: keyspace.clone(),
        waits: WriteWaits::default(),
        looks,
        looked: 0,
        stopping,
        grant,
    };
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, Body::from_stream(messages)).into_response())
}

/// The messages of a watcher.
struct Messages {
    first: Option<Bytes>,
    rest: Receiver<Bytes>,
    keyspace: Keyspace,
    /// Waits of writes that were sent.
    waits: WriteWaits,
    looks: Interval,
    /// Looks since the last message of its own.
    looked: u32,
    /// End of the server; `None` after the last line.
    stopping: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    grant: Option<Arc<Grant>>,
}

impl Stream for Messages {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.grant.as_ref().is_some_and(|grant| grant.is_revoked()) {
            return Poll::Ready(None);
        }
        let Some(stopping) = &mut self.stopping else { return Poll::Ready(None) };
        if stopping.as_mut().poll(context).is_ready() {
            self.stopping = None;
            return Poll::Ready(Some(Ok(Bytes::from_static(LAST))));
        }
        if let Poll::Ready(message) = self.rest.poll_recv(context) {
            // A watcher that was too slow is dropped, and connects again.
            return Poll::Ready(message.map(Ok));
        }
        loop {
            ready!(self.looks.poll_tick(context));
            let Messages { keyspace, waits, looked, .. } = &mut *self;
            *looked += 1;
            let changed = waits_message(keyspace, waits);
            if changed.is_some() || *looked >= LOOKS {
                *looked = 0;
                return Poll::Ready(Some(Ok(changed.unwrap_or(Bytes::from_static(COMMENT)))));
            }
        }
    }
}
