//! The target of a request: a keyspace and a key in its path, parameters in its query.
//!
//! Keys are any bytes, percent-encoded; a slash in a key may stand as it is. A text that is not encoded is refused,
//! since it would often name another key.

use super::problem::Problem;
use super::sequence::REPLICATED;
use crate::percent;
use crate::shared::Shared;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::time::Duration;
use terrane::Durability;

/// The keyspace in a path such as `/v1/KEYSPACE/...`.
pub(crate) struct Target {
    pub keyspace: String,
    /// Bytes after `/keys/`; empty elsewhere.
    pub key: Vec<u8>,
}

impl<S: Sync> FromRequestParts<S> for Target {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Target::of(parts.uri.path())
    }
}

impl Target {
    /// Parses a path.
    pub fn of(path: &str) -> Result<Self, Problem> {
        let rest = path.strip_prefix("/v1/").unwrap_or_default();
        let (keyspace, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let key = decode("the key", rest.strip_prefix("keys/").unwrap_or_default())?;
        let keyspace = String::from_utf8(decode("the keyspace", keyspace)?);
        let expected = "a name in UTF-8";
        let keyspace =
            keyspace.map_err(|_| Problem::malformed("the keyspace", expected, "other bytes"))?;
        Ok(Target { keyspace, key })
    }
}

/// The parameters of a query, each at most once.
pub(crate) struct Parameters(Vec<(String, Vec<u8>)>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Parameters::of(parts.uri.query().unwrap_or_default())
    }
}

/// Decodes a part of a target.
fn decode(part: &str, text: &str) -> Result<Vec<u8>, Problem> {
    let expected = "two hexadecimal digits after each %; for example: 100%25";
    percent::decode(text).ok_or_else(|| Problem::malformed(part, expected, text))
}

impl Parameters {
    /// Parses a query, in which a plus is a space.
    pub fn of(query: &str) -> Result<Self, Problem> {
        let mut parameters: Vec<(String, Vec<u8>)> = Vec::new();
        let decode = |text: &str| decode("the query", &text.replace('+', " "));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = String::from_utf8_lossy(&decode(name)?).into_owned();
            if parameters.iter().any(|(other, _)| *other == name) {
                let expected = "each parameter once";
                return Err(Problem::malformed("the query", expected, format!("{name} twice")));
            }
            parameters.push((name, decode(value)?));
        }
        Ok(Parameters(parameters))
    }

    /// Takes the value of a parameter.
    pub fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let at = self.0.iter().position(|(other, _)| other == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes a flag: it is set if it has no value or the value `true`.
    pub fn take_flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.take(name).as_deref() {
            None | Some(b"false") => Ok(false),
            Some(b"" | b"true") => Ok(true),
            Some(other) => Err(malformed(name, "true or false", other)),
        }
    }

    /// Takes a number from 1 on.
    pub fn take_number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(given) = self.take(name) else { return Ok(None) };
        let number = std::str::from_utf8(&given).ok().and_then(|text| text.parse().ok());
        match number.filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(malformed(name, "a number from 1 on", &given)),
        }
    }

    /// Takes the durability of a write.
    pub fn take_durability(&mut self, shared: &Shared) -> Result<Durability, Problem> {
        match self.take("durability").as_deref() {
            None => Ok(shared.durability),
            Some(b"buffered") => Ok(Durability::Buffered),
            Some(b"sync") => Ok(Durability::Sync),
            // `sequence` waits for the backup.
            Some(asked) if asked == REPLICATED.as_bytes() && shared.backup.is_some() => {
                Ok(Durability::Sync)
            }
            Some(other) if shared.backup.is_some() => {
                Err(malformed("durability", "buffered, sync or replicated", other))
            }
            Some(other) => Err(malformed("durability", "buffered or sync", other)),
        }
    }

    /// Takes the time for which a value is kept.
    pub fn take_ttl(&mut self) -> Result<Option<Duration>, Problem> {
        Ok(self.take_number("ttl")?.map(Duration::from_millis))
    }

    /// Refuses parameters that are left.
    pub fn finish(&self, known: &'static str) -> Result<(), Problem> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::malformed("the query", known, name.clone())),
        }
    }
}

fn malformed(name: &str, expected: &'static str, found: &[u8]) -> Problem {
    Problem::malformed(&format!("the parameter {name}"), expected, String::from_utf8_lossy(found))
}
