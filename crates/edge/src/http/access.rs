//! Access: the host, the page and the token of a request, checked before a route sees it.

use super::changes::LAST_EVENT_ID;
use super::problem::Problem;
use super::range::CURSOR;
use super::sequence::{MIN_SEQUENCE, SEQUENCE};
use crate::origin::Allowed;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;
use terrane::KeyRange;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Header of a reply with the time at which a value expires, in milliseconds since 1970.
pub(crate) const EXPIRES: HeaderName = HeaderName::from_static("terrane-expires");

/// Time for which browsers keep the answer to a preflight.
const PREFLIGHT_AGE: Duration = Duration::from_secs(3600);

/// Returns the layer that answers browsers about the pages that are allowed.
pub(crate) fn cors(allowed: Arc<Allowed>) -> CorsLayer {
    let allows = move |origin: &HeaderValue, _: &request::Parts| {
        origin.to_str().is_ok_and(|origin| allowed.origin(origin))
    };
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(allows))
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            LAST_EVENT_ID,
            MIN_SEQUENCE,
        ])
        .expose_headers([header::ETAG, header::RETRY_AFTER, CURSOR, EXPIRES, SEQUENCE])
        .allow_private_network(true)
        .max_age(PREFLIGHT_AGE)
}

/// Refuses requests for another host, or of pages that are not allowed.
pub(crate) async fn check_origin(
    State(allowed): State<Arc<Allowed>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    check_framing(request.headers())?;
    check_source(&allowed, &request)?;
    Ok(next.run(request).await)
}

/// Refuses requests that two servers of a chain may read differently: those with two hosts, or with a transfer coding
/// of the body that is not decoded here.
fn check_framing(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Problem::malformed("the header Host", "one host", "several"));
    }
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if codings.next().is_none_or(is_chunked) && codings.next().is_none() {
        return Ok(());
    }
    let close = HeaderValue::from_static("close");
    let problem = Problem::malformed("the header Transfer-Encoding", "chunked", "another coding");
    Err(problem.header(header::CONNECTION, close))
}

fn check_source(allowed: &Allowed, request: &Request) -> Result<(), Problem> {
    let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
    let host = request.uri().authority().map(|authority| authority.as_str());
    let host = host.or_else(|| header(header::HOST)).unwrap_or_default();
    if !allowed.host(host) {
        let detail = "the request is for another host: see --allow-host";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign-host", detail)
            .expected("localhost, an address, or a name that is allowed")
            .found(host));
    }
    match header(header::ORIGIN) {
        Some(origin) if !allowed.origin(origin) => {
            let detail = "pages of this origin may not send requests: see --allow-origin";
            Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", detail)
                .expected("an origin that is allowed")
                .found(origin))
        }
        _ => Ok(()),
    }
}

/// Refuses requests without a token where one is needed, and passes on the rights of the bearer.
pub(crate) async fn check_token(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let grant = match shared.tokens.anonymous() {
        Some(everyone) => everyone,
        None => bearer(given)
            .and_then(|secret| shared.tokens.authenticate(None, secret))
            .ok_or_else(|| unauthorized(given.is_some()))?,
    };
    request.extensions_mut().insert(grant);
    Ok(next.run(request).await)
}

fn bearer(authorization: Option<&[u8]>) -> Option<&[u8]> {
    let (scheme, secret) = authorization?.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(secret)
}

fn unauthorized(is_given: bool) -> Problem {
    let found = if is_given { "an unknown one" } else { "none" };
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "the request needs a token")
        .expected("Authorization: Bearer TOKEN")
        .found(found)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// A refusal of what a token does not allow.
fn forbidden(grant: &Grant, role: Role) -> Problem {
    let detail = format!("the token {} does not allow this", grant.name);
    Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
        .expected(format!("a token that allows to {role} here"))
}

/// Checks that a grant covers a key.
pub(crate) fn key(grant: &Grant, role: Role, keyspace: &str, key: &[u8]) -> Result<(), Problem> {
    let allowed = grant.allows_key(role, keyspace, key);
    if allowed { Ok(()) } else { Err(forbidden(grant, role)) }
}

/// Checks that a grant covers a range of keys.
pub(crate) fn range(
    grant: &Grant,
    role: Role,
    keyspace: &str,
    range: &KeyRange,
) -> Result<(), Problem> {
    let allowed = grant.allows_range(role, keyspace, range);
    if allowed { Ok(()) } else { Err(forbidden(grant, role)) }
}

/// Checks that a grant covers the whole store.
pub(crate) fn store(grant: &Grant, role: Role) -> Result<(), Problem> {
    if grant.allows_store(role) { Ok(()) } else { Err(forbidden(grant, role)) }
}
