//! The content of a store, as rules: lines of `keyspace first end step version`. Each sets the keys
//! `first`, `first + step` and so on below `end` to the value of that version, or deletes them if it is
//! 0. Later lines overwrite earlier ones. Values of the keyspace `counters` are the version in decimal.

use std::collections::BTreeMap;
use std::fmt;
use terrane_workload::Random;

/// Keys and values.
pub type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// One line.
#[derive(Clone, Copy)]
pub struct Rule {
    pub keyspace: &'static str,
    pub first: u64,
    pub end: u64,
    pub step: usize,
    pub version: u64,
}

impl Rule {
    /// The keys it covers, each with its value.
    pub fn entries(self) -> impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)> {
        let value = move |n| (self.version > 0).then(|| value(n, self.version));
        (self.first..self.end).step_by(self.step).map(move |n| (key(n), value(n)))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { keyspace, first, end, step, version } = self;
        writeln!(f, "{keyspace} {first} {end} {step} {version}")
    }
}

/// Content of a store.
#[derive(Clone)]
pub struct Content {
    /// By the keyspace's name.
    pub keyspaces: BTreeMap<String, Entries>,
}

impl Content {
    /// The content that the lines of `rules` describe.
    pub fn of(rules: &str) -> Content {
        let mut keyspaces = BTreeMap::<String, Entries>::new();
        for line in rules.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [keyspace, first, end, step, version] = words[..] else { panic!("{line}") };
            let rule = Rule {
                keyspace: "",
                first: first.parse().unwrap(),
                end: end.parse().unwrap(),
                step: step.parse().unwrap(),
                version: version.parse().unwrap(),
            };
            let entries = keyspaces.entry(keyspace.to_owned()).or_default();
            for (key, value) in rule.entries() {
                let counter = || rule.version.to_string().into_bytes();
                match if keyspace == "counters" { Some(counter()) } else { value } {
                    Some(value) => entries.insert(key, value),
                    None => entries.remove(&key),
                };
            }
        }
        Content { keyspaces }
    }
}

pub fn key(n: u64) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

/// Alternates between 64 keys with text, which LZ4 compresses, and 64 with noise, which it does not.
pub fn value(n: u64, version: u64) -> Vec<u8> {
    if (n / 64).is_multiple_of(2) {
        return format!("version {version} of {n}; ").repeat(1 + n as usize % 4).into_bytes();
    }
    let mut random = Random(n << 8 | version);
    (0..n % 60).map(|_| random.word() as u8).collect()
}
