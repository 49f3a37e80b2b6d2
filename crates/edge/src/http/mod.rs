//! The HTTP door.
//!
//! * `connection` - serves a connection.
//! * `access` - the host, the page and the token of a request.
//! * `target` - the keyspace and the key in a path, parameters.
//! * `body` - bodies within their bounds.
//! * `precondition` - `If-Match` and `If-None-Match`.
//! * `problem` - errors as problem details.
//! * `rows` - rows as lines of JSON.
//! * `bounds` - the bounds of a range.
//! * `keys`, `range`, `many`, `batch`, `probes` - the routes.

mod access;
mod batch;
mod body;
mod bounds;
pub(crate) mod connection;
mod keys;
mod many;
mod precondition;
mod probes;
mod problem;
mod range;
mod rows;
mod target;

use crate::shared::Shared;
use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use problem::Problem;
use std::sync::Arc;

/// Returns the routes of a server.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router {
    let keys = get(keys::get).put(keys::put).delete(keys::delete);
    let guarded = Router::new()
        .route("/v1/{keyspace}/keys/", keys.clone())
        .route("/v1/{keyspace}/keys/{*key}", keys)
        .route("/v1/{keyspace}/range", get(range::get).delete(range::delete))
        .route("/v1/{keyspace}/get", post(many::get))
        .route("/v1/batch", post(batch::post))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(shared.clone(), access::check_token))
        .layer(access::cors(shared))
        .layer(from_fn_with_state(shared.clone(), access::check_origin));
    Router::new()
        .route("/health/live", get(probes::live))
        .route("/health/ready", get(probes::ready))
        .merge(guarded)
        .with_state(shared.clone())
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
