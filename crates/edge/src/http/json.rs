//! Bodies in JSON.

use super::problem::Problem;
use axum::http::StatusCode;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A value that is an object: derived parsers also take an array of its members by position.
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfObject(PhantomData)).map(Object)
    }
}

struct OfObject<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OfObject<T> {
    type Value = T;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Parses a body, which is an object.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    expected: &'static str,
) -> Result<T, Problem> {
    let parsed = serde_json::from_slice(bytes).map(|Object(parsed)| parsed);
    parsed.map_err(|e| Problem::malformed("the body", expected, e.to_string()))
}

/// Returns the problem of a malformed member of an array. A sentence may say what was expected, and what was found.
pub(crate) fn malformed(array: &str, at: usize, sentence: &str) -> Problem {
    let detail = format!("{array}[{at}]: {sentence}");
    let problem = Problem::new(StatusCode::BAD_REQUEST, "malformed-request", detail);
    match sentence.split_once("expected ").and_then(|(_, rest)| rest.rsplit_once(", found ")) {
        Some((expected, found)) => problem.expected(expected.to_owned()).found(found),
        None => problem,
    }
}
