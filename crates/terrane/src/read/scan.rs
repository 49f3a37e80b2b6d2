//! Scans: the live keys of a range, in either direction.

use super::Walk;
use crate::error::Result;
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
    pub(crate) fn below_end(&self, key: &[u8]) -> bool {
        match &self.to {
            Bound::Included(to) => key <= to.as_slice(),
            Bound::Excluded(to) => key < to.as_slice(),
            Bound::Unbounded => true,
        }
    }

    /// Whether a key lies behind the range's start.
    pub(crate) fn above_start(&self, key: &[u8]) -> bool {
        match &self.from {
            Bound::Included(from) => key >= from.as_slice(),
            Bound::Excluded(from) => key > from.as_slice(),
            Bound::Unbounded => true,
        }
    }
}

/// A walk over the live keys of a range, as they were when it began.
///
/// A scan pins what it reads: drop it when done. What it cost is in the store's figures then.
pub struct Scan {
    walk: Walk,
}

impl Scan {
    pub(crate) fn new(walk: Walk) -> Self {
        Scan { walk }
    }

    /// Goes to a key, which need not be there: [`Scan::next`] shows the first pair at or above it
    /// then, [`Scan::prev`] the last at or below it, both in the range. A scan that was at its end
    /// goes on.
    pub fn seek(&mut self, key: &[u8]) {
        self.walk.seek(key);
    }

    /// The next pair in key order; `None` at the end, and from then on. The first call starts at
    /// the range's beginning.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is over then.
    #[allow(clippy::should_implement_trait)] // lends from itself, which Iterator cannot
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.walk.next()
    }

    /// The pair before in key order; the first call starts at the range's end.
    ///
    /// # Errors
    /// Damage or a failing medium; the scan is over then.
    #[inline]
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.walk.prev()
    }
}
