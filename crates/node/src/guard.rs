//! Errors as JavaScript gets them: objects with a code and a message. A panic becomes such an error, since it must
//! neither end the process nor cross the frames of JavaScript.

use napi::bindgen_prelude::Object;
use napi::{Env, JsValue, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};
use terrane::{Error, ErrorKind, Result};
use terrane_session::{NOT_FOUND, code, message, no_keyspace};

/// The code of a panic: the npm package's class for an engine that has crashed.
const CRASHED: &str = "engine";

/// An error of JavaScript before it is thrown.
pub struct Failure {
    code: &'static str,
    message: String,
    /// The damaged file and the offset in it, if the error is damage.
    damage: Option<(String, u64)>,
    /// The newest cursor of the change feed, if it refuses one.
    cursor: Option<String>,
}

impl Failure {
    /// Returns the failure of opening a keyspace that does not exist.
    pub(crate) fn no_keyspace(name: &str) -> Self {
        Failure { code: NOT_FOUND, message: no_keyspace(name), damage: None, cursor: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let damage = match error.kind() {
            ErrorKind::Corrupt(damage) => Some((damage.file.clone(), damage.offset)),
            _ => None,
        };
        let cursor = match error.kind() {
            ErrorKind::Cursor(refused) => Some(refused.newest.clone()),
            _ => None,
        };
        Failure { code: code(&error), message: message(&error), damage, cursor }
    }
}

/// Runs `body`; throws what it returns as an error, and what it panics with.
pub(crate) fn guard<T>(env: &Env, body: impl FnOnce() -> Result<T>) -> napi::Result<T> {
    guard_failure(env, || body().map_err(Failure::from))
}

/// Runs `body`, whose error need not be one of the engine's.
pub(crate) fn guard_failure<T>(
    env: &Env,
    body: impl FnOnce() -> std::result::Result<T, Failure>,
) -> napi::Result<T> {
    caught(body).map_err(|failure| throw(env, &failure))
}

/// Runs `body`, and returns a panic as a failure.
pub(crate) fn caught<T>(
    body: impl FnOnce() -> std::result::Result<T, Failure>,
) -> std::result::Result<T, Failure> {
    // A store whose call has panicked takes no more of them: the npm package sees to it.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let why = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = format!("the engine crashed: {}", why.unwrap_or("it gives no reason"));
        Err(Failure { code: CRASHED, message, damage: None, cursor: None })
    })
}

/// Throws a failure; returns the error that says so.
fn throw(env: &Env, failure: &Failure) -> napi::Error {
    match object(env, failure).and_then(|object| env.throw(object.to_unknown())) {
        Ok(()) => napi::Error::new(Status::PendingException, failure.message.clone()),
        Err(error) => error,
    }
}

/// Returns `{ code, message }`; for damage also the `file` and the `offset` in it, and for a cursor that the change
/// feed refuses its newest `cursor`.
pub(crate) fn object<'env>(env: &'env Env, failure: &Failure) -> napi::Result<Object<'env>> {
    let mut object = Object::new(env)?;
    object.set("code", failure.code)?;
    object.set("message", failure.message.as_str())?;
    if let Some((file, offset)) = &failure.damage {
        object.set("file", file.as_str())?;
        object.set("offset", *offset as f64)?;
    }
    if let Some(cursor) = &failure.cursor {
        object.set("cursor", cursor.as_str())?;
    }
    Ok(object)
}
