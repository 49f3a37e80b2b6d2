//! Arguments that several commands share: a store, a keyspace, a range of keys, a policy, JSON.

use crate::background::Background;
use crate::escape::{from_hex, shown};
use crate::exit::{Exit, Failure};
use clap::Args;
use serde::de::DeserializeOwned;
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::path::PathBuf;
use terrane::KeyRange;
use terrane::keyspace::DEFAULT_KEYSPACE;
use terrane_policy::{PolicyOptions, presets};

// A command about a store.
#[derive(Args)]
pub struct InStore<T: Args> {
    /// Use the store in this directory or single file
    pub dir: PathBuf,
    #[command(flatten)]
    pub args: T,
}

// A command about a keyspace of a store.
#[derive(Args)]
pub struct InKeyspace<T: Args> {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub args: T,
}

// A keyspace of a store.
#[derive(Args, Clone)]
pub struct At {
    /// Use the store in this directory or single file
    pub dir: PathBuf,
    /// Use this keyspace
    #[arg(long, value_name = "NAME", default_value = DEFAULT_KEYSPACE)]
    pub keyspace: String,
}

// A command that writes to a keyspace, and how background work is done meanwhile.
#[derive(Args)]
pub struct Working<T: Args> {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub args: T,
    #[command(flatten)]
    pub background: Background,
}

// Bounds of keys.
#[derive(Args)]
pub struct RangeArgs {
    /// Start at this key, inclusive
    #[arg(long, value_name = "KEY")]
    pub from: Option<OsString>,
    /// Stop at this key, exclusive
    #[arg(long, value_name = "KEY")]
    pub to: Option<OsString>,
    /// Set both bounds at once: FROM..TO, FROM.. or ..TO
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["from", "to"])]
    pub range: Option<OsString>,
    /// Take only keys that start with this
    #[arg(long, value_name = "KEY")]
    pub prefix: Option<OsString>,
}

impl RangeArgs {
    /// The keys within all bounds, which are in hexadecimal digits if `hex`.
    pub fn parse(&self, hex: bool) -> Result<KeyRange, Failure> {
        let given = |bound: &Option<OsString>| bound.as_ref().map(|b| bytes(b, hex)).transpose();
        let (from, to) = match &self.range {
            Some(range) => bounds(range, hex)?,
            None => (given(&self.from)?, given(&self.to)?),
        };
        if let (Some(from), Some(to)) = (&from, &to)
            && from > to
        {
            let (from, to) = (shown(from, 40), shown(to, 40));
            let sentence = format!(
                "expected a range whose start is not after its end, found {from} to {to}; \
                 for example: --from a --to b"
            );
            return Err(Failure::new(Exit::Usage, sentence));
        }
        let mut range =
            given(&self.prefix)?.map_or_else(KeyRange::default, |p| KeyRange::prefix(&p));
        if let Some(from) = from
            && !matches!(&range.from, Bound::Included(prefix) if *prefix >= from)
        {
            range.from = Bound::Included(from);
        }
        if let Some(to) = to
            && !matches!(&range.to, Bound::Excluded(end) if *end <= to)
        {
            range.to = Bound::Excluded(to);
        }
        Ok(range)
    }
}

/// The start and the end, each of them if given.
type Bounds = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The bounds in FROM..TO.
fn bounds(range: &OsStr, hex: bool) -> Result<Bounds, Failure> {
    let text = range.as_encoded_bytes();
    let mut dots = memchr::memmem::find_iter(text, b"..");
    let (Some(at), None) = (dots.next(), dots.next()) else {
        let sentence = format!(
            "expected FROM..TO, found {}; for example: --range a..b, or --from a --to b for keys \
             that contain \"..\"",
            shown(text, 40)
        );
        return Err(Failure::new(Exit::Usage, sentence));
    };
    let (from, to) = (text.get(..at).unwrap_or_default(), text.get(at + 2..).unwrap_or_default());
    let given = |key: &[u8]| (!key.is_empty()).then(|| decode(key, hex)).transpose();
    Ok((given(from)?, given(to)?))
}

/// Placeholder of a policy in help texts.
pub const POLICY: &str = "NAME|JSON";

/// The policy that a preset's name or JSON stands for, its parameters in range. Sizes that are not
/// given are those of native programs.
pub fn policy(text: &str) -> Result<PolicyOptions, String> {
    policy_at(text, PolicyOptions::native)
}

/// The same, with the sizes that `scale` gives a preset.
pub fn policy_at(
    text: &str,
    scale: fn(PolicyOptions) -> PolicyOptions,
) -> Result<PolicyOptions, String> {
    const EXAMPLE: &str = r#"for example: leveled, or {"policy":"leveled","size-ratio":4}; `terrane policies` lists policies and parameters"#;
    if let Some(options) = PolicyOptions::preset(text) {
        return Ok(scale(options));
    }
    if !text.trim_start().starts_with('{') {
        let names: Vec<_> = presets().iter().map(|preset| preset.name).collect();
        return Err(format!("expected {} or JSON\n{EXAMPLE}", names.join(", ")));
    }
    // Its errors say where.
    serde_json::from_str::<PolicyOptions>(text).map_err(|e| format!("{e}\n{EXAMPLE}"))?;
    let options =
        PolicyOptions::parse_scaled(text, scale).map_err(|e| format!("{e}\n{EXAMPLE}"))?;
    options.build().map_err(|e| format!("{e}\n{EXAMPLE}"))?;
    Ok(options)
}

/// The value that JSON stands for; otherwise what is wrong, with JSON that is right.
pub fn json<T: DeserializeOwned>(text: &str, example: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| format!("{e}\nfor example: {example}"))
}

/// The bytes that an argument stands for.
pub fn bytes(argument: &OsStr, hex: bool) -> Result<Vec<u8>, Failure> {
    decode(argument.as_encoded_bytes(), hex)
}

fn decode(text: &[u8], hex: bool) -> Result<Vec<u8>, Failure> {
    if !hex {
        return Ok(text.to_vec());
    }
    from_hex(text).ok_or_else(|| {
        let found = shown(text, 40);
        let sentence =
            format!("expected pairs of hexadecimal digits, found {found}; for example: 00ff2a");
        Failure::new(Exit::Usage, sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_range(from: Option<&str>, to: Option<&str>, prefix: Option<&str>) -> RangeArgs {
        let given = |bound: Option<&str>| bound.map(OsString::from);
        RangeArgs { from: given(from), to: given(to), range: None, prefix: given(prefix) }
    }

    fn in_dots(range: &str) -> Result<KeyRange, Failure> {
        RangeArgs { range: Some(range.into()), ..key_range(None, None, None) }.parse(false)
    }

    fn range(from: &str, to: &str) -> KeyRange {
        KeyRange { from: Bound::Included(from.into()), to: Bound::Excluded(to.into()) }
    }

    #[test]
    fn a_prefix_and_bounds_give_their_intersection() {
        let bounds = |from, to, prefix| key_range(from, to, prefix).parse(false).unwrap();
        assert_eq!(bounds(None, None, Some("b")), range("b", "c"));
        assert_eq!(bounds(Some("a"), Some("d"), Some("b")), range("b", "c"));
        assert_eq!(bounds(Some("b5"), Some("b7"), Some("b")), range("b5", "b7"));
        assert_eq!(bounds(Some("d"), None, Some("b")), range("d", "c"));
        assert_eq!(bounds(None, None, None), KeyRange::default());
    }

    #[test]
    fn two_dots_separate_the_bounds_of_a_range() {
        assert_eq!(in_dots("a..b").unwrap(), range("a", "b"));
        assert_eq!(in_dots("a..").unwrap(), KeyRange { to: Bound::Unbounded, ..range("a", "") });
        assert_eq!(in_dots("..b").unwrap(), KeyRange { from: Bound::Unbounded, ..range("", "b") });
        assert_eq!(in_dots("..").unwrap(), KeyRange::default());
        for malformed in ["a", "a.b", "a..b..c", "b..a"] {
            assert!(in_dots(malformed).is_err(), "{malformed}");
        }
    }

    #[test]
    fn every_malformed_policy_shows_an_example() {
        for preset in presets() {
            assert_eq!(policy(preset.name).unwrap().name(), preset.name);
        }
        let chosen = policy(r#"{"policy":"leveled","size-ratio":4}"#).unwrap();
        assert_ne!(chosen, PolicyOptions::default());
        let sizes = r#"{"policy":"leveled","target-file-bytes":4096}"#;
        assert_eq!(policy(sizes).unwrap().target_file_bytes(), 4096);
        assert_eq!(policy("leveled").unwrap(), terrane::Options::default().policy);
        assert_eq!(policy(r#"{"policy":"leveled"}"#).unwrap(), terrane::Options::default().policy);
        for (text, words) in [
            ("levelled", vec!["leveled", "tiered"]),
            (r#"{"name":"leveled"}"#, vec!["policy"]),
            (r#"{"policy":"levelled"}"#, vec!["\"levelled\"", "leveled, "]),
            (r#"{"policy":"leveled","ratio":4}"#, vec!["`ratio`", "`size-ratio`, "]),
            (r#"{"policy":"leveled","size-ratio":1}"#, vec!["size-ratio", "1", "2 to"]),
            (r#"{"policy":"leveled""#, vec!["EOF"]),
        ] {
            let error = policy(text).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            let (_, example) = error.split_once("for example: leveled, or ").expect(&error);
            let (example, _) = example.split_once(';').expect(&error);
            assert_eq!(policy(example).unwrap(), chosen);
        }
    }
}
