//! Prefixes of keys: what they are, which ones a table holds, and where a merge splits its outputs at them.
//!
//! A rule says how much of a key is its prefix. Keys with the same prefix are neighbours in key order. A
//! table's properties store the set of its prefixes, if it is small and if the table was written for a
//! rule; it is loaded only for planners that need it, just before such a planner is called.

#[cfg(feature = "all")]
mod rule;
#[cfg(not(feature = "all"))]
#[path = "prefix/no_rule.rs"]
mod rule;

pub use rule::PrefixRule;

use std::sync::{Arc, OnceLock};

/// Rule by which a merge ends a table before its size is reached: between two prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixSplit {
    /// Rule of prefixes.
    pub rule: PrefixRule,
    /// `T_s`: the least bytes of a table that is ended so, and of what is left of the merge then.
    pub least_bytes: u64,
}

impl PrefixSplit {
    /// Returns whether a table of `bytes`, whose last key is `last`, ends before `key`, if `left` bytes of
    /// the merge's inputs remain from `key` on.
    #[must_use]
    pub fn is_between(&self, last: &[u8], key: &[u8], bytes: u64, left: u64) -> bool {
        let room = bytes >= self.least_bytes && left >= self.least_bytes;
        room && self.rule.of(last) != self.rule.of(key)
    }
}

/// The most prefixes that a table's set has.
pub const MAX_PREFIXES: usize = 64;

/// The most bytes that the prefixes of a table's set have together.
pub const MAX_PREFIX_BYTES: usize = 4096;

/// All prefixes of a table by one rule, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixSet {
    rule: PrefixRule,
    prefixes: Arc<Vec<Vec<u8>>>,
}

impl PrefixSet {
    /// A set of ascending prefixes; `None` if they do not ascend, or are too many or too long.
    #[must_use]
    pub fn new(rule: PrefixRule, prefixes: Vec<Vec<u8>>) -> Option<Self> {
        let bytes: usize = prefixes.iter().map(Vec::len).sum();
        let fits = prefixes.len() <= MAX_PREFIXES && bytes <= MAX_PREFIX_BYTES;
        let ascends = prefixes.is_sorted_by(|a, b| a < b);
        (fits && ascends).then(|| PrefixSet { rule, prefixes: Arc::new(prefixes) })
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> PrefixRule {
        self.rule
    }

    /// The prefixes, ascending.
    #[must_use]
    pub fn prefixes(&self) -> &[Vec<u8>] {
        &self.prefixes
    }
}

/// Knowledge of a table's prefixes: nothing at first, then a set, or that it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes(OnceLock<Option<PrefixSet>>);

impl Prefixes {
    /// Whether it is known if there is a set.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }

    /// Takes what `other` knows, unless something is known.
    pub fn learn(&self, other: Prefixes) {
        let _ = self.0.set(other.0.into_inner().flatten());
    }

    /// The set, if there is one.
    #[must_use]
    pub fn set(&self) -> Option<&PrefixSet> {
        self.0.get()?.as_ref()
    }

    /// All prefixes by this rule, if they are known.
    #[must_use]
    pub fn by(&self, rule: PrefixRule) -> Option<&[Vec<u8>]> {
        self.set().filter(|set| set.rule == rule).map(PrefixSet::prefixes)
    }
}

impl From<Option<PrefixSet>> for Prefixes {
    fn from(set: Option<PrefixSet>) -> Self {
        Prefixes(OnceLock::from(set))
    }
}

/// Collects the prefixes of ascending keys, until there are too many.
#[derive(Clone, Debug)]
pub struct PrefixBuilder {
    rule: PrefixRule,
    /// `None` once there are too many.
    prefixes: Option<Vec<Vec<u8>>>,
    bytes: usize,
}

impl PrefixBuilder {
    /// No prefixes so far.
    #[must_use]
    pub fn new(rule: PrefixRule) -> Self {
        PrefixBuilder { rule, prefixes: Some(Vec::new()), bytes: 0 }
    }

    /// Adds the prefix of a key, which is at or above the one before.
    pub fn add(&mut self, key: &[u8]) {
        let Some(prefixes) = &mut self.prefixes else { return };
        let prefix = self.rule.of(key);
        if prefixes.last().is_some_and(|last| last == prefix) {
            return;
        }
        self.bytes += prefix.len();
        if prefixes.len() == MAX_PREFIXES || self.bytes > MAX_PREFIX_BYTES {
            self.prefixes = None;
        } else {
            prefixes.push(prefix.to_vec());
        }
    }

    /// The set, unless there are too many.
    #[must_use]
    pub fn finish(self) -> Prefixes {
        let rule = self.rule;
        self.prefixes.map(|all| PrefixSet { rule, prefixes: Arc::new(all) }).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: [PrefixRule; 3] =
        [PrefixRule::Length(2), PrefixRule::Delimiter(b'/'), PrefixRule::Delimiter(0)];

    #[test]
    fn a_prefix_is_a_number_of_bytes_or_ends_with_a_delimiter() {
        let [length, delimiter, _] = RULES;
        let cases: [(&[u8], &[u8], &[u8]); 5] = [
            (b"", b"", b""),
            (b"a", b"a", b"a"),
            (b"ab/c", b"ab", b"ab/"),
            (b"/abc", b"/a", b"/"),
            (b"abc", b"ab", b"abc"),
        ];
        for (key, first, through) in cases {
            assert_eq!((length.of(key), delimiter.of(key)), (first, through));
        }
    }

    #[test]
    fn a_table_ends_between_prefixes_if_it_and_the_rest_are_large() {
        let split = PrefixSplit { rule: PrefixRule::Length(1), least_bytes: 10 };
        assert!(split.is_between(b"a9", b"b0", 10, 10));
        for (key, bytes, left) in [(b"a99", 10, 10), (b"b00", 9, 10), (b"b00", 10, 9)] {
            assert!(!split.is_between(b"a9", key, bytes, left));
        }
    }

    #[test]
    fn a_set_is_given_up_when_there_are_too_many_prefixes_or_bytes() {
        let found = |keys: &mut dyn Iterator<Item = Vec<u8>>, rule| {
            let mut builder = PrefixBuilder::new(rule);
            keys.for_each(|key| builder.add(&key));
            builder.finish().by(rule).map(<[_]>::len)
        };
        let one = PrefixRule::Length(1);
        assert_eq!(found(&mut (0..64).map(|byte| vec![byte, 7]), one), Some(64));
        assert_eq!(found(&mut (0..65).map(|byte| vec![byte, 7]), one), None);
        let long = PrefixRule::Length(2048);
        let key = |byte| vec![byte; 2048];
        assert_eq!(found(&mut (0..2).map(key), long), Some(2));
        assert_eq!(found(&mut (0..3).map(key), long), None);
    }

    #[test]
    fn what_is_known_of_prefixes_is_by_their_rule_and_stays() {
        let set = PrefixSet::new(RULES[0], vec![b"aa".to_vec()]);
        let prefixes = Prefixes::default();
        assert!(!prefixes.is_known());
        prefixes.learn(set.clone().into());
        prefixes.learn(None.into());
        assert_eq!(prefixes.set(), set.as_ref());
        assert_eq!(prefixes.by(RULES[0]).map(<[_]>::len), Some(1));
        assert_eq!(prefixes.by(RULES[1]), None);
        let none = Prefixes::default();
        none.learn(Prefixes::default());
        assert!(none.is_known() && none.set().is_none());
        let descending = vec![b"b".to_vec(), b"a".to_vec()];
        assert_eq!(PrefixSet::new(RULES[0], descending), None);
        assert_eq!(PrefixSet::new(RULES[0], vec![Vec::new(); 1]).map(|s| s.rule()), Some(RULES[0]));
        let many = |n: u8| (0..n).map(|byte| vec![byte]).collect();
        assert!(PrefixSet::new(RULES[0], many(64)).is_some());
        assert_eq!(PrefixSet::new(RULES[0], many(65)), None);
        assert_eq!(PrefixSet::new(RULES[0], vec![vec![1; 4097]]), None);
    }

    #[test]
    fn a_rule_is_read_as_it_is_stored_and_no_other_bytes_are_one() {
        for rule in RULES.into_iter().chain([PrefixRule::Length(u32::MAX)]) {
            let (kind, value) = rule.to_stored();
            assert_eq!(PrefixRule::from_stored(kind, value.into()), Some(rule));
        }
        for (kind, value) in [(2, 0), (0, 1 << 32), (1, 256)] {
            assert_eq!(PrefixRule::from_stored(kind, value), None);
        }
    }

    proptest! {
        #[test]
        fn keys_with_the_same_prefix_are_neighbours(
            keys in prop::collection::btree_set(
                prop::collection::vec(prop::sample::select(b"\0a./0~".to_vec()), 0..5), 0..60),
            rule in prop::sample::select(RULES.to_vec()),
        ) {
            let mut builder = PrefixBuilder::new(rule);
            let mut all = std::collections::BTreeSet::new();
            for key in &keys {
                builder.add(key);
                all.insert(rule.of(key).to_vec());
            }
            // Each is added once, and they ascend.
            let found = builder.finish();
            prop_assert_eq!(found.by(rule).unwrap(), all.into_iter().collect::<Vec<_>>());
        }
    }
}
