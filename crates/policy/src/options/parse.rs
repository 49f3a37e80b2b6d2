//! The text form of options: one map, as JSON or any other serde format.
//!
//! ```json
//! {"policy": "leveled", "size-ratio": 10}
//! ```
//!
//! 1. The name selects a policy with its defaults; it may appear anywhere in the map.
//! 2. Each other entry sets a parameter. Unknown names and values of the wrong kind are errors; ranges
//!    are checked when the policy is built. Errors have the names of parameters in backticks, so that a
//!    language with other names for them can tell them apart.
//!
//! Parsing is driven by the descriptions of the parameters, and the engine parses text without serde,
//! whose code is many times as large: a browser has to load it.

use super::BadOption;
use super::presets::{defaults, is_added_by_all};
use crate::ALL;
use crate::policies::PolicyOptions;
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{
    Choose, LEVEL0, PARTITIONING, ParameterRef, Value, ValueRef, from_hexadecimal,
};
#[cfg(feature = "all")]
use crate::toolkit::parameter::{expected_list, list_of};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;
use std::str::FromStr;

/// The entry that names the policy.
const POLICY: &str = "policy";

impl Serialize for PolicyOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(POLICY, self.name())?;
        let defaults = named(self.name()).map_or_else(Vec::new, |p| p.parameters());
        for (at, parameter) in self.parameters().into_iter().enumerate() {
            // Builds without it read what does not use it.
            if is_added(parameter.name) && defaults.get(at) == Some(&parameter) {
                continue;
            }
            match parameter.value {
                Value::Number { value, .. } => map.serialize_entry(parameter.name, &value)?,
                Value::Switch { value } => map.serialize_entry(parameter.name, &value)?,
                Value::Choice { value, .. } => map.serialize_entry(parameter.name, value)?,
                Value::Key { value } | Value::List { value, .. } => {
                    map.serialize_entry(parameter.name, &value)?;
                }
            }
        }
        map.end()
    }
}

/// Reason why a text is not a policy's options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found}, expected {expected}")]
pub struct ParseError {
    /// Expected text, in words.
    pub expected: String,
    /// Text found instead.
    pub found: String,
}

impl From<BadOption> for ParseError {
    fn from(bad: BadOption) -> Self {
        let BadOption { policy, parameter, expected, found } = bad;
        ParseError { expected, found: format!("{policy}: `{parameter}` is {found}") }
    }
}

/// Parses JSON without escapes. A name alone is for [`PolicyOptions::preset`].
impl FromStr for PolicyOptions {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse_scaled(text, |preset| preset)
    }
}

/// Whether only the build with all policies has a parameter of this name.
fn is_added(name: &str) -> bool {
    PARTITIONING.contains(&name) || LEVEL0.contains(&name)
}

/// An object, for those who wrote something else; JavaScript always passes one.
const OBJECT: &str = if cfg!(target_family = "wasm") {
    "a JSON object"
} else {
    r#"`{"policy":"leveled"}` or, with parameters, `{"policy":"leveled","size-ratio":4}`"#
};

fn no_object() -> ParseError {
    ParseError { expected: OBJECT.to_owned(), found: "no JSON object".to_owned() }
}

impl PolicyOptions {
    /// Parses JSON without escapes; `scale` adjusts the policy's defaults before its parameters are
    /// set.
    pub fn parse_scaled(text: &str, scale: fn(Self) -> Self) -> Result<Self, ParseError> {
        read(&entries(text).ok_or_else(no_object)?, scale, &mut Err)
    }

    /// Parses the options that a store keeps, which another release may have written: what this one
    /// does not know or allow gets its default. Also returns these problems, in words.
    #[must_use]
    pub fn stored(text: &str) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut note = |problem: ParseError| {
            problems.push(problem.to_string());
            Ok(())
        };
        let mut options = match entries(text) {
            Some(entries) => read(&entries, |preset| preset, &mut note).unwrap_or_default(),
            None => {
                problems.push(no_object().to_string());
                PolicyOptions::default()
            }
        };
        while let Err(bad) = options.build() {
            let parameter = bad.parameter;
            problems.push(ParseError::from(bad).to_string());
            if !options.reset(parameter) {
                return (PolicyOptions::default(), problems);
            }
        }
        (options, problems)
    }

    /// The policy that these options name, or their filters or another parameter, if this build lacks them
    /// for want of the feature `all`.
    #[must_use]
    pub fn left_out(text: &str) -> Option<String> {
        let entries = entries(text)?;
        let name = word_of(&entries, POLICY)?;
        if named(name).is_none() {
            return is_added_by_all(name).then(|| name.to_owned());
        }
        let added = entries.iter().find(|(name, _)| is_added(name));
        if let Some((added, _)) = added.filter(|_| !ALL) {
            let is_level0 = LEVEL0.contains(&added.as_str());
            return Some(if is_level0 {
                format!("{name} with `{added}`")
            } else {
                format!("{name} with partitioning")
            });
        }
        let filters = word_of(&entries, ParameterRef::FILTERS)?;
        let has = Filters::default().among().contains(&filters);
        (!has && Filters::NAMES.contains(&filters))
            .then(|| format!("{name} with {filters} filters"))
    }

    /// Resets a number, a list or a key to its default; returns whether it changed.
    fn reset(&mut self, parameter: &str) -> bool {
        let named = named(self.name()).map_or_else(Vec::new, |p| p.parameters());
        let default = named.into_iter().find(|p| p.name == parameter).map(|p| p.value);
        let slot = self.tuning().into_iter().find(|tuned| tuned.name == parameter);
        match (slot.map(|tuned| tuned.slot), default) {
            (Some(ValueRef::Number { value, .. }), Some(Value::Number { value: default, .. })) => {
                std::mem::replace(value, default) != default
            }
            (Some(ValueRef::Key(value)), _) => !std::mem::take(value).is_empty(),
            #[cfg(feature = "all")]
            (
                Some(ValueRef::List { value, .. }),
                Some(Value::List { least, most, value: text }),
            ) => {
                let default = list_of(&text, least, most).unwrap_or_default();
                std::mem::replace(value, default.clone()) != default
            }
            _ => false,
        }
    }
}

fn entries(text: &str) -> Option<Vec<(String, Given)>> {
    let word = |text: &[u8]| {
        let word = text.trim_ascii().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let plain = !word.iter().any(|byte| matches!(byte, b'"' | b'\\'));
        String::from_utf8(word.to_vec()).ok().filter(|_| plain)
    };
    let map = text.as_bytes().trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut entries = Vec::new();
    for entry in map.split(|byte| *byte == b',') {
        let (name, value) = entry.split_at(entry.iter().position(|byte| *byte == b':')?);
        let given = match value.get(1..)?.trim_ascii() {
            b"true" => Given::Switch(true),
            b"false" => Given::Switch(false),
            value @ [b'"', ..] => Given::Word(word(value)?),
            value => {
                let value = str::from_utf8(value).ok()?;
                value.parse().map_or_else(|_| Given::Other(value.to_owned()), Given::Number)
            }
        };
        entries.push((word(name)?, given));
    }
    Some(entries)
}

impl<'de> Deserialize<'de> for PolicyOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = deserializer.deserialize_map(Entries)?;
        read(&entries, |preset| preset, &mut Err).map_err(D::Error::custom)
    }
}

/// Steps 1 and 2; `wrong` decides whether a problem is an error or is ignored.
fn read(
    entries: &[(String, Given)],
    scale: fn(PolicyOptions) -> PolicyOptions,
    wrong: &mut dyn FnMut(ParseError) -> Result<(), ParseError>,
) -> Result<PolicyOptions, ParseError> {
    let policy = word_of(entries, POLICY);
    let Some(mut options) = policy.and_then(named).map(scale) else {
        let known: Vec<_> = defaults().iter().map(PolicyOptions::name).collect();
        let found =
            policy.map_or("no `policy`".to_owned(), |name| format!("unknown policy \"{name}\""));
        wrong(ParseError { expected: joined(&known, ", "), found })?;
        return Ok(PolicyOptions::default());
    };
    let policy = options.name();
    let mut tuning = options.tuning();
    for (at, (name, given)) in entries.iter().enumerate() {
        if entries.iter().take(at).any(|(earlier, _)| earlier == name) {
            let (expected, found) = ("each parameter once".to_owned(), format!("`{name}` twice"));
            wrong(ParseError { expected, found })?;
            continue;
        }
        if name == POLICY {
            continue;
        }
        let Some(tuned) = tuning.iter_mut().find(|tuned| tuned.name == name) else {
            let known: Vec<_> = tuning.iter().map(|tuned| tuned.name).collect();
            let expected = format!("`{}`", joined(&known, "`, `"));
            wrong(ParseError { expected, found: format!("unknown parameter `{name}`") })?;
            continue;
        };
        if !take(&mut tuned.slot, given) {
            let expected = match &tuned.slot {
                ValueRef::Number { least, most, .. } => {
                    format!("a whole number from {least} to {most}")
                }
                ValueRef::Switch(_) => "true or false".to_owned(),
                ValueRef::Choice(value) => joined(value.among(), " or "),
                ValueRef::Key(_) => "pairs of hexadecimal digits".to_owned(),
                #[cfg(feature = "all")]
                ValueRef::List { least, most, .. } => expected_list(*least, *most),
            };
            let (parameter, found) = (tuned.name, given.to_string());
            wrong(BadOption { policy, parameter, expected, found }.into())?;
        }
    }
    if ALL {
        let is_given = |parameter: &str| entries.iter().any(|(name, _)| name == parameter);
        options.described_mut().complete(&is_given);
    }
    Ok(options)
}

/// The word that an entry gives.
fn word_of<'e>(entries: &'e [(String, Given)], wanted: &str) -> Option<&'e str> {
    entries.iter().find_map(|(name, given)| match given {
        Given::Word(word) if name == wanted => Some(word.as_str()),
        _ => None,
    })
}

/// The policy of this name with its defaults, also one that is no preset.
fn named(name: &str) -> Option<PolicyOptions> {
    PolicyOptions::all().into_iter().find(|options| options.name() == name)
}

fn joined(words: &[&str], between: &str) -> String {
    let mut list = String::new();
    for word in words {
        if !list.is_empty() {
            list.push_str(between);
        }
        list.push_str(word);
    }
    list
}

/// Sets a parameter if the value is of the right kind.
fn take(slot: &mut ValueRef<'_>, given: &Given) -> bool {
    match (slot, given) {
        (ValueRef::Number { value, .. }, Given::Number(number)) => **value = *number,
        (ValueRef::Switch(value), Given::Switch(switch)) => **value = *switch,
        (ValueRef::Choice(value), Given::Word(word)) => return value.choose_word(word),
        (ValueRef::Key(value), Given::Word(word)) if ALL => {
            let Some(key) = from_hexadecimal(word) else { return false };
            **value = key;
        }
        #[cfg(feature = "all")]
        (ValueRef::List { least, most, value }, Given::Word(word)) => {
            let Some(numbers) = list_of(word, *least, *most) else { return false };
            **value = numbers;
        }
        _ => return false,
    }
    true
}

/// A value as parsed.
enum Given {
    Number(u64),
    Switch(bool),
    Word(String),
    /// A value of no parameter's kind.
    Other(String),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Number(number) => write!(f, "{number}"),
            Given::Switch(switch) => write!(f, "{switch}"),
            Given::Word(word) => write!(f, "\"{word}\""),
            Given::Other(value) => f.write_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneGiven)
    }
}

struct OneGiven;

impl Visitor<'_> for OneGiven {
    type Value = Given;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, true or false, or a word")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Given, E> {
        Ok(Given::Number(value))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Given, E> {
        Ok(Given::Switch(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Given, E> {
        Ok(Given::Word(value.to_owned()))
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, Given)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy and its parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
