//! Sequence numbers of requests and replies, and what a read replica refuses.
//!
//! 1. A replica refuses writes, and everything while its rows have no cursor.
//! 2. A request with `Terrane-Min-Sequence` waits until the store has that batch, on a replica its source's batch.
//! 3. A server whose backup another one continues refuses writes. The reply to a replicated write leaves once the write
//!    is backed up.
//! 4. A reply has `Terrane-Sequence`, the last batch that the store had when the reply was made. A client that sends
//!    the greatest number that it has seen with each read never reads an older state, from any server.

use super::problem::Problem;
use super::target::Parameters;
use crate::shared::Shared;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use terrane::Seq;
use tokio::time::{sleep, timeout};

/// Header with the last batch of the store that replies.
pub(super) const SEQUENCE: HeaderName = HeaderName::from_static("terrane-sequence");
/// Header with the batch that a request waits for.
pub(super) const MIN_SEQUENCE: HeaderName = HeaderName::from_static("terrane-min-sequence");
/// The durability of replicated writes, as a parameter.
pub(super) const REPLICATED: &str = "replicated";
/// The longest wait.
const WAIT: Duration = Duration::from_secs(10);
/// Time between two looks at a store that is no replica. A batch that it does not have may have been lost by a crash.
const LOOK: Duration = Duration::from_millis(10);

/// Refuses or delays a request by its numbers, and adds the number of the reply.
pub(crate) async fn check(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let is_batch = request.uri().path() == "/v1/batch";
    let is_write = matches!(*request.method(), Method::PUT | Method::DELETE) || is_batch;
    if is_write && let Some(fenced) = shared.fenced() {
        return Err(Problem::new(StatusCode::FORBIDDEN, "fenced", fenced)
            .expected("a write to the server that continues the backup"));
    }
    let is_replicated = is_write && is_replicated(&shared, request.uri());
    if let Some(replica) = &shared.replica {
        if is_write {
            let detail = "the server is a read replica";
            let problem = Problem::new(StatusCode::FORBIDDEN, "read-only-replica", detail);
            return Err(problem.expected("a write to the server that it follows"));
        }
        if replica.sequence().is_none() && request.uri().path() != "/metrics" {
            let detail = "the replica has not loaded its source's rows";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", detail));
        }
    }
    if let Some(given) = request.headers().get(MIN_SEQUENCE) {
        let text = given.to_str().unwrap_or_default();
        let least = text.parse::<Seq>().map_err(|_| {
            let found = String::from_utf8_lossy(given.as_bytes()).into_owned();
            Problem::malformed("the header Terrane-Min-Sequence", "a number", found)
        })?;
        if timeout(WAIT, reach(&shared, least)).await.is_err() {
            let detail = "the store does not have the batch yet";
            return Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "behind", detail)
                .expected(format!("batch {least} within {} s", WAIT.as_secs()))
                .found(format!("batch {}", sequence(&shared))));
        }
    }
    let mut reply = next.run(request).await;
    if is_replicated && reply.status().is_success() {
        shared.wait_replicated().await.map_err(|e| {
            let detail = format!("the write is durable on this machine, and not replicated: {e}");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-replicated", detail)
        })?;
    }
    reply.headers_mut().insert(SEQUENCE, HeaderValue::from(sequence(&shared)));
    Ok(reply)
}

/// Whether the reply to a write waits until the write is backed up.
fn is_replicated(shared: &Shared, uri: &Uri) -> bool {
    // The route refuses a malformed query.
    let parameters = Parameters::of(uri.query().unwrap_or_default()).ok();
    let asked = parameters.and_then(|mut parameters| parameters.take("durability"));
    asked.map_or(shared.replicated, |asked| asked == REPLICATED.as_bytes())
}

/// Returns the last batch that the store has.
fn sequence(shared: &Shared) -> Seq {
    match &shared.replica {
        Some(replica) => replica.sequence().unwrap_or(0),
        None => shared.db.inner().latest_sequence(),
    }
}

/// Waits until the store has a batch.
async fn reach(shared: &Shared, least: Seq) {
    if let Some(replica) = &shared.replica {
        return replica.wait(least).await;
    }
    while sequence(shared) < least {
        sleep(LOOK).await;
    }
}
