//! Ranges of keys.

use std::ops::Bound;

/// Which keys a scan covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it starts.
    pub from: Bound<Vec<u8>>,
    /// Where it ends.
    pub to: Bound<Vec<u8>>,
}

impl Default for Range {
    fn default() -> Self {
        Range { from: Bound::Unbounded, to: Bound::Unbounded }
    }
}

impl Range {
    /// Every key that begins with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let mut end = prefix.to_vec();
        // The least key above the whole prefix: drop trailing 0xff, then count the last byte up.
        while let Some(last) = end.pop() {
            if last < 0xff {
                end.push(last + 1);
                return Range { from: Bound::Included(prefix.to_vec()), to: Bound::Excluded(end) };
            }
        }
        Range { from: Bound::Included(prefix.to_vec()), to: Bound::Unbounded }
    }

    /// Whether a key lies before the range's end.
    pub fn below_end(&self, key: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) => key <= to.as_slice(),
            Bound::Excluded(to) => key < to.as_slice(),
            Bound::Unbounded => true,
        }
    }

    /// Whether a key lies behind the range's start.
    pub fn above_start(&self, key: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) => key >= from.as_slice(),
            Bound::Excluded(from) => key > from.as_slice(),
            Bound::Unbounded => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn few_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff)], 0..4)
    }

    proptest! {
        #[test]
        fn a_prefix_covers_the_keys_that_begin_with_it(prefix in few_bytes(), key in few_bytes()) {
            let range = Range::prefix(&prefix);
            let covered = range.above_start(&key) && range.below_end(&key);
            prop_assert_eq!(covered, key.starts_with(&prefix));
        }
    }

    #[test]
    fn a_prefix_ends_at_the_least_key_above_it() {
        let end = |prefix: &[u8]| Range::prefix(prefix).to;
        assert_eq!(end(b"ab"), Bound::Excluded(b"ac".to_vec()));
        assert_eq!(end(&[1, 0xfe]), Bound::Excluded(vec![1, 0xff]));
        assert_eq!(end(&[1, 0xff, 0xff]), Bound::Excluded(vec![2]));
        assert_eq!(end(&[0xff, 0xff]), Bound::Unbounded);
        assert_eq!(end(&[]), Bound::Unbounded);
    }

    #[test]
    fn a_bound_covers_its_own_key_where_it_says_so() {
        let at = |bound: fn(Vec<u8>) -> Bound<Vec<u8>>| Range {
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
