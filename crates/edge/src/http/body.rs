//! Bodies of requests, within their bounds.
//!
//! 1. A body whose declared length exceeds the bound is refused before it is read, any other as soon as it exceeds it.
//! 2. It takes memory as its bytes arrive; [`Received`] holds that memory.
//! 3. A body that arrives more slowly than [`RATE`] is refused.

use super::problem::Problem;
use crate::limits::{Held, Limits};
use crate::pace::RATE;
use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use tokio::time::timeout_at;

/// A body, and its part of the memory.
pub(crate) struct Received {
    pub bytes: Vec<u8>,
    pub held: Held,
}

/// Reads the body of a request.
pub(crate) async fn read(body: Body, max: usize, limits: &Limits) -> Result<Received, Problem> {
    let declared = body.size_hint().lower();
    if declared > max as u64 {
        return Err(Problem::too_large("the body", max, declared));
    }
    let (mut body, mut pace) = (body, limits.pace());
    let (mut bytes, mut held) = (Vec::new(), limits.hold_nothing());
    loop {
        let frame = timeout_at(pace.deadline(), body.frame()).await;
        let frame = frame.map_err(|_| too_slow(bytes.len()))?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|e| {
            let expected = "a body of the declared length";
            Problem::malformed("the body", expected, e.to_string())
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > max {
            return Err(Problem::too_large("the body", max, "more"));
        }
        if !held.cover(bytes.len() + data.len()) {
            return Err(Problem::no_memory());
        }
        pace.arrived(data.len());
        bytes.extend_from_slice(&data);
    }
    Ok(Received { bytes, held })
}

fn too_slow(bytes: usize) -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body arrives too slowly")
        .expected(format!("{RATE} bytes a second"))
        .found(format!("{bytes} bytes"))
}
