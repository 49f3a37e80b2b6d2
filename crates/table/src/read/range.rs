//! Key ranges.

use crate::entry::compare_keys;
use std::ops::{self, Bound, RangeBounds};

/// A range of keys, in byte order.
///
/// Wherever a range is expected, Rust's own ranges of anything that is bytes will do: `..`,
/// `"a".."b"`, `"a"..="b"`, `key..` with a `Vec<u8>`, or a pair of [`Bound`]s. A range whose start is
/// past its end is empty.
///
/// ```
/// # use terrane_table::read::KeyRange;
/// # use std::ops::Bound;
/// assert!(KeyRange::from("a".."b").contains("apple"));
/// assert!(!KeyRange::from((Bound::Excluded("a"), Bound::Unbounded)).contains("a"));
/// assert!(KeyRange::prefix("app").contains("apple"));
/// assert_eq!(KeyRange::from(..), KeyRange::default());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower bound.
    pub from: Bound<Vec<u8>>,
    /// The upper bound.
    pub to: Bound<Vec<u8>>,
}

impl Default for KeyRange {
    /// All keys.
    fn default() -> Self {
        KeyRange { from: Bound::Unbounded, to: Bound::Unbounded }
    }
}

impl KeyRange {
    /// Returns the range of all keys that start with `prefix`.
    #[must_use]
    pub fn prefix(prefix: impl AsRef<[u8]>) -> Self {
        let prefix = prefix.as_ref();
        let mut end = prefix.to_vec();
        // The least key above all with this prefix: drop trailing 0xff, then increment the last byte.
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                return KeyRange {
                    from: Bound::Included(prefix.to_vec()),
                    to: Bound::Excluded(end),
                };
            }
        }
        KeyRange { from: Bound::Included(prefix.to_vec()), to: Bound::Unbounded }
    }

    /// Returns the range with the bounds of any [`RangeBounds`].
    #[must_use]
    pub fn new<K: AsRef<[u8]>>(bounds: &impl RangeBounds<K>) -> Self {
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        KeyRange { from: owned(bounds.start_bound()), to: owned(bounds.end_bound()) }
    }

    /// Whether a key is in the range.
    #[must_use]
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        self.above_start(key) && self.below_end(key)
    }

    /// Whether the range starts at or after its end, so that it contains no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (
                Bound::Included(from) | Bound::Excluded(from),
                Bound::Included(to) | Bound::Excluded(to),
            ) => from >= to,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        }
    }

    /// Returns the range's first key, and the first key behind it, if there is one; `None` for an empty range.
    #[must_use]
    pub fn half_open(&self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        // The least key above another.
        let after = |key: &Vec<u8>| [key.as_slice(), &[0]].concat();
        let from = match &self.from {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) => key.clone(),
            Bound::Excluded(key) => after(key),
        };
        let to = match &self.to {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(after(key)),
            Bound::Excluded(key) => Some(key.clone()),
        };
        to.as_ref().is_none_or(|to| from < *to).then_some((from, to))
    }

    /// Whether a key is within the upper bound.
    // A call would make each step of a scan spill its registers.
    #[cfg_attr(target_arch = "wasm32", inline)]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[must_use]
    pub fn below_end(&self, key: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) => compare_keys(key, to).is_le(),
            Bound::Excluded(to) => compare_keys(key, to).is_lt(),
            Bound::Unbounded => true,
        }
    }

    /// Whether a key is within the lower bound.
    #[must_use]
    pub fn above_start(&self, key: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) => key >= from.as_slice(),
            Bound::Excluded(from) => key > from.as_slice(),
            Bound::Unbounded => true,
        }
    }
}

impl RangeBounds<[u8]> for KeyRange {
    fn start_bound(&self) -> Bound<&[u8]> {
        self.from.as_ref().map(Vec::as_slice)
    }

    fn end_bound(&self) -> Bound<&[u8]> {
        self.to.as_ref().map(Vec::as_slice)
    }
}

impl From<&KeyRange> for KeyRange {
    fn from(range: &KeyRange) -> Self {
        range.clone()
    }
}

impl From<ops::RangeFull> for KeyRange {
    fn from(_: ops::RangeFull) -> Self {
        KeyRange::default()
    }
}

/// One conversion for each of Rust's ranges. A single one, from whatever implements `RangeBounds<K>`,
/// would leave `K` open for `..`.
macro_rules! from_std {
    ($($range:ty),*) => {
        $(impl<K: AsRef<[u8]>> From<$range> for KeyRange {
            fn from(range: $range) -> Self {
                KeyRange::new::<K>(&range)
            }
        })*
    };
}

from_std!(
    ops::Range<K>,
    ops::RangeFrom<K>,
    ops::RangeInclusive<K>,
    ops::RangeTo<K>,
    ops::RangeToInclusive<K>,
    (Bound<K>, Bound<K>)
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        (few_bytes(), 0..3).prop_map(|(key, kind)| match kind {
            0 => Bound::Included(key),
            1 => Bound::Excluded(key),
            _ => Bound::Unbounded,
        })
    }

    fn few_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff)], 0..4)
    }

    proptest! {
        #[test]
        fn a_prefix_covers_the_keys_that_begin_with_it(prefix in few_bytes(), key in few_bytes()) {
            prop_assert_eq!(KeyRange::prefix(&prefix).contains(&key), key.starts_with(&prefix));
        }

        #[test]
        fn a_range_holds_what_its_bounds_hold(from in bound(), to in bound(), key in few_bytes()) {
            let range = KeyRange::from((from.clone(), to.clone()));
            prop_assert_eq!(range.contains(&key), (from, to).contains(&key));
            prop_assert_eq!(range.contains(&key), RangeBounds::contains(&range, key.as_slice()));
            let half_open = range.half_open();
            let within = half_open.is_some_and(|(from, to)| from <= key && to.is_none_or(|to| key < to));
            prop_assert_eq!(range.contains(&key), within);
        }
    }

    #[test]
    fn every_range_of_rust_keeps_its_bounds() {
        let [a, b] = [b"a".to_vec(), b"b".to_vec()];
        let made = |from, to| KeyRange { from, to };
        let from = || Bound::Included(a.clone());
        assert_eq!(KeyRange::from(..), made(Bound::Unbounded, Bound::Unbounded));
        assert_eq!(KeyRange::from("a".."b"), made(from(), Bound::Excluded(b.clone())));
        assert_eq!(KeyRange::from(b"a"..=b"b"), made(from(), Bound::Included(b.clone())));
        assert_eq!(KeyRange::from(a.clone()..), made(from(), Bound::Unbounded));
        assert_eq!(
            KeyRange::from(..b.as_slice()),
            made(Bound::Unbounded, Bound::Excluded(b.clone()))
        );
        assert_eq!(KeyRange::from(..=&b), made(Bound::Unbounded, Bound::Included(b.clone())));
        let range = KeyRange::from("a".."b");
        assert_eq!(KeyRange::from(&range), range);
        let after = (Bound::Excluded("a".to_owned()), Bound::Unbounded);
        assert_eq!(KeyRange::from(after), made(Bound::Excluded(a.clone()), Bound::Unbounded));
    }

    #[test]
    fn a_prefix_ends_at_the_least_key_above_it() {
        let end = |prefix: &[u8]| KeyRange::prefix(prefix).to;
        assert_eq!(end(b"ab"), Bound::Excluded(b"ac".to_vec()));
        assert_eq!(end(&[1, 0xfe]), Bound::Excluded(vec![1, 0xff]));
        assert_eq!(end(&[1, 0xff, 0xff]), Bound::Excluded(vec![2]));
        assert_eq!(end(&[0xff, 0xff]), Bound::Unbounded);
        assert_eq!(end(&[]), Bound::Unbounded);
    }

    #[test]
    fn a_range_that_starts_at_or_behind_its_end_is_empty() {
        let [a, b] = [b"a", b"b"].map(|key| key.to_vec());
        let is_empty = |from, to| KeyRange { from, to }.is_empty();
        assert!(is_empty(Bound::Included(b.clone()), Bound::Included(a.clone())));
        assert!(is_empty(Bound::Included(a.clone()), Bound::Excluded(a.clone())));
        assert!(is_empty(Bound::Excluded(a.clone()), Bound::Included(a.clone())));
        assert!(!is_empty(Bound::Included(a.clone()), Bound::Included(a.clone())));
        assert!(!is_empty(Bound::Included(a.clone()), Bound::Excluded(b.clone())));
        assert!(!is_empty(Bound::Unbounded, Bound::Excluded(a)));
        assert!(!is_empty(Bound::Included(b), Bound::Unbounded));
    }

    #[test]
    fn a_bound_covers_its_own_key_where_it_says_so() {
        let at = |bound: fn(Vec<u8>) -> Bound<Vec<u8>>| KeyRange {
            from: bound(b"k".to_vec()),
            to: bound(b"k".to_vec()),
        };
        let (with, without) = (at(Bound::Included), at(Bound::Excluded));
        assert!(with.above_start(b"k") && with.below_end(b"k"));
        assert!(!without.above_start(b"k") && !without.below_end(b"k"));
        for range in [with, without] {
            assert!(range.above_start(b"k\0") && !range.below_end(b"k\0"));
            assert!(!range.above_start(b"j") && range.below_end(b"j"));
        }
    }
}
