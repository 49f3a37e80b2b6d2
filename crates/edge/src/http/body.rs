//! Bodies of requests, within their bounds.
//!
//! 1. A body whose length is declared over the bound is refused before it is read, any other once it is there.
//! 2. Bytes are taken from the budget as they arrive. They are returned with [`Received`].
//! 3. A body that arrives more slowly than [`RATE`], after a time of grace, is refused.

use super::problem::Problem;
use crate::limits::{Held, Limits};
use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Least bytes of a body in a second.
const RATE: u64 = 1024;

/// A body, and its part of the budget.
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
    let (mut body, started) = (body, Instant::now());
    let (mut bytes, mut held) = (Vec::new(), limits.hold_nothing());
    loop {
        let time = limits.body_grace + Duration::from_secs(bytes.len() as u64 / RATE);
        let deadline = started + time;
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| too_slow(bytes.len()))?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|e| {
            let expected = "a body of the declared length";
            Problem::malformed("the body", expected, e.to_string())
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > max {
            return Err(Problem::too_large("the body", max, "more"));
        }
        if !held.grow(data.len()) {
            return Err(Problem::no_memory());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Received { bytes, held })
}

fn too_slow(bytes: usize) -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body arrives too slowly")
        .expected(format!("{RATE} bytes a second"))
        .found(format!("{bytes} bytes"))
}
