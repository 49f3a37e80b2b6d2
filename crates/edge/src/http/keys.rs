//! Keys: `GET`, `HEAD`, `PUT` and `DELETE` of `/v1/KEYSPACE/keys/KEY`.
//!
//! The entity tag of a value is the sequence number of its write.

use super::access::{self, EXPIRES};
use super::body;
use super::precondition::{Precondition, Simple, etag, failed};
use super::problem::Problem;
use super::target::{Parameters, Target};
use crate::limits::Held;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use terrane::{Durability, Outcome, Seq, Versioned, WriteBatch};
use terrane_tokio::{Condition, Keyspace};

/// Answers with a value.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    access::key(&grant, Role::Read, &target.keyspace, &target.key)?;
    check_path_key(&target.key, &shared)?;
    parameters.finish("no parameters")?;
    let precondition = Precondition::of(&headers)?;
    let keyspace = open(&shared, &target.keyspace).await?;
    let keyspace = keyspace.ok_or_else(|| Problem::no_keyspace(&target.keyspace))?;
    let found = version_of(&shared, &keyspace, &target.key).await?;
    let is_unmodified = precondition.check_read(found.as_ref().map(|found| found.seq))?;
    let Some(Versioned { seq, value, expires_at, .. }) = found else {
        return Err(Problem::no_key(&target.key, &target.keyspace));
    };
    let mut reply = if is_unmodified {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let held = hold(&shared, value.len())?;
        let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
        (kind, HeldValue::bytes(value, held)).into_response()
    };
    let headers = reply.headers_mut();
    headers.insert(header::ETAG, etag(seq));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(at) = expires_at {
        headers.insert(EXPIRES, HeaderValue::from(at));
    }
    Ok(reply)
}

/// Sets a value.
pub(crate) async fn put(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    mut parameters: Parameters,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    access::key(&grant, Role::Write, &target.keyspace, &target.key)?;
    check_path_key(&target.key, &shared)?;
    let durability = parameters.take_durability(&shared)?;
    let ttl = parameters.take_ttl()?;
    parameters.finish("durability and ttl")?;
    let precondition = Precondition::of(&headers)?;
    let value = body::read(body, shared.limits.value_bytes, &shared.limits).await?;
    let of = |e: terrane::Error| Problem::of(&e, &shared);
    let keyspace = match open(&shared, &target.keyspace).await? {
        Some(keyspace) => keyspace,
        None => {
            precondition.check(None)?;
            shared.create_keyspace(&target.keyspace).await.map_err(of)?
        }
    };
    let mut batch = WriteBatch::new();
    let added =
        match ttl {
            None => batch.put(keyspace.inner(), &target.key, &value.bytes),
            Some(ttl) => shared.db.inner().expires_in(ttl).and_then(|at| {
                batch.put_expiring_at(keyspace.inner(), &target.key, &value.bytes, at)
            }),
        };
    added.map_err(of)?;
    let written = write(&shared, &keyspace, &target.key, &precondition, batch, durability).await?;
    Ok((StatusCode::NO_CONTENT, [(header::ETAG, etag(written))]).into_response())
}

/// Removes a key; it need not exist.
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    mut parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    access::key(&grant, Role::Write, &target.keyspace, &target.key)?;
    check_path_key(&target.key, &shared)?;
    let durability = parameters.take_durability(&shared)?;
    parameters.finish("durability")?;
    let precondition = Precondition::of(&headers)?;
    let Some(keyspace) = open(&shared, &target.keyspace).await? else {
        precondition.check(None)?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let mut batch = WriteBatch::new();
    let added = batch.delete(keyspace.inner(), &target.key);
    added.map_err(|e| Problem::of(&e, &shared))?;
    write(&shared, &keyspace, &target.key, &precondition, batch, durability).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Writes a batch that changes `key` if the precondition holds. Returns its sequence number.
async fn write(
    shared: &Shared,
    keyspace: &Keyspace,
    key: &[u8],
    precondition: &Precondition,
    batch: WriteBatch,
    durability: Durability,
) -> Result<Seq, Problem> {
    if precondition.is_empty() {
        let written = shared.db.write(batch, durability).await;
        return written.map_err(|e| Problem::of(&e, shared));
    }
    let condition = match precondition.simple() {
        Some(Simple::Absent) => Condition::absent(keyspace, key),
        Some(Simple::Present) => Condition::present(keyspace, key),
        Some(Simple::Version(version)) => Condition::version(keyspace, key, version),
        None => {
            return write_checked(shared, keyspace, key, precondition, batch, durability).await;
        }
    };
    write_under(shared, condition, batch, durability).await?.map_err(failed)
}

/// Writes a batch if a condition on a key holds. The inner error is the version that the key has, if it has one.
async fn write_under(
    shared: &Shared,
    condition: Condition,
    batch: WriteBatch,
    durability: Durability,
) -> Result<Result<Seq, Option<Seq>>, Problem> {
    let outcome = shared.db.write_if(vec![condition], batch, durability).await;
    Ok(match outcome.map_err(|e| Problem::of(&e, shared))? {
        Outcome::Written(seq) => Ok(seq),
        Outcome::Refused(refusals) => {
            let found = refusals.into_iter().find_map(|refusal| refusal.found);
            Err(found.map(|found| found.seq))
        }
    })
}

/// Writes a batch under a precondition that is no condition of the store: checks it on the version of the key, and
/// writes if the key still has that version.
async fn write_checked(
    shared: &Shared,
    keyspace: &Keyspace,
    key: &[u8],
    precondition: &Precondition,
    batch: WriteBatch,
    durability: Durability,
) -> Result<Seq, Problem> {
    let found = version_of(shared, keyspace, key).await?;
    let mut version = found.map(|found| found.seq);
    loop {
        precondition.check(version)?;
        let condition = match version {
            Some(version) => Condition::version(keyspace, key, version),
            None => Condition::absent(keyspace, key),
        };
        match write_under(shared, condition, batch.clone(), durability).await? {
            Ok(seq) => return Ok(seq),
            Err(present) => version = present,
        }
    }
}

async fn version_of(
    shared: &Shared,
    keyspace: &Keyspace,
    key: &[u8],
) -> Result<Option<Versioned>, Problem> {
    keyspace.get_versioned(key).await.map_err(|e| Problem::of(&e, shared))
}

/// Returns the keyspace of a name, if there is one.
pub(crate) async fn open(shared: &Shared, name: &str) -> Result<Option<Keyspace>, Problem> {
    shared.db.open_keyspace(name).await.map_err(|e| Problem::of(&e, shared))
}

/// Refuses a key of a path that is over its bound, or empty: clients that resolve `keys/.` send an empty one.
fn check_path_key(key: &[u8], shared: &Shared) -> Result<(), Problem> {
    if key.is_empty() {
        let expected = "a key; for the keys \"\", \".\" and \"..\", which URLs cannot carry: \
                        POST /v1/batch and POST /v1/KEYSPACE/get";
        return Err(Problem::malformed("the path", expected, "an empty key"));
    }
    check_key(key, shared)
}

/// Refuses a key over its bound.
pub(crate) fn check_key(key: &[u8], shared: &Shared) -> Result<(), Problem> {
    let max = shared.limits.key_bytes;
    if key.len() > max { Err(Problem::too_large("the key", max, key.len())) } else { Ok(()) }
}

/// Takes memory for a reply.
pub(crate) fn hold(shared: &Shared, bytes: usize) -> Result<Held, Problem> {
    shared.limits.hold(bytes).ok_or_else(Problem::no_memory)
}

/// Bytes that are sent, and their part of the memory.
pub(crate) struct HeldValue {
    value: Vec<u8>,
    _held: Held,
}

impl HeldValue {
    /// Returns the bytes for a body, which holds the memory until they are sent.
    pub fn bytes(value: Vec<u8>, held: Held) -> Bytes {
        Bytes::from_owner(HeldValue { value, _held: held })
    }
}

impl AsRef<[u8]> for HeldValue {
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}
