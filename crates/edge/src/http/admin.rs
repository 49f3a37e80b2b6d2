//! Administration: `/v1/stats`, `/v1/checkpoint` and `/metrics`.

use super::access;
use super::problem::Problem;
use super::target::Parameters;
use crate::checkpoint::{self, Refused};
use crate::metrics;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const JSON: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/json")];
/// Media type of the text format of Prometheus.
const METRICS: [(header::HeaderName, &str); 1] =
    [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];

/// Answers with the statistics of the store.
pub(crate) async fn stats(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.finish("no parameters")?;
    access::store(&grant, Role::Read)?;
    let stats = shared.db.run(terrane::Db::stats).await.map_err(|e| Problem::of(&e, &shared))?;
    // Statistics become JSON.
    let document = serde_json::to_string(&stats).unwrap_or_default();
    Ok((JSON, document).into_response())
}

/// Answers with the metrics of the server and the store.
pub(crate) async fn metrics(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
) -> Result<Response, Problem> {
    access::store(&grant, Role::Read)?;
    let stats = shared.db.run(terrane::Db::stats).await.map_err(|e| Problem::of(&e, &shared))?;
    // Writing to memory cannot fail.
    let text = metrics::text(shared, stats).unwrap_or_default();
    Ok((METRICS, text).into_response())
}

/// Copies the store into a new directory.
pub(crate) async fn checkpoint(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    mut parameters: Parameters,
) -> Result<Response, Problem> {
    access::store(&grant, Role::Admin)?;
    let name = parameters.take("name").unwrap_or_default();
    parameters.finish("name")?;
    let Some(dir) = shared.checkpoints.clone() else {
        let detail = "the server has no place for checkpoints: see --checkpoints";
        return Err(Problem::new(StatusCode::CONFLICT, "no-checkpoints", detail));
    };
    let name = checkpoint::parse_name(&name).ok_or_else(|| {
        let expected = "letters, digits, dots, dashes and underscores, the first no dot";
        let found = String::from_utf8_lossy(&name).into_owned();
        Problem::malformed("the parameter name", expected, found)
    })?;
    let stopping = shared.stopping.clone();
    let go_on = move || !stopping.is_cancelled();
    let written = shared.db.run(move |db| checkpoint::write(db, &dir, &name, go_on)).await;
    match written {
        Ok(place) => {
            let document = serde_json::json!({ "path": place.display().to_string() });
            Ok((StatusCode::CREATED, JSON, document.to_string()).into_response())
        }
        Err(Refused::Store(e)) => Err(Problem::of(&e, &shared)),
        Err(Refused::Taken(place)) => {
            let detail = "the checkpoint, or an unfinished one, is there already";
            Err(Problem::new(StatusCode::CONFLICT, "checkpoint-exists", detail)
                .expected("a name that is not used")
                .found(place.display().to_string()))
        }
        Err(Refused::Stopped) => {
            let detail = "the server stops";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "closing", detail))
        }
    }
}
