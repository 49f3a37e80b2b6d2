//! Several keys at one moment: `POST /v1/KEYSPACE/get`.
//!
//! The body is `{"keys":["a",{"key_hex":"00ff"}]}`. The answer has a line of JSON for each key, in their order, with
//! its value and version if it has one, and then `{"end":true}`.

use super::access;
use super::json::Object;
use super::keys::{HeldValue, check_key, open};
use super::problem::Problem;
use super::rows::{self, Last, NDJSON, Row};
use super::target::{Parameters, Target};
use super::{body, json};
use crate::limits::Held;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;
use terrane::{Error, Keyspace};

/// The most keys of a request.
const KEYS_MAX: usize = 10_000;
/// Bytes of the longest body.
const BODY_BYTES_MAX: usize = 16 << 20;

/// A body, for messages.
const EXPECTED: &str = r#"an object such as {"keys":["a",{"key_hex":"00ff"}]}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Many<'a> {
    #[serde(borrow)]
    keys: Vec<Key<'a>>,
}

/// A key as text, or as a member of an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum Key<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Member(#[serde(borrow)] Object<Member<'a>>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Member<'a> {
    #[serde(borrow)]
    key: Option<Cow<'a, str>>,
    #[serde(borrow)]
    key_hex: Option<Cow<'a, str>>,
}

impl Key<'_> {
    fn bytes(self) -> Result<Vec<u8>, String> {
        let (text, hex) = match self {
            Key::Text(text) => (Some(text), None),
            Key::Member(Object(Member { key, key_hex })) => (key, key_hex),
        };
        let key = rows::bytes("key", text, hex)?;
        key.map(Cow::into_owned).ok_or_else(|| "expected key or key_hex, found neither".to_owned())
    }
}

/// Answers with the values of several keys.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    target: Target,
    parameters: Parameters,
    body: Body,
) -> Result<Response, Problem> {
    parameters.finish("no parameters")?;
    let received = body::read(body, BODY_BYTES_MAX, &shared.limits).await?;
    let many: Many = json::parse(&received.bytes, EXPECTED)?;
    if many.keys.len() > KEYS_MAX {
        let found = format!("{} keys", many.keys.len());
        return Err(Problem::malformed("the body", format!("at most {KEYS_MAX} keys"), found));
    }
    let mut keys = Vec::with_capacity(many.keys.len());
    for (at, key) in many.keys.into_iter().enumerate() {
        let key = key.bytes().map_err(|e| json::malformed("keys", at, &e))?;
        check_key(&key, &shared)?;
        access::key(&grant, Role::Read, &target.keyspace, &key)?;
        keys.push(key);
    }
    let keyspace = open(&shared, &target.keyspace).await?;
    let keyspace = keyspace.ok_or_else(|| Problem::no_keyspace(&target.keyspace))?.inner().clone();
    let held = shared.limits.hold_nothing();
    let read = shared.db.read(move |db| lines(db, &keyspace, &keys, held)).await;
    let (lines, held) = read.map_err(|e| match e {
        Failed::Store(e) => Problem::of(&e, &shared),
        Failed::NoMemory => Problem::no_memory(),
    })?;
    let kind = [(header::CONTENT_TYPE, NDJSON), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, HeldValue::bytes(lines, held)).into_response())
}

/// A failure to read several keys.
enum Failed {
    Store(Error),
    NoMemory,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Store(error)
    }
}

/// Reads keys into lines, for which it takes memory.
fn lines(
    db: &terrane::Db,
    keyspace: &Keyspace,
    keys: &[Vec<u8>],
    mut held: Held,
) -> Result<(Vec<u8>, Held), Failed> {
    let snapshot = db.snapshot();
    let mut lines = Vec::new();
    for key in keys {
        let found = snapshot.get_versioned(keyspace, key)?;
        let row = match &found {
            None => Row { key, ..Row::default() },
            Some(found) => {
                let (version, expires) = (Some(found.seq), found.expires_at);
                Row { key, value: Some(&found.value), version, expires }
            }
        };
        rows::push(&row, &mut lines);
        if !held.cover(lines.len()) {
            return Err(Failed::NoMemory);
        }
    }
    rows::push(&Last::End, &mut lines);
    Ok((lines, held))
}
