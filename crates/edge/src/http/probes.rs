//! Health for orchestrators: `/health/live` and `/health/ready`, which need no token.

use super::problem::Problem;
use crate::shared::Shared;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;

/// Answers that the process runs.
pub(crate) async fn live() -> &'static str {
    "live\n"
}

/// Returns the reason why a replica is not ready.
fn lag(shared: &Shared) -> Option<String> {
    shared.replica.as_ref().and_then(|replica| replica.problem())
}

/// Answers whether requests should be sent here.
pub(crate) async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, Problem> {
    let detail = match shared.stopping.is_cancelled() {
        true => "the server stops".to_owned(),
        false => match shared.health.problem().or_else(|| lag(&shared)).or_else(|| shared.fenced())
        {
            None => return Ok("ready\n"),
            Some(problem) => problem,
        },
    };
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", detail))
}
