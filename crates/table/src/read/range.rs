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
