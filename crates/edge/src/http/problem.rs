//! Errors as problem details (RFC 9457): a type, what was expected and what was found.

use crate::shared::Shared;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use terrane::{Closed, CursorRefused, Error, ErrorKind};

/// Prefix of every problem's type.
const TYPE: &str = "urn:terrane:problem:";
/// Seconds after which a client should repeat a request that found no room.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");
/// Arguments of the engine whose bounds are bounds of sizes.
const SIZES: [&str; 4] = ["key", "value", "value that expires", "batch"];

/// A failed request.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    headers: HeaderMap,
    document: Document,
}

#[derive(Debug, Serialize)]
struct Document {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

impl Problem {
    /// Returns a problem of this status and type.
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        let document = Document {
            kind: format!("{TYPE}{kind}"),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            expected: None,
            found: None,
            failed: None,
            cursor: None,
        };
        let mut headers = HeaderMap::new();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, RETRY_SECONDS);
        }
        Problem(Box::new(Parts { status, headers, document }))
    }

    /// Returns the problem of a malformed part of a request.
    pub fn malformed(
        part: &str,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Self {
        let detail = format!("{part} is malformed");
        Problem::new(StatusCode::BAD_REQUEST, "malformed-request", detail)
            .expected(expected)
            .found(found)
    }

    /// Returns the problem of a part of a request over its bound.
    pub fn too_large(part: &str, max: usize, found: impl std::fmt::Display) -> Self {
        let detail = format!("{part} is too large");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
            .expected(format!("at most {max} bytes"))
            .found(format!("{found} bytes"))
    }

    /// Returns the problem of a keyspace that does not exist.
    pub fn no_keyspace(name: &str) -> Self {
        Problem::not_found(format!("there is no keyspace \"{name}\""))
    }

    /// Returns the problem of a key without a value.
    pub fn no_key(key: &[u8], keyspace: &str) -> Self {
        Problem::not_found(format!(
            "there is no key \"{}\" in the keyspace \"{keyspace}\"",
            key.escape_ascii()
        ))
    }

    fn not_found(detail: String) -> Self {
        Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    /// Returns the problem of a request or a reply for which too little memory is left.
    pub fn no_memory() -> Self {
        let detail = "the memory for requests and replies is in use";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
    }

    /// Adds what was expected.
    pub fn expected(mut self, expected: impl Into<Cow<'static, str>>) -> Self {
        self.0.document.expected = Some(expected.into());
        self
    }

    /// Adds what was found.
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.0.document.found = Some(found.into());
        self
    }

    /// Adds the conditions that failed, as JSON.
    pub fn failed(mut self, conditions: Box<RawValue>) -> Self {
        self.0.document.failed = Some(conditions);
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Self {
        if let Ok(value) = value.try_into() {
            self.0.headers.insert(name, value);
        }
        self
    }

    /// Returns the problem of a failed call of the store. A failure that lasts makes the server not ready.
    pub fn of(error: &Error, shared: &Shared) -> Self {
        shared.health.note(error);
        Problem::from(error)
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (status, kind) = match error.kind() {
            ErrorKind::InvalidArgument(argument) => {
                let is_size = SIZES.contains(&argument.what);
                let (status, kind) = match is_size {
                    true => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
                    false => (StatusCode::BAD_REQUEST, "malformed-request"),
                };
                return Problem::new(status, kind, error.to_string())
                    .expected(argument.expected.clone())
                    .found(argument.found.clone());
            }
            ErrorKind::NoSpace(_) => (StatusCode::INSUFFICIENT_STORAGE, "no-space"),
            ErrorKind::Poisoned(_) | ErrorKind::JobPanicked(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "writes-failed")
            }
            ErrorKind::Stalled(_) | ErrorKind::Conflict => {
                (StatusCode::SERVICE_UNAVAILABLE, "busy")
            }
            ErrorKind::Closed(Closed::Keyspace) => (StatusCode::NOT_FOUND, "not-found"),
            ErrorKind::Closed(_) => (StatusCode::SERVICE_UNAVAILABLE, "closing"),
            ErrorKind::Cursor(CursorRefused { newest, .. }) => {
                let mut problem = Problem::new(StatusCode::GONE, "cursor-gone", error.to_string());
                problem.0.document.cursor = Some(newest.clone());
                return problem;
            }
            ErrorKind::Corrupt(_) => (StatusCode::INTERNAL_SERVER_ERROR, "damage"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        Problem::new(status, kind, error.to_string())
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.document.serialize(serializer)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // No member can fail to become JSON.
        let document = serde_json::to_string(&self).unwrap_or_default();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        (self.0.status, self.0.headers, kind, document).into_response()
    }
}
