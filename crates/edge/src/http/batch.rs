//! Batches: `POST /v1/batch` writes all of its operations if all of its conditions hold.
//!
//! The body has conditions and operations, each on a key of a keyspace, `default` if none is named:
//! `{"if":[{"key":"a","version":7}],"do":[{"op":"put","key":"a","value":"1"}]}`. Bytes that are not UTF-8 have `_hex`
//! after their name.
//!
//! 1. The body is parsed, and its keyspaces are opened, on a blocking thread.
//! 2. A put creates the keyspace that it lacks once the conditions hold, and the body is parsed again. Conditions and
//!    deletes create none: they see an absent keyspace as an empty one, which stays absent until the batch is written.
//! 3. The batch is committed with its conditions. If some do not hold, the answer names them and the versions found.

use super::access;
use super::body;
use super::bounds::{self, Bounds};
use super::json::{self, Object};
use super::precondition::etag;
use super::problem::Problem;
use super::rows;
use super::target::Parameters;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use terrane::keyspace::DEFAULT_KEYSPACE;
use terrane::{Db, Durability, Error, KeyRange, Keyspace, Outcome, Refusal, Seq, WriteBatch};
use terrane_tokio::Condition;

/// A body, for messages.
const EXPECTED: &str =
    r#"an object such as {"do":[{"op":"put","key":"a","value":"1","ttl":60000}]}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(borrow, default, rename = "if")]
    conditions: Vec<Object<If<'a>>>,
    #[serde(borrow, default, rename = "do")]
    operations: Vec<Object<Do<'a>>>,
}

/// A condition on a key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct If<'a> {
    #[serde(borrow)]
    keyspace: Option<Cow<'a, str>>,
    key: Option<Cow<'a, str>>,
    key_hex: Option<Cow<'a, str>>,
    #[serde(default)]
    absent: bool,
    #[serde(default)]
    present: bool,
    version: Option<Seq>,
    value: Option<Cow<'a, str>>,
    value_hex: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Op {
    Put,
    Delete,
    DeleteRange,
}

/// An operation on a key or a range.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Do<'a> {
    op: Op,
    #[serde(borrow)]
    keyspace: Option<Cow<'a, str>>,
    key: Option<Cow<'a, str>>,
    key_hex: Option<Cow<'a, str>>,
    value: Option<Cow<'a, str>>,
    value_hex: Option<Cow<'a, str>>,
    ttl: Option<u64>,
    gte: Option<Cow<'a, str>>,
    gte_hex: Option<Cow<'a, str>>,
    gt: Option<Cow<'a, str>>,
    gt_hex: Option<Cow<'a, str>>,
    lte: Option<Cow<'a, str>>,
    lte_hex: Option<Cow<'a, str>>,
    lt: Option<Cow<'a, str>>,
    lt_hex: Option<Cow<'a, str>>,
    prefix: Option<Cow<'a, str>>,
    prefix_hex: Option<Cow<'a, str>>,
}

/// Writes a batch.
pub(crate) async fn post(
    State(shared): State<Arc<Shared>>,
    Extension(grant): Extension<Arc<Grant>>,
    mut parameters: Parameters,
    body: Body,
) -> Result<Response, Problem> {
    let durability = parameters.take_durability(&shared)?;
    parameters.finish("durability")?;
    let mut received = body::read(body, shared.limits.batch_body_bytes(), &shared.limits).await?;
    // The batch will be another copy.
    if !received.held.cover(2 * received.bytes.len()) {
        return Err(Problem::no_memory());
    }
    let mut bytes = received.bytes;
    let of = |e: Error| Problem::of(&e, &shared);
    loop {
        let grant = grant.clone();
        let planned = shared.db.run(move |db| {
            let plan = plan(db, &grant, &bytes);
            Ok::<_, Refused>((plan?, bytes))
        });
        let (plan, parsed) = planned.await.map_err(|e| e.problem(&shared))?;
        bytes = parsed;
        // Until it is dropped, absent keyspaces stay absent.
        let creations = match plan.absent.is_empty() {
            true => None,
            false => Some(shared.creations.read().await),
        };
        if has_any(&shared, &plan.absent).map_err(of)? {
            continue;
        }
        let Plan { conditions, places, batch, creates, unmet, .. } = plan;
        if creates.is_empty() && unmet.is_empty() {
            let outcome = shared.db.write_if(conditions, batch, durability).await;
            return match outcome.map_err(of)? {
                Outcome::Written(version) => {
                    let headers = [(header::ETAG, etag(version))];
                    let kind = [(header::CONTENT_TYPE, "application/json")];
                    Ok((headers, kind, format!("{{\"version\":{version}}}\n")).into_response())
                }
                Outcome::Refused(refusals) => Err(refused(&refusals, &places, &unmet)),
            };
        }
        // A batch that is refused creates no keyspace.
        let mut refusals = Vec::new();
        if !conditions.is_empty() {
            let empty = WriteBatch::new();
            let checked = shared.db.write_if(conditions, empty, Durability::Buffered).await;
            if let Outcome::Refused(found) = checked.map_err(of)? {
                refusals = found;
            }
        }
        if !refusals.is_empty() || !unmet.is_empty() {
            return Err(refused(&refusals, &places, &unmet));
        }
        drop(creations);
        for name in &creates {
            shared.create_keyspace(name).await.map_err(of)?;
        }
    }
}

/// Whether a keyspace of these names exists.
fn has_any(shared: &Shared, names: &[String]) -> Result<bool, Error> {
    for name in names {
        if shared.db.inner().open_keyspace(name)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A batch that is not written.
enum Refused {
    Problem(Problem),
    Store(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Store(error)
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Refused::Problem(problem)
    }
}

impl Refused {
    fn problem(self, shared: &Shared) -> Problem {
        match self {
            Refused::Problem(problem) => problem,
            Refused::Store(error) => Problem::of(&error, shared),
        }
    }
}

/// A batch, and the conditions under which it is written.
#[derive(Default)]
struct Plan {
    conditions: Vec<Condition>,
    /// Number of each condition in the request.
    places: Vec<usize>,
    batch: WriteBatch,
    /// Keyspaces that do not exist.
    absent: Vec<String>,
    /// Keyspaces that a put needs before the batch is whole.
    creates: Vec<String>,
    /// Numbers of conditions that an absent keyspace does not satisfy.
    unmet: Vec<usize>,
}

impl Plan {
    fn add_condition(
        &mut self,
        keyspaces: &mut Keyspaces<'_>,
        at: usize,
        Required { keyspace, key, check }: Required<'_>,
    ) -> Result<(), Error> {
        let Some(keyspace) = keyspaces.get(&keyspace)? else {
            if !matches!(check, Check::Absent) {
                self.unmet.push(at);
            }
            return Ok(());
        };
        let condition = match check {
            Check::Absent => terrane::Condition::absent(keyspace, key),
            Check::Present => terrane::Condition::present(keyspace, key),
            Check::Version(version) => terrane::Condition::version(keyspace, key, version),
            Check::Value(value) => terrane::Condition::value(keyspace, key, value),
        };
        self.conditions.push(condition.into());
        self.places.push(at);
        Ok(())
    }

    fn add_change(
        &mut self,
        keyspaces: &mut Keyspaces<'_>,
        name: &str,
        change: Change<'_>,
    ) -> Result<(), Error> {
        let db = keyspaces.db;
        let Some(keyspace) = keyspaces.get(name)? else {
            let is_put = matches!(change, Change::Put { .. });
            if is_put && !self.creates.iter().any(|other| other == name) {
                self.creates.push(name.to_owned());
            }
            return Ok(());
        };
        match change {
            Change::Put { key, value, ttl: None } => self.batch.put(keyspace, key, value),
            Change::Put { key, value, ttl: Some(ttl) } => {
                self.batch.put_expiring_at(keyspace, key, value, db.expires_in(ttl)?)
            }
            Change::Delete(key) => self.batch.delete(keyspace, key),
            Change::DeleteRange(range) => self.batch.delete_range(keyspace, range),
        }
    }
}

fn plan(db: &Db, grant: &Grant, bytes: &[u8]) -> Result<Plan, Refused> {
    let document: Document = json::parse(bytes, EXPECTED)?;
    let mut keyspaces = Keyspaces { db, open: Vec::new(), absent: Vec::new() };
    let mut plan = Plan::default();
    for (at, Object(condition)) in document.conditions.into_iter().enumerate() {
        let required =
            condition.check().map_err(|sentence| json::malformed("if", at, &sentence))?;
        access::key(grant, Role::Read, &required.keyspace, &required.key)?;
        plan.add_condition(&mut keyspaces, at, required)?;
    }
    for (at, Object(operation)) in document.operations.into_iter().enumerate() {
        let of = |sentence: String| json::malformed("do", at, &sentence);
        let name = operation.keyspace.clone().unwrap_or(Cow::Borrowed(DEFAULT_KEYSPACE));
        let change = operation.change().map_err(of)?;
        match &change {
            Change::Put { key, .. } | Change::Delete(key) => {
                access::key(grant, Role::Write, &name, key)?;
            }
            Change::DeleteRange(range) => access::range(grant, Role::Write, &name, range)?,
        }
        plan.add_change(&mut keyspaces, &name, change)?;
    }
    plan.absent = keyspaces.absent;
    Ok(plan)
}

/// The keyspaces of a batch.
struct Keyspaces<'a> {
    db: &'a Db,
    open: Vec<Keyspace>,
    absent: Vec<String>,
}

impl Keyspaces<'_> {
    /// Returns the keyspace of a name, if there is one. An absent one stays absent for the batch.
    fn get(&mut self, name: &str) -> Result<Option<&Keyspace>, Error> {
        if self.absent.iter().any(|other| other == name) {
            return Ok(None);
        }
        let at = match self.open.iter().position(|keyspace| keyspace.name() == name) {
            Some(at) => at,
            None => {
                let Some(keyspace) = self.db.open_keyspace(name)? else {
                    self.absent.push(name.to_owned());
                    return Ok(None);
                };
                self.open.push(keyspace);
                self.open.len() - 1
            }
        };
        Ok(self.open.get(at))
    }
}

/// A required state of a key.
enum Check<'a> {
    Absent,
    Present,
    Version(Seq),
    Value(Cow<'a, [u8]>),
}

/// A key and its required state.
struct Required<'a> {
    keyspace: Cow<'a, str>,
    key: Cow<'a, [u8]>,
    check: Check<'a>,
}

impl<'a> If<'a> {
    fn check(self) -> Result<Required<'a>, String> {
        let key = key(self.key, self.key_hex)?;
        let value = rows::bytes("value", self.value, self.value_hex)?;
        let check = match (self.absent, self.present, self.version, value) {
            (true, false, None, None) => Check::Absent,
            (false, true, None, None) => Check::Present,
            (false, false, Some(version), None) => Check::Version(version),
            (false, false, None, Some(value)) => Check::Value(value),
            _ => {
                return Err(
                    "expected one of absent, present, version and value, found none or several"
                        .to_owned(),
                );
            }
        };
        let keyspace = self.keyspace.unwrap_or(Cow::Borrowed(DEFAULT_KEYSPACE));
        Ok(Required { keyspace, key, check })
    }
}

/// A change of a batch.
enum Change<'a> {
    Put { key: Cow<'a, [u8]>, value: Cow<'a, [u8]>, ttl: Option<Duration> },
    Delete(Cow<'a, [u8]>),
    DeleteRange(KeyRange),
}

impl<'a> Do<'a> {
    fn change(self) -> Result<Change<'a>, String> {
        let bound =
            |name, text, hex| rows::bytes(name, text, hex).map(|bytes| bytes.map(Cow::into_owned));
        let bounds = Bounds {
            gte: bound("gte", self.gte, self.gte_hex)?,
            gt: bound("gt", self.gt, self.gt_hex)?,
            lte: bound("lte", self.lte, self.lte_hex)?,
            lt: bound("lt", self.lt, self.lt_hex)?,
            prefix: bound("prefix", self.prefix, self.prefix_hex)?,
        };
        let value = rows::bytes("value", self.value, self.value_hex)?;
        let has_value = value.is_some() || self.ttl.is_some();
        match self.op {
            Op::Put if bounds.is_empty() => {
                let value = value.ok_or("expected value or value_hex, found neither")?;
                if self.ttl == Some(0) {
                    return Err("ttl: expected a number from 1 on, found 0".to_owned());
                }
                let ttl = self.ttl.map(Duration::from_millis);
                Ok(Change::Put { key: key(self.key, self.key_hex)?, value, ttl })
            }
            Op::Delete if bounds.is_empty() && !has_value => {
                Ok(Change::Delete(key(self.key, self.key_hex)?))
            }
            Op::DeleteRange if !has_value && self.key.is_none() && self.key_hex.is_none() => {
                match bounds.check_deletion() {
                    Ok(()) => Ok(Change::DeleteRange(bounds.range()?)),
                    Err(found) => {
                        Err(format!("expected {}; for all keys: gte, found {found}", bounds::NAMES))
                    }
                }
            }
            Op::Put => Err("expected key, value and ttl, found a bound".to_owned()),
            Op::Delete => Err("expected a key alone, found more".to_owned()),
            Op::DeleteRange => Err(format!("expected {}, found more", bounds::NAMES)),
        }
    }
}

fn key<'a>(text: Option<Cow<'a, str>>, hex: Option<Cow<'a, str>>) -> Result<Cow<'a, [u8]>, String> {
    let key = rows::bytes("key", text, hex)?;
    key.ok_or_else(|| "expected key or key_hex, found neither".to_owned())
}

/// A condition that does not hold.
#[derive(Serialize)]
struct Failed {
    condition: usize,
    version: Option<Seq>,
}

/// Returns the problem of conditions that do not hold: those that were refused, by their places in the request, and
/// those of absent keyspaces.
fn refused(refusals: &[Refusal], places: &[usize], unmet: &[usize]) -> Problem {
    let found = refusals.iter().map(|refusal| Failed {
        condition: places.get(refusal.condition).copied().unwrap_or(refusal.condition),
        version: refusal.found.as_ref().map(|found| found.seq),
    });
    let absent = unmet.iter().map(|condition| Failed { condition: *condition, version: None });
    let mut failed: Vec<_> = found.chain(absent).collect();
    failed.sort_by_key(|failed| failed.condition);
    let detail = "nothing was written: some conditions do not hold";
    let problem = Problem::new(StatusCode::CONFLICT, "condition-failed", detail);
    match to_raw_value(&failed) {
        Ok(failed) => problem.failed(failed),
        // Numbers become JSON.
        Err(_) => problem,
    }
}
