//! The path of a read: `GET /v1/KEYSPACE/trace?key=KEY` answers with the steps of a get, which the visualizer shows.

use super::access;
use super::keys::{check_key, open};
use super::problem::Problem;
use super::target::{Parameters, Target};
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use terrane::Error;

/// Answers with the steps of a get, which it performs.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    mut parameters: Parameters,
) -> Result<Response, Problem> {
    let key = parameters.take("key");
    let given = key.as_deref().unwrap_or_default();
    access::key(&grant, Role::Read, &target.keyspace, given)?;
    check_key(given, &shared)?;
    let Some(key) = key else {
        let expected = "the parameter key; for example: ?key=user%3A1";
        return Err(Problem::malformed("the query", expected, "no key"));
    };
    parameters.finish("key")?;
    let keyspace = open(&shared, &target.keyspace).await?;
    let keyspace = keyspace.ok_or_else(|| Problem::no_keyspace(&target.keyspace))?.inner().clone();
    let read = move |_: &terrane::Db| Ok::<_, Error>(keyspace.trace_get(&key)?.1);
    let trace = shared.db.read(read).await.map_err(|e| Problem::of(&e, &shared))?;
    let kind = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    // Nothing in a trace fails to become JSON.
    Ok((kind, serde_json::to_string(&trace).unwrap_or_default()).into_response())
}
