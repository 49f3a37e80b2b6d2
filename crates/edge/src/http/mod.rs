//! The HTTP door.
//!
//! * `connection` - serves a connection.
//! * `access` - the host, the page and the token of a request.
//! * `target` - the keyspace and the key in a path, parameters.
//! * `body` - bodies within their bounds.
//! * `json` - bodies in JSON.
//! * `precondition` - `If-Match` and `If-None-Match`.
//! * `problem` - errors as problem details.
//! * `rows` - rows as lines of JSON.
//! * `change_lines`, `tail` - changes as lines, and the newest of them, which clients share.
//! * `sequence` - numbers of requests and replies, and what a read replica refuses.
//! * `bounds` - the bounds of a range.
//! * `fuzz` - a fuzz target for heads.
//! * `keys`, `range`, `many`, `batch`, `changes`, `snapshot`, `events`, `trace`, `admin`, `probes` - the
//!   routes.

mod access;
mod admin;
mod batch;
mod body;
mod bounds;
mod change_lines;
mod changes;
pub(crate) mod connection;
mod events;
mod fuzz;
mod json;
mod keys;
mod many;
mod precondition;
mod probes;
mod problem;
mod range;
mod rows;
mod sequence;
mod snapshot;
mod tail;
mod target;
mod trace;

#[cfg(test)]
pub(crate) use change_lines::{Filter, Format};
#[doc(hidden)]
pub use fuzz::fuzz_heads;
pub(crate) use rows::from_hex;
#[cfg(test)]
pub(crate) use snapshot::Moment;
pub(crate) use tail::Tails;

use crate::origin::Allowed;
use crate::shared::Shared;
use crate::watchers::Watchers;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use problem::Problem;
use std::sync::Arc;
use std::time::Instant;
use terrane::Keyspace;
use tokio_util::sync::CancellationToken;

/// Returns the routes of a server.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router {
    let durable = from_fn_with_state(shared.clone(), wait_durable);
    let keys = get(keys::get).layer(durable.clone()).put(keys::put).delete(keys::delete);
    let refuse = from_fn(precondition::refuse);
    let range = get(range::get).layer(durable.clone()).delete(range::delete);
    let guarded = Router::new()
        .route("/v1/{keyspace}/keys/", keys.clone())
        .route("/v1/{keyspace}/keys/{*key}", keys)
        .route("/v1/{keyspace}/range", range.layer(refuse.clone()))
        .route("/v1/{keyspace}/trace", get(trace::get).layer(durable.clone()).layer(refuse.clone()))
        .route("/v1/{keyspace}/get", post(many::get).layer(durable).layer(refuse.clone()))
        .route("/v1/{keyspace}/events", get(events::get))
        .route("/v1/batch", post(batch::post).layer(refuse))
        .route("/v1/changes", get(changes::get))
        .route("/v1/snapshot", get(snapshot::get))
        .route("/v1/stats", get(admin::stats))
        .route("/v1/checkpoint", post(admin::checkpoint))
        .route("/events", get(events::get_default))
        .route("/metrics", get(admin::metrics))
        .layer(from_fn_with_state(shared.clone(), sequence::check))
        .layer(from_fn_with_state(shared.clone(), access::check_token));
    let probes = Router::new()
        .route("/health/live", get(probes::live))
        .route("/health/ready", get(probes::ready));
    with_origins(guarded, shared.allowed.clone())
        .merge(probes)
        .layer(from_fn_with_state(shared.clone(), count))
        .with_state(shared.clone())
}

/// Returns the routes of a door for the events of one keyspace.
pub(crate) fn events_routes(
    allowed: Allowed,
    watchers: Arc<Watchers>,
    keyspace: Keyspace,
) -> Router {
    let never = CancellationToken::new();
    let stream = async move || events::stream(&watchers, &keyspace, &never, None);
    with_origins(Router::new().route("/events", get(stream)), Arc::new(allowed))
}

/// Adds the checks of every request: its host and its page, a route and a method.
fn with_origins<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    allowed: Arc<Allowed>,
) -> Router<S> {
    routes
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(access::cors(allowed.clone()))
        .layer(from_fn_with_state(allowed, access::check_origin))
}

/// Counts a request and the time until its answer starts.
async fn count(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let (started, method) = (Instant::now(), request.method().clone());
    let reply = next.run(request).await;
    let status = reply.status().as_u16();
    shared.metrics.count_request(method.as_str(), status, started.elapsed());
    reply
}

/// Sends the answer of a read; if writes are durable, only when everything that it shows is synced.
async fn wait_durable(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let reply = next.run(request).await;
    shared.wait_durable(false).await.map_err(|error| Problem::of(&error, &shared))?;
    Ok(reply)
}

async fn no_route(uri: Uri) -> Problem {
    let detail = "there is no such route";
    Problem::new(StatusCode::NOT_FOUND, "no-such-route", detail)
        .expected("a route such as /v1/KEYSPACE/keys/KEY")
        .found(uri.path())
}

async fn wrong_method(method: Method) -> Problem {
    let detail = "the route does not have this method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", detail)
        .expected("a method that Allow names")
        .found(method.as_str())
}
